#pragma once
// An engine read from an image of another, that gets the same inputs from then on. What an engine
// keeps beside its image (indexes, counters, ends of pauses) has to follow from the image, or one
// that was restarted decides otherwise than one that went on (I12).

#include <optional>
#include <string>
#include <vector>

#include "scheduler/engine/engine.hpp"

namespace gpuctl::sim {

class Twin {
public:
    [[nodiscard]] bool exists() const { return engine_.has_value(); }
    // False: it cannot be read.
    bool take(const Engine& engine);
    // What it did otherwise than the other, which made `effects` of `input`; empty: nothing.
    std::string follow(const Input& input, const std::vector<Effect>& effects);
    [[nodiscard]] bool is_like(const Engine& engine) const;

private:
    std::optional<Engine> engine_;
};

}  // namespace gpuctl::sim
