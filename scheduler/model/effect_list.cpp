#include "scheduler/model/effect_list.hpp"

namespace gpuctl {

// Not in the header: moving and destroying any of the effects is much code, and every file of the
// core includes the header.
void EffectList::add(Effect effect) {
    if (size_ == slots_.size()) {
        slots_.push_back(std::move(effect));
    } else {
        slots_[size_] = std::move(effect);
    }
    ++size_;
}

}  // namespace gpuctl
