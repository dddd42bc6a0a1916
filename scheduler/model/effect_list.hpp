#pragma once
// The effects of one or more steps, in execution order. clear() keeps the entries and the memory of
// their texts, so that adding a bind in a steady state allocates nothing.

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "scheduler/model/effect.hpp"

namespace gpuctl {

class EffectList {
public:
    // Returns an entry that may hold an earlier effect of this kind: assign every member.
    template <typename Kind>
    Kind& reuse() {
        if (size_ == slots_.size()) slots_.emplace_back(std::in_place_type<Kind>);
        Effect& slot = slots_[size_++];
        if (auto* same = std::get_if<Kind>(&slot)) return *same;
        return slot.template emplace<Kind>();
    }
    void add(Effect effect);
    void clear() { size_ = 0; }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] const Effect* begin() const { return slots_.data(); }
    [[nodiscard]] const Effect* end() const { return slots_.data() + size_; }
    const Effect& operator[](std::size_t at) const { return slots_[at]; }

private:
    std::vector<Effect> slots_;
    std::size_t size_ = 0;
};

}  // namespace gpuctl
