#pragma once
// Holds every step of the engine against the books: may this effect be, was it somebody else's
// turn, could a waiting job start, is what users are told true. Violations are values with the ids
// of docs/invariants.md.
//
// Lifecycle: one per life of a world. It reads the engine, never changes it.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/plan/explain.hpp"
#include "scheduler/state/invariants.hpp"
#include "sim/swarm/books.hpp"
#include "sim/swarm/probes.hpp"

namespace gpuctl::sim {

// What is told by this name; -1: nothing is.
std::int64_t figure(const Explanation& told, std::string_view name);

class Judge {
public:
    // After every step of the engine.
    void observe(const Engine& engine, const Input& input, const std::vector<Effect>& effects);
    // When nothing moves: nobody who could start waits, and every reason counts right.
    void look_around(const Engine& engine);

    void fail(std::string id, std::string what);
    [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }
    // At which step the first of them was seen.
    [[nodiscard]] std::uint64_t first_step() const { return first_step_; }
    [[nodiscard]] const Books& books() const { return books_; }
    // A finished job that was removed because there were too many, or because it was too old.
    [[nodiscard]] bool was_removed(const ObjectKey& job) const {
        return removed_jobs_.contains(job);
    }

    Probes probes;

private:
    // Ranks of one job that were placed one after the other.
    struct Turn {
        ObjectKey job;
        PodFacts pod;  // one of them: they are alike
        std::int64_t ranks = 0;
        bool gang = false;
        bool resumes = false;
        bool grows = false;  // ranks beyond what its gang must have
        // Some of it have ended: are these owed, or did they never begin and waited for who leaves?
        bool may_grow = false;
        Instant submitted_at;
        std::uint64_t arrival = 0;
        std::set<std::string> uids;  // of the ranks
        std::set<std::string> away;  // those, and whoever was told to go before them in this step
    };
    using Held = std::map<QueueName, std::map<std::string, Amounts>>;

    void check_listing(const Engine& engine);
    // judge_effects.cpp
    void check_bind(const BindPod& bind, const ClusterState& after, std::vector<Turn>& turns);
    void check_room(const BindPod& bind, const BookedPod& pod, const ClusterState& after);
    void check_reservation(const BindPod& bind, const BookedPod& pod);
    [[nodiscard]] bool is_kept(const BookedPod& pod) const;
    void note_given_up(const ClusterState& after);
    void check_backoff(const BindOutcome& outcome);
    void check_gangs(const std::vector<Turn>& turns);
    // judge_maintenance.cpp
    void check_drain(const EvictPod& eviction, const ClusterState& after);
    void check_drained_gangs(const ClusterState& after);
    void look_at_windows(const ClusterState& state);
    // judge_budgets.cpp
    void look_at_budgets(const ClusterState& state);
    void check_budget(const Books::Payer& payer, const Budget& budget, Instant now);
    void recount_budget(const std::string& name, const PodFacts& pod, const Readiness& ready,
                        const Explanation& told);
    // judge_models.cpp
    void check_model_preferred(const BindPod& bind, const BookedPod& pod,
                               const ClusterState& after);
    void check_model_of_gang(const Turn& turn);
    // judge_topology.cpp
    void check_topology(const Turn& turn);
    void check_claimed_topology(const JobRow& job, const PodFacts& like, const ClusterState& after);
    void check_places(const std::string& what, const ObjectKey& job, const PodFacts& like,
                      const std::set<std::string>& but, const std::vector<std::string>& nodes);
    void recount_topology(const std::string& name, const PodFacts& pod, const Explanation& told);
    void recount_windows(const std::string& name, const PodFacts& pod, const Explanation& told);
    void check_delete(const DeletePod& deletion);
    void check_rollbacks();
    void check_started(const ReportStarted& report);
    void check_workload(const ObjectKey& job, EffectId effect, Epoch epoch);
    void check_may_write(EffectId effect, Epoch epoch, const std::string& what);
    void close_workload(const Event& event);

