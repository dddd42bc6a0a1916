#pragma once
// Checks every step of the engine against the reference model: is this effect allowed, was it
// another job's turn, could a waiting job start, and are the reported reasons true? Violations are
// values with the ids of docs/invariants.md.
//
// Lifecycle: one per simulated run. It reads the engine, never changes it.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/model/reason.hpp"
#include "scheduler/state/invariants/invariants.hpp"
#include "sim/swarm/probes.hpp"
#include "sim/swarm/reference/reference_model.hpp"

namespace gpuctl::sim {

// The figure of this name in the explanation; -1: there is none.
std::int64_t figure(const Explanation& explanation, std::string_view name);

// What a job asks for at its turn.
struct Wish {
    PodFacts like;  // one of the ranks: all are equal
    std::int64_t ranks = 0;
    Amounts ask;  // of all ranks
};
Wish wish_of(const ClusterState& state, const Readiness& ready);
// Limits and room suffice for it.
bool can_start(const ReferenceModel& reference, const Wish& wish);

class Checker {
public:
    // After every step of the engine.
    void observe(const Engine& engine, const Input& input, const std::vector<Effect>& effects);
    // At a fixed point: no job waits that could start, and the numbers of every reason are right.
    void check_fixed_point(const Engine& engine);

    void fail(std::string id, std::string what);
    // A user has changed the job. `is_again`: it is deleted, and created again under its name.
    void record_change(const JobSpec& spec, bool is_again);
    [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }
    // Step of the first violation.
    [[nodiscard]] std::uint64_t first_step() const { return first_step_; }
    [[nodiscard]] const ReferenceModel& reference() const { return reference_; }
    // True if the finished job was removed because of the limit of their number or age.
    [[nodiscard]] bool was_removed(const ObjectKey& job) const {
        return removed_jobs_.contains(job);
    }

    Probes probes;

private:
    // Ranks of one job that one Plan placed one after the other.
    struct PlacedJob {
        ObjectKey job;
        PodFacts pod;  // of one rank: all are equal
        std::int64_t ranks = 0;
        bool gang = false;
        bool resumes = false;
        bool grows = false;  // ranks beyond the gang's minimum
        // Ranks of the job have succeeded, so these may replace lost ranks or be growth.
        bool may_grow = false;
        Instant submitted_at;
        std::uint64_t arrival = 0;
        std::set<std::string> uids;      // of the ranks
        std::set<std::string> excluded;  // the ranks, and pods evicted before them in this step
    };
    using Held = std::map<QueueName, std::map<std::string, Amounts>>;

    void check_listing(const Engine& engine);
    // check_binds.cpp
    void check_bind(const BindPod& bind, const ClusterState& after,
                    std::vector<PlacedJob>& placed_jobs);
    void check_fit(const BindPod& bind, const ReferencePod& pod, const ClusterState& after);
    void check_reservation(const BindPod& bind, const ReferencePod& pod);
    [[nodiscard]] PlacedJob& placed_job_of(const ReferencePod& pod, const ClusterState& after,
                                           std::vector<PlacedJob>& placed_jobs) const;
    // The node of its last bind still has room for the pod.
    [[nodiscard]] bool is_kept(const ReferencePod& pod) const;
    void record_abandoned_binds(const ClusterState& after);
    void check_backoff(const BindOutcome& outcome);
    // check_writes.cpp
    void check_gangs(const std::vector<PlacedJob>& placed_jobs);
    void check_delete(const DeletePod& deletion);
    void check_rollbacks();
    void check_started(const ReportStarted& report);
    void check_workload(const ObjectKey& job, EffectId effect, Epoch epoch);
    void check_may_write(EffectId effect, Epoch epoch, const std::string& what);
    void close_workload(const Event& event);
    // check_maintenance.cpp
    void check_drain(const EvictPod& eviction, const ClusterState& after);
    void check_drained_gangs(const ClusterState& after);
    void check_windows(const ClusterState& state);
    // check_budgets.cpp
    void check_budgets(const ClusterState& state);
    void check_budget(const ReferenceModel::Payer& payer, const Budget& budget, Instant now);
    void recount_budget(const std::string& name, const PodFacts& pod, const Readiness& ready,
                        const Explanation& explanation);
    // check_gpu_models.cpp
    void check_model_preferred(const BindPod& bind, const ReferencePod& pod,
                               const ClusterState& after);
    void check_model_of_gang(const PlacedJob& placed_job);
    // check_topology.cpp
    void check_topology(const PlacedJob& placed_job);
    void check_nominated_topology(const JobRow& job, const PodFacts& like,
                                  const ClusterState& after);
    void check_places(const std::string& what, const ObjectKey& job, const PodFacts& like,
                      const std::set<std::string>& but, const std::vector<std::string>& nodes);
    void recount_topology(const std::string& name, const PodFacts& pod,
                          const Explanation& explanation);
    void recount_windows(const std::string& name, const PodFacts& pod,
                         const Explanation& explanation);

