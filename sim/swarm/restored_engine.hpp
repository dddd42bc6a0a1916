#pragma once
// An engine restored from an image of another one, which gets the same inputs from then on. All
// that an engine keeps outside its image (indexes, counters, timers) must follow from the image, or
// a restarted engine would decide differently from one that kept running (I12).

#include <optional>
#include <string>
#include <vector>

#include "scheduler/engine/engine.hpp"

namespace gpuctl::sim {

class RestoredEngine {
public:
    [[nodiscard]] bool exists() const { return engine_.has_value(); }
    // False: the image cannot be read.
    bool restore(const Engine& engine);
    // How its effects of `input` differ from `effects`, those of the other engine; empty: equal.
    std::string step_and_compare(const Input& input, const std::vector<Effect>& effects);
    [[nodiscard]] bool equals(const Engine& engine) const;

private:
    std::optional<Engine> engine_;
};

}  // namespace gpuctl::sim
