#pragma once
// An engine that is restored from an image of another engine and gets the same inputs from then on.
// Everything that an engine keeps outside its image (indexes, counters, timers) must follow from
// the image, or a restarted engine would decide differently from an engine that kept running (I12).

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
    // How its effects of `input` differ from `effects`, the effects of the other engine; empty:
    // they are equal.
    std::string step_and_compare(const Input& input, const std::vector<Effect>& effects);
    [[nodiscard]] bool equals(const Engine& engine) const;

private:
    std::optional<Engine> engine_;
};

}  // namespace gpuctl::sim