    // judge_claims.cpp
    // Of one step, with the books as they were when the first of each beneficiary was decided.
    struct Evictions {
        ObjectKey beneficiary;
        std::vector<EvictPod> pods;
        Books before;
    };
    void note_eviction(const EvictPod& eviction, const ClusterState& after,
                       std::vector<Evictions>& step);
    void check_evictions(std::vector<Evictions>& step, const ClusterState& after);
    void check_eviction(const EvictPod& eviction);
    void check_reclaim(const std::vector<EvictPod>& evictions, const PodFacts& like,
                       const Amounts& ask, const Books& then, const Books& before);
    // Where the chains of two queues of one pool meet: the queues directly below that.
    [[nodiscard]] std::pair<QueueName, QueueName> sides(const QueueName& own,
                                                        const QueueName& other) const;
    // The books without all that could be stopped together for one like it; absent: not all of
    // that could be.
    [[nodiscard]] std::optional<Books> without_loans(const ClusterState& state,
                                                     const PodFacts& like,
                                                     const Amounts& ask) const;
    // Uids of work without GPUs that could be stopped for one like it.
    [[nodiscard]] std::vector<std::string> guests_in_the_way(const ClusterState& state,
                                                             const PodFacts& like,
                                                             const Amounts& ask) const;
    [[nodiscard]] bool may_be_stopped(const ClusterState& state, const std::string& uid,
                                      const std::string& pool, bool is_willing) const;
    enum class Consent : std::uint8_t { needed, by_priority, not_needed };
    [[nodiscard]] bool may_be_preempted(const PodFacts& pod) const;
    [[nodiscard]] bool unit_may_be_stopped(const ClusterState& state, const BookedPod& pod,
                                           const std::string& pool,
                                           Consent consent = Consent::needed) const;
    // What is left to a queue, and to those above it up to `last`, is less than guaranteed.
    [[nodiscard]] std::string guarantee_broken(const Books& then, const QueueName& leaf,
                                               const QueueName& last,
                                               const std::string& model) const;
    struct Place {
        std::string node;
        std::int32_t device = kNoDevice;
    };
    using Places = std::map<std::string, Place>;  // by uid
    [[nodiscard]] Places claimed_beside(const std::vector<Evictions>& step,
                                        const ClusterState& after) const;
    static void claim(Books& books, const std::string& uid, const Place& place);
    void check_claim(const Evictions& of, const ClusterState& after, const Places& beside,
                     Books then);
    void undo(const Evictions& of, Books& then) const;
    void look_at_claims(const ClusterState& state);
    void try_disruption(const ClusterState& state, JobId id, const Readiness& ready);
    // With so much more for a queue of or below it.
    [[nodiscard]] bool is_owed(const QueueName& queue, const QueueName& leaf, const Amounts& ask,
                               const Books& before) const;
    // judge_stranded.cpp: gangs that ran as a whole and have lacked ranks for too long.
    void note_short_gangs(const ClusterState& after);
    [[nodiscard]] bool is_under_way(const ObjectKey& job) const;
    // Something of it holds and may stay, even if it was asked to go.
    [[nodiscard]] bool is_there(const ObjectKey& job) const;
    [[nodiscard]] bool is_stranded(const PodFacts& pod) const;
    [[nodiscard]] std::optional<Books> without_stranded(const ClusterState& state,
                                                        const ObjectKey& but,
                                                        const std::string& pool) const;
    void look_at_stranded(const ClusterState& state);
    void look_at_wait_targets(const ClusterState& state);
    void look_at_the_late(const ClusterState& state);
    void check_started_anew(const ObjectKey& job, const PodFacts& like);
    [[nodiscard]] bool fits_anew(const ObjectKey& job, const PodFacts& like,
                                 std::int64_t ranks) const;
    [[nodiscard]] bool could_start_anew(const ClusterState& state, JobId id, const Readiness& ready,
                                        const PodFacts& like) const;
    // judge_demand.cpp: what it is guaranteed as long as it wants no more, where that counts.
    [[nodiscard]] std::int64_t promised(const QueueName& queue) const;
    void note_demand(const ClusterState& after);
    void look_at_demand(const ClusterState& state);

    // judge_shorter.cpp
    [[nodiscard]] bool stops_long_for_short(const QueueName& queue) const;
    [[nodiscard]] bool has_more_left(const ClusterState& state, const JobRow& runs,
                                     const JobRow& waits) const;
    void check_shorter(const EvictPod& eviction, const ClusterState& after);
    // judge_makespan.cpp: of what has to begin now, recounted job by job. Where it is a matter of
    // seconds both are true, or neither is.
    struct Lateness {
        bool may_be_late = false;
        bool is_late = false;
        bool may_go_on = false;  // once it runs
    };
    // `unseen`: so long may it run on before anybody looks again whether it has to.
    [[nodiscard]] Lateness lateness(const ClusterState& state, const JobRow& job,
                                    Duration unseen = {}) const;
    void check_who_goes_on(const EvictPod& eviction, const ClusterState& after);
    void check_late(const std::vector<Turn>& turns, const ClusterState& after);
    void compare_late(const Turn& first, const Turn& later, const ClusterState& after);
    void note_kept(const EvictPod& eviction, const ClusterState& after);
    void look_at_progress(const ClusterState& state);
    void forget_progress(const Event& event);
    [[nodiscard]] std::vector<std::string> longer_ones(const ClusterState& state, JobId id,
                                                       const PodFacts& like) const;

