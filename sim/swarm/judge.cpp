#include "sim/swarm/judge.hpp"

#include "scheduler/engine/verify_listing.hpp"

namespace gpuctl::sim {
namespace {

// A life is over at its first violations; more of them say nothing new.
constexpr std::size_t kViolationsMax = 10;

// A fixed point is looked at whole after one Plan in so many, besides the ends of all moments.
constexpr std::uint64_t kPlansPerLook = 8;

// What readers are shown is compared with the rows after one step in so many, besides: it costs as
// much as half of all other checks, and what is wrong in it stays wrong.
constexpr std::uint64_t kStepsPerListing = 8;

}  // namespace

void Judge::fail(std::string id, std::string what) {
    if (violations_.empty()) first_step_ = sequence_;
    if (violations_.size() < kViolationsMax)
        violations_.push_back({std::move(id), std::move(what)});
}

void Judge::observe(const Engine& engine, const Input& input, const std::vector<Effect>& effects) {
    const ClusterState& after = engine.state();
    sequence_ = static_cast<std::uint64_t>(input.sequence);
    ++probes.steps;
    for (const Violation& wrong : verify(after)) fail(wrong.id, wrong.what);
    if (sequence_ % kStepsPerListing == 0) check_listing(engine);
    close_workload(input.event);
    forget_progress(input.event);
    note_workloads(input.event);
    note_moves(input);
    books_.take(input, after);
    check_finished(input.event, effects, after);
    forget_withdrawn(after);
    note_given_up(after);
    note_demand(after);
    if (std::holds_alternative<Plan>(input.event)) note_short_gangs(after);
    if (const auto* outcome = std::get_if<BindOutcome>(&input.event)) check_backoff(*outcome);
    if (const auto* pod = std::get_if<PodObserved>(&input.event)) {
        const auto refused = refusals_.find(pod->pod.uid);
        if (refused != refusals_.end()) refused->second.has_changed = true;
    }
    std::vector<Turn> turns;
    std::vector<Evictions> evictions;
    told_to_go_.clear();
    settled_.clear();
    for (const Effect& effect : effects) {
        if (const auto* bind = std::get_if<BindPod>(&effect)) {
            check_bind(*bind, after, turns);
        } else if (const auto* deletion = std::get_if<DeletePod>(&effect)) {
            check_delete(*deletion);
        } else if (const auto* eviction = std::get_if<EvictPod>(&effect)) {
            check_may_write(eviction->id, eviction->epoch,
                            "eviction of " + to_string(eviction->pod.key));
            note_eviction(*eviction, after, evictions);
            told_to_go_.insert(eviction->pod.uid);
        } else if (const auto* creation = std::get_if<CreateWorkload>(&effect)) {
            check_workload(creation->job->spec.key, creation->id, creation->epoch);
        } else if (const auto* removal = std::get_if<DeleteWorkload>(&effect)) {
            check_workload(removal->key, removal->id, removal->epoch);
        } else if (const auto* resize = std::get_if<ResizeWorkload>(&effect)) {
            check_resize(*resize, after);
        } else if (const auto* report = std::get_if<ReportStarted>(&effect)) {
            check_started(*report);
        } else if (const auto* wake = std::get_if<WakeAt>(&effect)) {
            if (wake->at < input.now) fail("I14", "a wake-up is asked for in the past");
        }
    }
    check_rollbacks();
    check_gangs(turns);
    if (!turns.empty()) check_order(turns, after);
    check_growth(turns, after);
    books_.read_claims(after, false);
    check_drained_gangs(after);
    if (!evictions.empty()) check_evictions(evictions, after);
    if (!std::holds_alternative<Plan>(input.event)) return;
    if (++probes.plans % kPlansPerLook == 0) look_around(engine);
}

// I25
void Judge::check_listing(const Engine& engine) {
    for (std::string& wrong : verify_listing(engine.listing(), sequence_)) {
        fail("I25", std::move(wrong));
    }
}

void Judge::look_around(const Engine& engine) {
    const ClusterState& state = engine.state();
    check_listing(engine);
    if (!state.leading() || !state.synced() || engine.wants_plan()) return;
    check_under_way(state);
    check_reservations(state);
    check_refusals(state);
    check_promises(state);
    check_limits_kept(state);
    check_queues(state);
    look_at_demand(state);
    look_at_claims(state);
    look_at_progress(state);
    look_at_sizes(state);
    look_at_windows(state);
    look_at_stranded(state);
    look_at_wait_targets(state);
    look_at_the_late(state);
    look_at_budgets(state);
    leaving_.clear();
    Readiness ready;
    for (const auto& [key, id] : state.jobs_by_key()) {
        state.read_readiness(id, ready);
        if (!ready.waits) continue;
        if (ready.hold == Reason::none && !ready.pods.empty()) try_waiting(state, id, ready);
        for (const Explanation& told : explain(state, id, ready)) {
            recount(state, key, ready, told);
        }
    }
}

}  // namespace gpuctl::sim