    // evictions/check_evictions.cpp
    // Evictions of one step for one job, and the reference model before the first of them.
    struct Evictions {
        ObjectKey preemptor;
        std::vector<EvictPod> pods;
        ReferenceModel before;
    };
    void record_eviction(const EvictPod& eviction, const ClusterState& after,
                         std::vector<Evictions>& step);
    void check_evictions(std::vector<Evictions>& step, const ClusterState& after);
    void check_eviction(const EvictPod& eviction);
    void check_reclaim(const std::vector<EvictPod>& evictions, const PodFacts& like,
                       const Amounts& ask, const ReferenceModel& then,
                       const ReferenceModel& before);
    // The two queues directly below the common ancestor of two queues of one pool.
    [[nodiscard]] std::pair<QueueName, QueueName> diverging_queues(const QueueName& own,
                                                                   const QueueName& other) const;
    // The reference model without all borrowed capacity that a pod like this could reclaim; absent:
    // it could not reclaim all of it together.
    [[nodiscard]] std::optional<ReferenceModel> without_lent_capacity(const ClusterState& state,
                                                                      const PodFacts& like,
                                                                      const Amounts& ask) const;
    // Uids of CPU-only pods that could be evicted for a pod like this.
    [[nodiscard]] std::vector<std::string> blocking_cpu_pods(const ClusterState& state,
                                                             const PodFacts& like,
                                                             const Amounts& ask) const;
    [[nodiscard]] bool may_be_evicted(const ClusterState& state, const std::string& uid,
                                      const std::string& pool, bool is_willing) const;
    enum class Consent : std::uint8_t { needed, by_priority, not_needed };
    [[nodiscard]] bool may_be_preempted(const PodFacts& pod) const;
    [[nodiscard]] bool unit_may_be_evicted(const ClusterState& state, const ReferencePod& pod,
                                           const std::string& pool,
                                           Consent consent = Consent::needed) const;
    // The first queue from `leaf` up to `last` that falls below its guarantee; empty: no queue
    // does.
    [[nodiscard]] std::string guarantee_broken(const ReferenceModel& then, const QueueName& leaf,
                                               const QueueName& last,
                                               const std::string& model) const;
    struct Place {
        std::string node;
        std::int32_t device = kNoDevice;
    };
    using Places = std::map<std::string, Place>;  // by uid
    [[nodiscard]] Places nominated_elsewhere(const std::vector<Evictions>& step,
                                             const ClusterState& after) const;
    static void nominate(ReferenceModel& reference, const std::string& uid, const Place& place);
    // evictions/check_nominations.cpp
    void check_nomination(const Evictions& of, const ClusterState& after, const Places& others,
                          ReferenceModel then);
    Wish check_nominated_nodes(const JobRow& row, const ClusterState& after,
                               const ReferenceModel& then);
    void check_victims(const Evictions& of, const Wish& nominated, const ClusterState& after);
    std::map<ObjectKey, std::vector<std::string>> units_of(const Evictions& of);
    void restore_evicted(const Evictions& of, ReferenceModel& then) const;
    void check_nominations(const ClusterState& state);
    // evictions/check_disruption.cpp
    struct Attempt : Wish {
        JobId job;
        Duration latest;  // time until it starts, when the slowest victim is gone
    };
    void try_disruption(const ClusterState& state, JobId id, const Readiness& ready);
    [[nodiscard]] bool could_start_in(std::optional<ReferenceModel> then,
                                      const Attempt& attempt) const;
    [[nodiscard]] std::string missed_disruption(const ClusterState& state, const Readiness& ready,
                                                const Attempt& attempt);
    [[nodiscard]] std::vector<std::string> victims_for(const ClusterState& state,
                                                       const Attempt& attempt) const;
    // True if the queue stays within its guarantee with `ask` more for the leaf.
    [[nodiscard]] bool is_below_guarantee(const QueueName& queue, const QueueName& leaf,
                                          const Amounts& ask, const ReferenceModel& before) const;
    // evictions/check_stranded.cpp: gangs that were complete and have lacked ranks for too long.
    void record_short_gangs(const ClusterState& after);
    [[nodiscard]] bool has_binds_in_flight(const ObjectKey& job) const;
    // Pods of the job hold capacity and are not terminating.
    [[nodiscard]] bool holds_capacity(const ObjectKey& job) const;
    [[nodiscard]] bool is_stranded(const PodFacts& pod) const;
    [[nodiscard]] std::optional<ReferenceModel> without_stranded(const ClusterState& state,
                                                                 const ObjectKey& but,
                                                                 const std::string& pool) const;
    void check_stranded(const ClusterState& state);
    void check_restarted(const ObjectKey& job, const PodFacts& like);
    [[nodiscard]] bool fits_restarted(const ObjectKey& job, const PodFacts& like,
                                      std::int64_t ranks) const;
    [[nodiscard]] bool could_restart(const ClusterState& state, JobId id, const Readiness& ready,
                                     const PodFacts& like) const;
    // check_demand.cpp: the guarantee of a queue. It is 0 if the guarantee holds only while demand
    // fits, and the demand does not fit.
    [[nodiscard]] std::int64_t effective_guarantee(const QueueName& queue) const;
    void record_demand(const ClusterState& after);
    void check_demand(const ClusterState& state);

