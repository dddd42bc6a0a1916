#pragma once
// A hash over the inputs and effects of a run that depends on decisions only: kinds by their number
// in the variant, times, ids, names of pods, nodes and jobs, sizes. Texts (`why`, `message`,
// `note`, sentences), figures, and names or layouts of types are left out. Two builds of the engine
// with equal decisions have equal hashes, even if their code and texts differ.
//
// A ReportPending counts if the reason of its job differs from the reason reported before: how
// often a wait is reported also depends on its text.

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::sim {

class DecisionHistory {
public:
    void add(const Input& input, std::span<const Effect> effects);
    [[nodiscard]] std::uint64_t hash() const { return hash_; }

private:
    void add(std::int64_t number);
    void add(std::string_view text);
    void add(const ObjectKey& key);
    void add_event(const Event& event);
    void add_effect(const Effect& effect);

    std::uint64_t hash_ = 0;
    std::map<ObjectKey, Reason> reported_;
};

}  // namespace gpuctl::sim
