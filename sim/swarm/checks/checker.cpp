#include "sim/swarm/checks/checker.hpp"

#include <algorithm>

#include "scheduler/engine/verify_listing.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::sim {
namespace {

// The first violations end a run; more violations give no more information.
constexpr std::size_t kViolationsMax = 10;

// Fixed points are checked after every action, and after one Plan in this many.
constexpr std::uint64_t kPlansPerLook = 8;

// The listing is compared with the rows after one step in this many: it costs half as much as all
// other checks, and a wrong listing stays wrong.
constexpr std::uint64_t kStepsPerListing = 8;

}  // namespace

Wish wish_of(const ClusterState& state, const Readiness& ready) {
    Wish wish{state.pod(ready.pods.front()).facts, ready.ranks_at_once(), {}};
    wish.ask.add(amounts_of(wish.like.request), wish.ranks);
    return wish;
}

bool can_start(const ReferenceModel& reference, const Wish& wish) {
    return reference.limit_crossed(wish.like, wish.ask).empty() &&
           reference.fitting_in_models(wish.like, wish.ranks) >= wish.ranks;
}

void Checker::fail(std::string id, std::string what) {
    if (violations_.empty()) first_step_ = sequence_;
    if (violations_.size() < kViolationsMax)
        violations_.push_back({std::move(id), std::move(what)});
}

void Checker::record_change(const JobSpec& spec, bool is_again) {
    const ObjectKey& job = spec.key;
    known_jobs_[job].ranks = std::max(spec.replicas_max, 1);
    if (is_again) known_jobs_[job].phase = WorkloadPhase::active;
}

void Checker::observe(const Engine& engine, const Input& input,
                      const std::vector<Effect>& effects) {
    const ClusterState& after = engine.state();
    sequence_ = static_cast<std::uint64_t>(input.sequence);
    ++probes.steps;
    for (const Violation& wrong : verify(after)) fail(wrong.id, wrong.what);
    if (sequence_ % kStepsPerListing == 0) check_listing(engine);
    close_workload(input.event);
    forget_progress(input.event);
    record_workloads(input.event);
    record_moves(input);
    reference_.apply(input, after);
    check_finished(input.event, effects, after);
    forget_withdrawn_moves(after);
    record_abandoned_binds(after);
    record_demand(after);
    if (std::holds_alternative<Plan>(input.event)) record_short_gangs(after);
    if (const auto* outcome = std::get_if<BindOutcome>(&input.event)) check_backoff(*outcome);
    if (const auto* pod = std::get_if<PodObserved>(&input.event)) {
        const auto refused = refusals_.find(pod->pod.uid);
        if (refused != refusals_.end()) refused->second.has_changed = true;
    }
    std::vector<PlacedJob> placed_jobs;
    std::vector<Evictions> evictions;
    evicted_in_this_step_.clear();
    settled_.clear();
    for (const Effect& effect : effects) {
        if (const auto* bind = std::get_if<BindPod>(&effect)) {
            check_bind(*bind, after, placed_jobs);
        } else if (const auto* deletion = std::get_if<DeletePod>(&effect)) {
            check_delete(*deletion);
        } else if (const auto* eviction = std::get_if<EvictPod>(&effect)) {
            check_may_write(eviction->id, eviction->epoch,
                            "eviction of " + to_string(eviction->pod.key));
            record_eviction(*eviction, after, evictions);
            evicted_in_this_step_.insert(eviction->pod.uid);
        } else if (const auto* creation = std::get_if<CreateWorkload>(&effect)) {
            check_workload(creation->job->spec.key, creation->id, creation->epoch);
        } else if (const auto* removal = std::get_if<DeleteWorkload>(&effect)) {
            check_workload(removal->key, removal->id, removal->epoch);
        } else if (const auto* update = std::get_if<UpdateWorkload>(&effect)) {
            check_workload(update->job->spec.key, update->id, update->epoch);
            updates_.insert(update->id);
        } else if (const auto* resize = std::get_if<ResizeWorkload>(&effect)) {
            check_resize(*resize, after);
        } else if (const auto* report = std::get_if<ReportStarted>(&effect)) {
            check_started(*report);
        } else if (const auto* wake = std::get_if<WakeAt>(&effect)) {
            if (wake->at < input.now) fail("I14", "a wake-up is ordered for the past");
        }
    }
    check_rollbacks();
    check_gangs(placed_jobs);
    if (!placed_jobs.empty()) check_order(placed_jobs, after);
    check_growth(placed_jobs, after);
    reference_.read_nominations(after, false);
    check_drained_gangs(after);
    if (!evictions.empty()) check_evictions(evictions, after);
    if (!std::holds_alternative<Plan>(input.event)) return;
    if (++probes.plans % kPlansPerLook == 0) check_fixed_point(engine);
}

// Checks I25.
void Checker::check_listing(const Engine& engine) {
    for (std::string& wrong : verify_listing(engine.listing(), sequence_)) {
        fail("I25", std::move(wrong));
    }
}

void Checker::check_fixed_point(const Engine& engine) {
    const ClusterState& state = engine.state();
    check_listing(engine);
    if (!state.session.leading() || !state.session.synced() || engine.wants_plan()) return;
    check_in_flight(state);
    check_failed_binds(state);
    check_refusals(state);
    check_head_reservations(state);
    check_quota_reservations(state);
    check_queues(state);
    check_demand(state);
    check_nominations(state);
    check_progress(state);
    check_sizes(state);
    check_windows(state);
    check_stranded(state);
    check_waiting_marks(state);
    check_budgets(state);
    has_terminating_.clear();
    Readiness ready;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        state.waiting.read_readiness(id, ready);
        if (!ready.waits) continue;
        if (ready.can_be_tried()) try_waiting(state, id, ready);
        for (const Explanation& explanation : reasons_to_wait(state, id, ready)) {
            recount(state, key, ready, explanation);
        }
    }
}

}  // namespace gpuctl::sim