    // judge_moves.cpp
    struct AskedMove {
        EffectId effect{};  // of the eviction sent last
        bool is_refused = false;
        bool is_counted = false;
        bool goes_along = false;  // with a rank of its gang that was counted
    };
    struct PlaceLeft {  // by a pod that was evicted
        std::int32_t rank = -1;
        std::vector<Instant> moved_at;
    };
    void note_moves(const Input& input);
    void note_going(const std::string& uid, Instant now);
    void count_move(const std::string& uid, Instant now);
    void take_place(const PodFacts& pod, Instant now);
    void note_asked(const EvictPod& eviction);
    void forget_withdrawn(const ClusterState& after);
    [[nodiscard]] bool may_be_moved(const std::string& uid) const;  // by its budget of evictions

    [[nodiscard]] bool has_quota(const std::string& tenant) const;  // for all pools together
    [[nodiscard]] bool shares_quota(const JobRow& job, const JobRow& other) const;
    [[nodiscard]] bool is_gone_soon(const ClusterState& state, const std::string& uid) const;
    [[nodiscard]] bool does_anybody_leave(const ClusterState& state, const JobRow& job);
    [[nodiscard]] Books without_leaving(Books out, const ClusterState& state,
                                        const JobRow& job) const;

    // judge_sizes.cpp
    void check_resize(const ResizeWorkload& resize, const ClusterState& after);
    void check_given(const ResizeWorkload& resize, const ClusterState& after);
    void check_shrink(const ResizeWorkload& resize, const ClusterState& after);
    void check_growth(const std::vector<Turn>& turns, const ClusterState& after);
    bool leaves_room(const ClusterState& state, const JobRow& job) const;
    void look_at_sizes(const ClusterState& state);
    // All ranks that could go for one like it; absent: not all of them together.
    [[nodiscard]] std::optional<Books> without_surplus(const ClusterState& state, JobId by,
                                                       const PodFacts& like) const;

    // judge_order.cpp
    void check_order(const std::vector<Turn>& turns, const ClusterState& after);
    void compare(const Turn& first, const Turn& later, const Held& held);
    void compare_queues(const Turn& first, const Turn& later, const Held& held);
    void compare_jobs(const Turn& first, const Turn& later, const Held& held);
    [[nodiscard]] Amounts held_below(const QueueName& queue, const Held& held) const;
    void note_new_claims(const ClusterState& after);
    static bool is_leaving(const BookedPod& pod);
    [[nodiscard]] bool counts_for_turns(const BookedPod& pod, const ClusterState& after) const;
    // Books::kept() for what was held before a turn.
    [[nodiscard]] std::int64_t kept_then(const QueueName& queue, const Held& held) const;
    [[nodiscard]] bool was_kept_out(const Turn& later, const Held& held) const;
    void compare_waiting(const Turn& placed, const ClusterState& after);

    // judge_promises.cpp
    void check_who_leaves(const ClusterState& state);
    void check_promises(const ClusterState& state);
    void check_kept(const ClusterState& state, const JobRow& job, const PodFacts& pod,
                    std::int64_t ranks);
    // Also if it starts so much later.
    [[nodiscard]] bool is_held_back(const ClusterState& state, JobId id, Duration later = {}) const;
    // judge_limits.cpp
    [[nodiscard]] static bool is_behind_a_limit(const ClusterState& state, JobId id,
                                                const Books& books, Duration starts_in = {});
    void check_limits_kept(const ClusterState& state);
    void check_passing(const std::vector<Turn>& turns, const ClusterState& after);
    void check_passing(const std::vector<Turn>& turns, const ClusterState& after, JobId head,
                       Books before);
    [[nodiscard]] bool is_before(const JobRow& job, const Turn& turn) const;
    [[nodiscard]] bool share_an_account(const PodFacts& a, const PodFacts& b) const;