    // evictions/check_shortest_remaining.cpp
    [[nodiscard]] PreemptionPolicy preemption_of(const ClusterState& state,
                                                 const JobRow& job) const {
        return reference_.preemption_of(state.pool(job.pool).name);
    }
    // At a fixed point: what the engine recorded of the order of waiting jobs.
    void check_waiting_marks(const ClusterState& state);
    void check_wait_target(const ClusterState& state, const JobRow& job, PreemptionMode mode);
    void check_doublings(const ClusterState& state, const JobRow& job, PreemptionMode mode);
    [[nodiscard]] bool preempts_by_remaining_time(const QueueName& queue) const;
    [[nodiscard]] bool has_more_remaining(const ClusterState& state, const JobRow& runs,
                                          const JobRow& waits) const;
    [[nodiscard]] bool has_clearly_more_remaining(const ClusterState& state, const JobRow& runs,
                                                  const PodFacts& rank, const JobRow& waits) const;
    void check_shortest_remaining(const EvictPod& eviction, const ClusterState& after);
    // evictions/check_makespan.cpp: whether a job has to start now, recounted job by job. Within
    // the rounding of seconds only may_be_late is true.
    struct Lateness {
        bool may_be_late = false;
        bool is_late = false;
        bool may_have_to_keep_running = false;  // once it runs
    };
    // `unseen`: time until the engine re-evaluates a running job.
    [[nodiscard]] Lateness lateness(const ClusterState& state, const JobRow& job,
                                    Duration unseen = {}) const;
    void check_lateness_of_victim(const EvictPod& eviction, const ClusterState& after);
    void compare_late(const PlacedJob& first, const PlacedJob& later, const ClusterState& after);
    void record_kept_work(const EvictPod& eviction, const ClusterState& after);
    void record_late_start(const PodFacts& pod);
    struct KeptWork {
        std::string uid;   // of the evicted pod
        Instant began;     // its run, as far as is known
        Instant asked_at;  // when the eviction was ordered
    };
    static Duration done_when_asked(const KeptWork& kept, const PodFacts& pod);
    void check_progress(const ClusterState& state);
    void forget_progress(const Event& event);
    [[nodiscard]] std::vector<std::string> jobs_with_more_remaining(const ClusterState& state,
                                                                    JobId id,
                                                                    const PodFacts& like) const;

    // evictions/check_moves.cpp
    struct OrderedMove {
        EffectId effect{};  // of the last eviction
        bool is_refused = false;
        bool is_counted = false;
        bool moves_with_gang = false;  // a rank of its gang was counted
    };
    struct VacatedPlace {  // by an evicted pod
        std::int32_t rank = -1;
        std::vector<Instant> moved_at;
    };
    void record_moves(const Input& input);
    void record_departure(const std::string& uid, Instant now);
    void count_move(const std::string& uid, Instant now);
    void fill_vacated_place(const PodFacts& pod, Instant now);
    void record_eviction_order(const EvictPod& eviction);
    void forget_withdrawn_moves(const ClusterState& after);
    [[nodiscard]] bool may_be_moved(const std::string& uid) const;  // by its eviction budget

