#pragma once
// A copy of an engine for experiments. No effect is carried out, and every requested write succeeds
// at once.
//
// Lifecycle: made from exported state (Engine::export_state), used by one owner, destroyed. It has
// no clock and is deterministic.

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/whatif/evicted.hpp"

namespace gpuctl::whatif {

class Trial {
public:
    // Makes a copy that leads and is synced, whatever the state of the original. Errors:
    // JournalDamaged.
    static Result<Trial> of(std::string_view exported, Instant now);

    void happen(Event event);
    // Submits the job, and the pods that its controller would create.
    void submit(const JobRecord& job, const std::string& label_prefix);
    // Plans until nothing more can start now.
    void settle();
    // Advances the clock of the copy; what is due by then happens with the next event.
    void advance(Instant now) { now_ = now; }
    [[nodiscard]] Instant now() const { return now_; }
    // Returns the uids of the pods that got a node since the last call.
    [[nodiscard]] std::vector<std::string> take_bound() { return std::exchange(bound_, {}); }
    // The next wake-up of the engine after now; never: there is none.
    [[nodiscard]] Instant next_wake();

    [[nodiscard]] const ClusterState& state() const { return engine_.state(); }
    [[nodiscard]] const std::vector<EvictedPod>& evicted() const { return evicted_; }
    [[nodiscard]] std::string exported() const { return engine_.export_state(); }

private:
    Trial(Engine engine, Instant now) : engine_(std::move(engine)), now_(now) {}
    void answer_all();

    Engine engine_;
    Instant now_;
    std::uint64_t sequence_ = 0;
    EffectList effects_;
    std::vector<Event> answers_;
    std::vector<EvictedPod> evicted_;
    std::vector<std::string> bound_;
    std::set<Instant> wakes_;
};

}  // namespace gpuctl::whatif