    // judge_waits.cpp
    void check_under_way(const ClusterState& state);
    void check_reservations(const ClusterState& state);
    void check_refusals(const ClusterState& state);
    void try_waiting(const ClusterState& state, JobId id, const Readiness& ready);
    void recount(const ClusterState& state, const ObjectKey& job, const Readiness& ready,
                 const Explanation& told);
    void recount_nodes(const std::string& name, const PodFacts& pod, const Explanation& told);
    void recount_limit(const std::string& name, const PodFacts& pod, const Explanation& told,
                       const std::string& unit);
    [[nodiscard]] bool is_queue_limit(const PodFacts& pod, const Explanation& told,
                                      const std::string& unit, std::int64_t limit,
                                      std::int64_t held) const;
    [[nodiscard]] bool is_tenant_limit(const PodFacts& pod, const std::string& unit,
                                       std::int64_t limit, std::int64_t held) const;
    void check_queues(const ClusterState& state);

    // judge_packing.cpp
    void check_packing(const BindPod& bind, const BookedPod& pod, const ClusterState& after);
    [[nodiscard]] bool takes_slot_of_gpu(const NodeFacts& node) const;
    // judge_retention.cpp
    void note_workloads(const Event& event);
    void check_finished(const Event& event, const std::vector<Effect>& effects,
                        const ClusterState& after);
    void check_summarized(const DropDetails& drop, const ClusterState& after);
    void check_removed(const ObjectKey& job, Instant ended, const ClusterState& after);
    [[nodiscard]] bool is_over(const ObjectKey& job) const;
    [[nodiscard]] Instant end_of_job(const ObjectKey& job) const;

    Books books_;
    std::set<QueueName> beyond_guarantee_;    // as the last Plan saw them
    std::set<std::string> pools_claimed_in_;  // in this step
    std::vector<Violation> violations_;
    EffectId effect_last_{};
    std::map<ObjectKey, EffectId> workloads_open_;
    std::map<ObjectKey, Instant> quiet_until_;  // jobs whose bind failed: no new try before
    std::map<ObjectKey, Instant> failed_at_;    // of a bind, last
    struct Refusal {
        Instant until;             // then it is tried again
        bool has_changed = false;  // so that it may be tried before
    };
    std::map<std::string, Refusal> refusals_;           // pods whose bind was refused last, by uid
    std::set<ObjectKey> drained_;                       // gangs, in this step
    std::map<std::string, ObjectKey> asked_to_go_for_;  // beneficiary by uid
    std::set<ObjectKey> rolled_back_;           // gangs, by deletions first sent in this step
    std::set<ObjectKey> started_;               // gangs that ran as a whole, and in part since
    std::map<ObjectKey, Instant> short_since_;  // of those, who lacks ranks
    std::set<std::string> left_;                // uids of those that were stopped for that
    // What was left of both when the second was stopped for the first; and what a job had kept.
    std::map<std::pair<ObjectKey, ObjectKey>, std::pair<Duration, Duration>> stopped_for_;
    struct KeptWork {
        std::string uid;  // of the pod that is asked to go
        Duration done;
    };
    std::map<ObjectKey, KeptWork> asked_kept_;              // when it was asked to go
    std::map<ObjectKey, KeptWork> kept_;                    // of those that went
    std::map<std::string, AskedMove> asked_moves_;          // by uid
    std::map<std::string, std::vector<Instant>> moved_at_;  // likewise, of no gang
    std::map<ObjectKey, std::vector<Instant>> gang_moved_at_;
    std::map<ObjectKey, std::vector<PlaceLeft>> places_left_;
    std::set<std::string> told_to_go_;           // uids, in this step so far
    std::map<ObjectKey, std::int64_t> settled_;  // ranks bound in this step where they had claimed
    // does_anybody_leave() by pool, and namespace where that has a quota, while looking around
    std::map<std::pair<std::string, std::string>, bool> leaving_;
    // What is known of submitted jobs, and of those that are summaries when they ended.
    struct ToldJob {
        std::int32_t ranks = 0;
        bool is_refused = false;
        WorkloadPhase phase = WorkloadPhase::active;
    };
    std::map<ObjectKey, ToldJob> told_jobs_;
    struct ToldSummary {
        Instant ended_at;
        bool is_ours = true;  // else its pods are all there is of it
    };
    std::map<ObjectKey, ToldSummary> summaries_;
    std::set<ObjectKey> removed_jobs_;
    std::uint64_t sequence_ = 0;  // of the input under judgement
    std::uint64_t first_step_ = 0;
};

// When the pod will have ended at the latest; never: nobody knows.
Instant end_of(const BookedPod& pod, const ClusterState& state);
// Its grace was over long ago: when it goes nobody knows.
bool is_stuck(const BookedPod& pod, Instant now);

}  // namespace gpuctl::sim