    [[nodiscard]] bool has_quota(const std::string& tenant) const;  // for all pools together
    [[nodiscard]] bool shares_quota(const JobRow& job, const JobRow& other) const;
    [[nodiscard]] bool is_terminating_or_evicted(const ClusterState& state,
                                                 const std::string& uid) const;
    [[nodiscard]] bool has_terminating_pods(const ClusterState& state, const JobRow& job);
    [[nodiscard]] ReferenceModel without_terminating(ReferenceModel out, const ClusterState& state,
                                                     const JobRow& job) const;

    // check_sizes.cpp
    void check_resize(const ResizeWorkload& resize, const ClusterState& after);
    void check_ceded_ranks(const ResizeWorkload& resize, const ClusterState& after);
    void check_shrink(const ResizeWorkload& resize, const ClusterState& after);
    void check_growth(const std::vector<PlacedJob>& placed_jobs, const ClusterState& after);
    bool frees_capacity(const ClusterState& state, const JobRow& job) const;
    void check_sizes(const ClusterState& state);
    // The reference model without all surplus ranks that could be removed for a pod like this;
    // absent: not all of them could be removed together.
    [[nodiscard]] std::optional<ReferenceModel> without_surplus(const ClusterState& state, JobId by,
                                                                const PodFacts& like) const;

    // order/check_order.cpp
    void check_order(const std::vector<PlacedJob>& placed_jobs, const ClusterState& after);
    void compare(const PlacedJob& first, const PlacedJob& later, const Held& held,
                 const ClusterState& after);
    // order/compare_queues.cpp
    void compare_queues(const PlacedJob& first, const PlacedJob& later, const Held& held);
    void compare_ages(const PlacedJob& first, const PlacedJob& later,
                      const std::vector<QueueName>& branch);
    void compare_priorities(const PlacedJob& first, const PlacedJob& later,
                            const std::vector<QueueName>& branch);
    // order/compare_jobs.cpp; is_decided_by_*: true if that settles the order, right or wrong.
    void compare_jobs(const PlacedJob& first, const PlacedJob& later, const Held& held);
    bool is_decided_by_quota(const PlacedJob& first, const PlacedJob& later, const Held& held);
    bool is_decided_by_share(const PlacedJob& first, const PlacedJob& later, const Held& held);
    [[nodiscard]] Amounts held_below(const QueueName& queue, const Held& held) const;
    void record_new_nominations(const ClusterState& after);
    static bool is_terminating(const ReferencePod& pod);
    [[nodiscard]] bool counts_for_order(const ReferencePod& pod, const ClusterState& after) const;
    // ReferenceModel::gpus_reserved() for what was held before a placement.
    [[nodiscard]] std::int64_t reserved_then(const QueueName& queue, const Held& held) const;
    [[nodiscard]] bool was_blocked_by_reserve(const PlacedJob& later, const Held& held) const;
    // order/check_waiting_order.cpp
    void compare_waiting(const PlacedJob& placed_job, const ClusterState& after);

    // check_head_reservations.cpp
    void check_terminating(const ClusterState& state);
    void check_head_reservations(const ClusterState& state);
    void check_kept_nodes(const ClusterState& state, const JobRow& job, const PodFacts& pod,
                          std::int64_t ranks);
    // True if the reservation blocks the job, also if it starts `later`.
    [[nodiscard]] bool is_held_by_reservation(const ClusterState& state, JobId id,
                                              Duration later = {}) const;
    // check_quota_reservations.cpp
    [[nodiscard]] static bool is_held_by_quota_reservation(const ClusterState& state, JobId id,
                                                           const ReferenceModel& reference,
                                                           Duration starts_in = {});
    void check_quota_reservations(const ClusterState& state);
    void check_overtaking(const std::vector<PlacedJob>& placed_jobs, const ClusterState& after);
    void check_overtaking(const std::vector<PlacedJob>& placed_jobs, const ClusterState& after,
                          JobId head, ReferenceModel before);
    [[nodiscard]] bool is_before(const JobRow& job, const PlacedJob& placed_job) const;
    [[nodiscard]] bool share_a_limit(const PodFacts& a, const PodFacts& b) const;

    // check_waits.cpp
    void check_in_flight(const ClusterState& state);
    void check_failed_binds(const ClusterState& state);
    void check_refusals(const ClusterState& state);
    void try_waiting(const ClusterState& state, JobId id, const Readiness& ready);
    void recount(const ClusterState& state, const ObjectKey& job, const Readiness& ready,
                 const Explanation& explanation);
    void recount_nodes(const std::string& name, const PodFacts& pod,
                       const Explanation& explanation);
    void recount_limit(const std::string& name, const PodFacts& pod, const Explanation& explanation,
                       const std::string& unit);
    [[nodiscard]] bool is_queue_limit(const PodFacts& pod, const Explanation& explanation,
                                      const std::string& unit, std::int64_t limit,
                                      std::int64_t held) const;
    [[nodiscard]] bool is_tenant_limit(const PodFacts& pod, const std::string& unit,
                                       std::int64_t limit, std::int64_t held) const;
    void check_queues(const ClusterState& state);

