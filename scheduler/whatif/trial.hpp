#pragma once
// A copy of an engine in which anything may be tried: nothing leaves it, and every write it asks
// for succeeds at once.
//
// Lifecycle: made of exported state (Engine::export_state), used by one owner, thrown away. Knows
// no clock; deterministic.

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/whatif/stopped.hpp"

namespace gpuctl::whatif {

class Trial {
public:
    // Leads and is in step with the cluster, whatever the original did. Errors: JournalDamaged.
    static Result<Trial> of(std::string_view exported, Instant now);

    void happen(Event event);
    // The job and the pods its controller would make of it.
    void submit(const JobRecord& job, const std::string& label_prefix);
    // Plans until nothing more can start now.
    void settle();
    // Its clock goes on; what is due by then happens with the next event.
    void advance(Instant now) { now_ = now; }
    [[nodiscard]] Instant now() const { return now_; }
    // By uid, those that got a node since this was asked last.
    [[nodiscard]] std::vector<std::string> take_bound() { return std::exchange(bound_, {}); }
    // When the engine next wants to be woken, after now; never: it does not.
    [[nodiscard]] Instant next_wake();

    [[nodiscard]] const ClusterState& state() const { return engine_.state(); }
    [[nodiscard]] const std::vector<StoppedPod>& stopped() const { return stopped_; }
    [[nodiscard]] std::string exported() const { return engine_.export_state(); }

private:
    Trial(Engine engine, Instant now) : engine_(std::move(engine)), now_(now) {}
    void answer_all();

    Engine engine_;
    Instant now_;
    std::uint64_t sequence_ = 0;
    EffectList effects_;
    std::vector<Event> answers_;
    std::vector<StoppedPod> stopped_;
    std::vector<std::string> bound_;
    std::set<Instant> wakes_;
};

}  // namespace gpuctl::whatif
