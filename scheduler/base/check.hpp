#pragma once
// CHECK states a condition that is false only if this program has a bug. It stays on in release
// builds: a scheduler that continues with a broken invariant does more harm than a scheduler that
// restarts from its journal. Data from outside never reaches a CHECK; it is refused with an Error
// (result.hpp).

#include <source_location>
#include <string_view>

namespace gpuctl {

[[noreturn]] void check_failed(std::string_view expression, std::string_view explanation,
                               std::source_location where);

}  // namespace gpuctl

#define GPUCTL_CHECK(condition, explanation)                                                  \
    do {                                                                                      \
        if (!(condition)) [[unlikely]] {                                                      \
            ::gpuctl::check_failed(#condition, explanation, std::source_location::current()); \
        }                                                                                     \
    } while (false)