    // check_packing.cpp
    void check_packing(const BindPod& bind, const ReferencePod& pod, const ClusterState& after);
    [[nodiscard]] bool takes_slot_of_gpu(const NodeFacts& node) const;
    // check_retention.cpp
    void record_workloads(const Event& event);
    void check_finished(const Event& event, const std::vector<Effect>& effects,
                        const ClusterState& after);
    void check_summarized(const DropDetails& drop, const ClusterState& after);
    void check_removed(const ObjectKey& job, Instant ended, const ClusterState& after);
    [[nodiscard]] bool is_over(const ObjectKey& job) const;
    [[nodiscard]] Instant end_of_job(const ObjectKey& job) const;

    ReferenceModel reference_;
    std::set<QueueName> beyond_guarantee_;   // as of the last Plan
    std::set<std::string> nominated_pools_;  // in this step
    std::vector<Violation> violations_;
    EffectId effect_last_{};
    std::map<ObjectKey, EffectId> workloads_open_;
    std::set<EffectId> updates_;  // writes that change an object: the job stays if they fail
    std::map<ObjectKey, Instant> backoff_until_;  // a failed bind is not retried before
    std::map<ObjectKey, Instant> failed_at_;      // last failed bind
    struct Refusal {
        Instant until;             // then the bind is retried
        bool has_changed = false;  // the pod changed: it may be retried earlier
    };
    std::map<std::string, Refusal> refusals_;        // last refused binds by uid
    std::set<ObjectKey> drained_;                    // gangs drained in this step
    std::map<std::string, ObjectKey> preemptor_of_;  // beneficiary by uid
    std::set<ObjectKey> rolled_back_;                // gangs rolled back in this step
    std::set<ObjectKey> started_;                    // gangs that were complete once and still hold
    std::map<ObjectKey, Instant> short_since_;       // the incomplete gangs among these
    std::set<std::string> evicted_stranded_;         // uids of pods evicted because of that
    // Remaining work of both jobs when the second was preempted for the first.
    std::map<std::pair<ObjectKey, ObjectKey>, std::pair<Duration, Duration>>
        remaining_at_preemption_;
    std::map<ObjectKey, KeptWork> kept_work_when_asked_;
    std::map<ObjectKey, Duration> kept_work_;               // of pods that left
    std::map<std::string, OrderedMove> ordered_moves_;      // by uid
    std::map<std::string, std::vector<Instant>> moved_at_;  // likewise, without a gang
    std::map<ObjectKey, std::vector<Instant>> gang_moved_at_;
    std::map<ObjectKey, std::vector<VacatedPlace>> vacated_places_;
    std::set<std::string> evicted_in_this_step_;  // uids, in this step so far
    std::map<ObjectKey, std::int64_t> settled_;   // nominated ranks bound in this step
    // has_terminating_pods() by pool and namespace with a quota, within one check_fixed_point()
    std::map<std::pair<std::string, std::string>, bool> has_terminating_;
    // Known facts about submitted jobs, and end times of summarized jobs.
    struct KnownJob {
        std::int32_t ranks = 0;
        bool is_refused = false;
        WorkloadPhase phase = WorkloadPhase::active;
    };
    std::map<ObjectKey, KnownJob> known_jobs_;
    struct KnownSummary {
        Instant ended_at;
        bool is_ours = true;  // false: only its pods are known
    };
    std::map<ObjectKey, KnownSummary> summaries_;
    std::set<ObjectKey> removed_jobs_;
    std::uint64_t sequence_ = 0;  // of the current input
    std::uint64_t first_step_ = 0;
};

// Latest end of the pod; never: unknown.
Instant end_of(const ReferencePod& pod, const ClusterState& state);
// True if its grace period ended long ago, so that its end is unknown.
bool is_stuck(const ReferencePod& pod, Instant now);
// "job A was placed before job B, ": the beginning of a violation.
std::string placed_before(const ObjectKey& first, const ObjectKey& before);
// True if held / weight of a is larger than that of b.
bool has_more(std::int64_t held_a, std::int64_t weight_a, std::int64_t held_b,
              std::int64_t weight_b);

}  // namespace gpuctl::sim
