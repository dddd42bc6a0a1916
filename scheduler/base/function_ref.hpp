#pragma once
// A reference to a callable, for parameters: no allocation, no template in the callee. The callable
// must outlive the call.

#include <memory>
#include <type_traits>
#include <utility>

namespace gpuctl {

template <typename Signature>
class FunctionRef;

template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
public:
    template <typename Callable>
        requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
                 std::is_invocable_v<Callable&, Arguments...>)
    // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
    FunctionRef(Callable&& callable)
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
          call_([](void* object, Arguments... arguments) -> Result {
              auto& called = *static_cast<std::remove_reference_t<Callable>*>(object);
              if constexpr (std::is_void_v<Result>) {
                  called(std::forward<Arguments>(arguments)...);
              } else {
                  return called(std::forward<Arguments>(arguments)...);
              }
          }) {}

    Result operator()(Arguments... arguments) const {
        return call_(object_, std::forward<Arguments>(arguments)...);
    }

private:
    void* object_;
    Result (*call_)(void*, Arguments...);
};

}  // namespace gpuctl
