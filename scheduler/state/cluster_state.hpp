#pragma once
// Everything the engine knows and has decided: nodes, pods, jobs, queues, tenants, what is held and
// what is under way. Rows by dense id; names interned; the columns that decisions read lie in
// Capacity. State changes only here: apply() for events, the functions under "decisions" for what
// a Plan input decided. apply() never plans.
//
// Lifecycle, owner, thread: the Engine's.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/queue/queue_book.hpp"
#include "scheduler/state/budget_book.hpp"
#include "scheduler/state/calendar.hpp"
#include "scheduler/state/capacity.hpp"
#include "scheduler/state/changes.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/finished_jobs.hpp"
#include "scheduler/state/gang_tally.hpp"
#include "scheduler/state/image_fwd.hpp"
#include "scheduler/state/interner.hpp"
#include "scheduler/state/outside.hpp"
#include "scheduler/state/pool_work.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/run_time_history.hpp"
#include "scheduler/state/shapes.hpp"

namespace gpuctl {

class ClusterState {
public:
    ClusterState();

    // --- events ---
    void apply(const Event& event, Instant now, EffectList& effects);

    // --- decisions, called while a Plan input is carried out ---
    // Assumes all of the round or nothing (false), as the newest state allows.
    bool assume(JobId job, const std::vector<Placement>& round, bool all_or_nothing,
                EffectList& effects, LetIn let_in = LetIn::now);
    // Settles the job's last round, then puts it into its queue if it can be tried.
    void refresh(JobId job, Readiness& ready, EffectList& effects);
    // Has the victims stopped and keeps `round`, which fits once they are gone, for the job.
    void claim(JobId job, const std::vector<Placement>& round, const std::vector<Victim>& victims,
               EvictionCause cause, EffectList& effects);
    void drop_claim(JobId job);  // victims that could not be evicted yet are spared
    void evict_postponed(JobId job, EffectList& effects);  // who could not be yet, if it is time
    // An elastic job is to have so many ranks (sizes.cpp).
    void resize(JobId job, std::int32_t ranks, std::string why, EffectList& effects,
                EvictionCause gives_for = EvictionCause::shrunk);
    void defer_ranks(JobId job, std::int32_t from);
    // Has pods of the job stopped for a window, or because their node is unhealthy.
    void drain(const std::vector<PodId>& pods, EvictionCause cause, const std::string& why,
               EffectList& effects);
    void note_drained() { calendar_.clock.drain_due = false; }
    void look_again(QueueId queue, Instant at);  // its jobs may stop somebody from then on
    void block(ClassId id, ClassBlock block);
    void report_pending(JobId job, Explanation explanation, EffectList& effects);
    std::vector<JobId> take_dirty();  // changed since the last Plan, oldest first; then none are
    [[nodiscard]] bool has_dirty() const { return !dirty_.empty(); }
    void note_demand();  // once those are in line: whose guarantees hold in this Plan (demand.cpp)
    [[nodiscard]] std::vector<QueueId> with_new_demand() const;  // since then
    void set_idle(bool idle) { idle_ = idle; }
    void set_unfinished(bool unfinished) { unfinished_ = unfinished; }  // for want of tries
    [[nodiscard]] bool is_unfinished() const { return unfinished_; }
    void resend_unanswered(EffectList& effects);
    // Likewise evictions asked for before that effect, once what they are for was looked at.
    void resend_evictions(EffectId before, EffectList& effects);
    [[nodiscard]] EffectId effect_to_come() const { return EffectId{next_effect_}; }
    void request_wake(EffectList& effects, bool again = false);  // whoever was asked may be gone
    Capacity& capacity_for_planning() { return capacity_; }
    BudgetBook& budgets_for_planning() { return budgets_; }
    void promise(PoolId pool, Promise promise);  // a default one: to nobody
    void keep_limits(PoolId pool, Promise of);   // somebody behind it was refused for that
    bool keep_limits_as(PoolId pool, std::vector<Promise> kept);  // all of them; true: it is news
    void note_limits_moved(PoolId pool) { ++pools_[pool.value()].promises; }
    void note_long(JobId job, bool is_long) { jobs_[job.value()].is_long = is_long; }

    // --- reading ---
    StateChanges& changes() { return changes_; }  // for an index that keeps in step
    // When users look it is later than the last event; no decision knows of that.
    [[nodiscard]] Instant now() const { return std::max(now_, looked_at_); }
    void look(Instant now) const { looked_at_ = now; }
    [[nodiscard]] bool is_tick_over() const;  // of usage, since the last input (usage_clock.cpp)
    [[nodiscard]] Usage usage_of(const Account& account) const;  // with the ticks ended by now()
    [[nodiscard]] bool leading() const { return leading_; }
    [[nodiscard]] bool synced() const { return synced_; }
    [[nodiscard]] Epoch epoch() const { return epoch_; }
    [[nodiscard]] const Policy& policy() const { return policy_; }
    [[nodiscard]] bool wants_plan() const;
    [[nodiscard]] bool resend_due() const { return resend_due_; }

    [[nodiscard]] const Capacity& capacity() const { return capacity_; }
    [[nodiscard]] const ShapeTable& shapes() const { return shapes_; }
    [[nodiscard]] const QueueBook& book() const { return book_; }
    [[nodiscard]] const BudgetBook& budgets() const { return budgets_; }
    [[nodiscard]] const NodeRow& node(NodeId id) const { return nodes_[id.value()]; }
    [[nodiscard]] const PodRow& pod(PodId id) const { return pods_[id.value()]; }
    [[nodiscard]] const JobRow& job(JobId id) const { return jobs_[id.value()]; }
    [[nodiscard]] const PoolRow& pool(PoolId id) const { return pools_[id.value()]; }
    [[nodiscard]] const QueueRow& queue(QueueId id) const { return queues_[id.value()]; }
    [[nodiscard]] const TenantRow& tenant(TenantId id) const { return tenants_[id.value()]; }
    [[nodiscard]] std::size_t pools() const { return pools_.size(); }
    [[nodiscard]] std::size_t node_slots() const { return nodes_.size(); }
    [[nodiscard]] const ByName<NodeId>& nodes_by_name() const { return node_ids_; }
    [[nodiscard]] const ByName<PoolId>& pools_by_name() const { return pool_ids_; }
    [[nodiscard]] const std::map<ObjectKey, JobId>& jobs_by_key() const { return job_ids_; }
    [[nodiscard]] const std::map<ObjectKey, PodId>& pods_by_key() const { return pod_keys_; }
    [[nodiscard]] const std::map<ObjectKey, GangSize>& gang_sizes() const { return gang_sizes_; }
    [[nodiscard]] const Outside& outside() const { return outside_; }
    [[nodiscard]] const FinishedJobs& finished_jobs() const { return finished_jobs_; }
    [[nodiscard]] JobId find_job(const ObjectKey& key) const;  // not of those that are summarized
    [[nodiscard]] PodId find_pod(std::string_view uid) const;
    [[nodiscard]] PodId find_pod(const ObjectKey& key) const;
    [[nodiscard]] NodeId find_node(std::string_view name) const;
    [[nodiscard]] bool pool_exists(PoolId id) const;
    [[nodiscard]] PoolId find_pool(std::string_view name) const;  // existing ones only
    [[nodiscard]] QueueId find_queue(PoolId pool, std::string_view name) const;
    [[nodiscard]] QueueId system_queue(PoolId pool) const;
    [[nodiscard]] std::string queue_name_of(const JobRow& job) const;
    // What makes the gang whole that a job is; absent: it is none.
    [[nodiscard]] std::optional<GangSize> gang_of(const JobRow& job) const;
    [[nodiscard]] std::optional<std::int64_t> gang_size(const JobRow& job) const;  // 0: unknown
    void read_readiness(JobId id, Readiness& out) const;
    // Nodes of what the job holds and keeps: its next pods are to be beside them, or apart.
    void read_anchors(const JobRow& job, std::vector<NodeId>& out) const;
    // GPU models that the others of its gang are on, if it takes several: its own is one of these.
    [[nodiscard]] std::vector<std::string_view> models_of_gang(PodId pod) const;
    // Ranks of a gang that takes several GPU models would be on more than one.
    [[nodiscard]] bool mixes_models(const std::vector<Placement>& round) const;
    // Placed so, they would not be together, or apart, as they ask (topology_rules.cpp).
    [[nodiscard]] bool breaks_topology(const JobRow&, const std::vector<Placement>& round) const;
    // The first limit that so much more would cross (limits.hpp); kind none: it may hold it.
    [[nodiscard]] LimitHit limit_hit(const JobRow& job, const Load& ask) const;
    [[nodiscard]] std::optional<GpuMilli> pool_quota(TenantId tenant, PoolId pool) const;
    [[nodiscard]] GpuMilli held_in_pool(TenantId tenant, PoolId pool) const;
    // "research/llm": the queue with those above it.
    [[nodiscard]] std::string queue_path(QueueId queue) const;
    // A job's priority with what it gained by waiting.
    [[nodiscard]] std::int64_t aged_priority(std::int32_t priority, Instant since) const;
    // Refused, and nothing that could change the answer has moved since.
    [[nodiscard]] bool is_blocked(const JobClass& waiting) const;
    [[nodiscard]] const OutcomeFigures& outcomes() const { return outcomes_; }
    [[nodiscard]] const std::vector<JobId>& claims() const { return claims_; }
    void read_claim(const JobRow& job, std::vector<Placement>& round) const;
    [[nodiscard]] bool is_free(const std::vector<Placement>& round) const;
    void read_leaving(PoolId pool, std::vector<PodId>& out) const;  // none: all pools
    // All that it holds is being stopped for others: what it places next counts as another job.
    [[nodiscard]] bool is_being_moved(const JobRow& job) const;
    // When its budget of evictions lets the pod go, or the gang that it is of; absent: never.
    [[nodiscard]] std::optional<Instant> evictable_from(const PodRow& pod, bool is_gang) const;
    // For a job of higher priority: its user says so, or its pool where its user says nothing.
    [[nodiscard]] bool may_be_preempted(const PodRow& pod) const;
    // Jobs with a range of sizes.
    [[nodiscard]] const std::set<Arrived>& elastic_jobs() const { return elastic_jobs_; }
    // Gangs that have lacked ranks for too long, and from when on one does (stranded.cpp).
    [[nodiscard]] const std::set<Arrived>& stranded_gangs() const { return stranded_gangs_; }
    [[nodiscard]] Instant stranded_from(const JobRow& job) const;
    [[nodiscard]] static bool is_elastic(const JobRow& job) { return job.elastic.size > 0; }
    [[nodiscard]] ElasticRanks ranks_of(const JobRow& job) const;
    // Why it waits again although it ran; empty: it was not moved.
    [[nodiscard]] const std::string& evicted_why(const ObjectKey& job) const;
    // --- maintenance (maintenance.cpp) ---
    [[nodiscard]] const Calendar& calendar() const { return calendar_; }
    [[nodiscard]] bool has_windows() const { return !policy_.windows.empty(); }
    [[nodiscard]] Stay stay_of(const JobRow& job, const std::vector<PodId>& pods) const;
    // The windows that these pods would be in, or run into against their will, from then on.
    [[nodiscard]] WindowSet barred(const Stay& stay, Instant from, Duration delay = {}) const;
    [[nodiscard]] bool is_barred(const JobRow& job, const std::vector<Placement>& round) const;
    [[nodiscard]] bool is_closed(NodeId node) const;  // to everybody
    // --- run times (run_times.cpp) ---
    [[nodiscard]] const RunTimeHistory& history() const { return history_; }
    [[nodiscard]] const std::map<ObjectKey, Churn>& churn() const { return churn_; }
    [[nodiscard]] RunTimeQuestion question_about(const JobRow& job) const;
    // Pods that hold and have a limit, by the moment at which they end at the latest.
    using Ends = std::pmr::set<std::pair<Instant, PodId>>;
    [[nodiscard]] const Ends& ends() const { return ends_; }
    // Of what the job had to do: by runs that were stopped, as far as it was kept, and by this one.
    [[nodiscard]] Duration progress_of(const JobRow& job) const;
    // Where long jobs are to begin in time: one that needs so long goes first; absent: none does.
    [[nodiscard]] std::optional<Duration> late_from(PoolId pool) const;
    void count_work();  // what changed of the work that is left; at the end of each input
    // Up to the next step of run times by which classes differ: eight for each doubling.
    [[nodiscard]] static Duration rounded_up(Duration time);
    [[nodiscard]] bool stops_long_for_short(const QueueRow& queue) const;
    [[nodiscard]] bool heeds_run_times(const QueueRow& queue) const;
    // Nodes that changed, oldest first, for caches of eligibility: position n is valid while
    // `eligibility_epoch` stays.
    [[nodiscard]] const std::vector<std::uint32_t>& eligibility_log() const {
        return eligibility_log_;
    }
    [[nodiscard]] std::uint64_t eligibility_epoch() const { return eligibility_epoch_; }
    // --- image: the facts and decisions, without anything that can be rebuilt (image.cpp) ---
    [[nodiscard]] StateImage image() const;
    static Result<ClusterState> from_image(StateImage image);

private:
    friend class Verifier;          // invariants.cpp
    friend class Retention;         // retention.cpp
    friend class EvictionVerifier;  // invariants_evictions.cpp

    // events, one function each (apply_*.cpp)
    void on(const NodeObserved& event, EffectList& effects);
    void on(const NodeRemoved& event, EffectList& effects);
    void on(const PodObserved& event, EffectList& effects);
    void on(const PodRemoved& event, EffectList& effects);
    void on(const GangObserved& event, EffectList& effects);
    void on(const GangRemoved& event, EffectList& effects);
    void on(const CacheSynced& event, EffectList& effects);
    void on(const JobSubmitted& event, EffectList& effects);
    void on(const JobDeleteRequested& event, EffectList& effects);
    void on(const PolicyChanged& event, EffectList& effects);
    void on(const BindOutcome& event, EffectList& effects);
    void on(const PodDeleteOutcome& event, EffectList& effects);
    void on(const PodEvictOutcome& event, EffectList& effects);
    void on(const WorkloadOutcome& event, EffectList& effects);
    void on(const WorkloadObserved& event, EffectList& effects);
    void on(const WorkloadRemoved& event, EffectList& effects);
    void on(const JobAdopted& event, EffectList& effects);
    void on(const LeadershipChanged& event, EffectList& effects);
    void on(const WokeUp& event, EffectList& effects);
    void on(const WorkloadResizeOutcome& event, EffectList& effects);
    void on(const DeviceClassObserved& event, EffectList& effects);
    void on(const DeviceClassRemoved& event, EffectList& effects);
    void on(const Plan&, EffectList&) {}
    // nodes
    NodeId node_named(std::string_view name);
    void forget_node_if_unused(NodeId id);
    void place_in_pool(NodeId id);
    void place_in_topology(NodeId id);
    void note_gain(PoolId pool);
    void note_change(PoolId pool);
    void note_quotas_on(const NodeRow& row);
    void note_eligibility_change(NodeId id);
    // pods
    PodId make_pod(PodFacts facts);
    void drop_pod(PodId id);
    void erase_pod(PodId id);        // that holds nothing, and is of no job any more
    void settle_standing(PodId id);  // from its facts
    void hold(PodId id, NodeId node, std::int32_t device);
    void release(PodId id);
    void charge(PodId id, std::int64_t sign);
    [[nodiscard]] bool keeps_something_back(const PoolRow& pool) const;
    void charge_queues(QueueId queue, TenantId tenant, const Load& load, std::int64_t sign,
                       std::int64_t jobs);
    void charge_models(QueueId queue, const PodRow& pod, std::int64_t sign);
    void charge_pods_of(const NodeRow& node, std::int64_t sign);
    void sum_up_models();
    void change_account(Account& account, const Load& load, std::int64_t sign);
    void recharge(JobRow& job, PoolId pool, QueueId queue, std::int32_t priority);
    void leave_job(PodId id);
    void join_job(PodId id);
    void give_up_assumption(PodId id);
    void rejoin(std::vector<std::string> uids);  // pods whose job may be another one now

    // jobs
    JobId job_named(const ObjectKey& key, Instant submitted_at);  // also one that was summarized
    JobId make_job(const ObjectKey& key, Instant submitted_at);
    void drop_job_if_unused(JobId id);
    void drop_job(JobId id);
    void resolve(JobRow& job);
    void resolve_all();
    void mark_dirty(JobId id);
    void mark_all_dirty();
    void leave_queue(JobId id);
    void enter_queue(JobId id, const Readiness& ready);
    Ask ask_of(const JobRow& job, const Readiness& ready) const;
    void add_anchors(const JobRow& job, const Readiness& ready, Ask& ask) const;
    void set_timer(JobId id);
    void ring_timers();
    void send_workload(JobId id, EffectList& effects);
    void send_due_workloads(EffectList& effects);
    void send_later(const JobRow& job) { unsent_.insert(job.key); }
    void send_eviction(PodId id, EffectList& effects);
    [[nodiscard]] std::string why_evicted(const JobRow& beneficiary, EvictionCause cause) const;
    void spare(PodRow& pod, Duration length);
    void note_claim_outcome(PodRow& pod, JobId beneficiary, EvictResult result);
    void postpone(JobRow& beneficiary, JobId id);
    // churn.cpp
    void request_eviction(PodId id, EvictionCause cause, std::string why);
    static void withdraw_eviction(PodRow& pod);
    void charge_eviction(PodId id);
    void take_vacancy(PodId id);
    void forget_old_moves();
    void note_going(PodId id);
    void note_rolled_back(PodId id);
    void note_victim(QueueId queue);
    void note_longer(const PodRow& pod);
    void note_loan(PoolId pool);
    void note_leaving(PodId id);
    void note_stranded(JobId id, const Readiness& ready);
    void keep_whole_again(const JobRow& job);
    void look_at_claims();
    void note_ends_of_protection();
    void set_leaves_at(PodId id, Instant at);  // never: it stays
    [[nodiscard]] StoppablePod stoppable_row(PodId id) const;
    void list_stoppable(PodId id, bool is_there);
    void renew_stoppable(PodId id);
    void relist_stoppable();
    // maintenance (maintenance.cpp)
    void take_windows();
    void place_in_windows(NodeId id);
    void turn_calendar();
    void note_stop(NodeId node, const PodRow& pod);
    void forget_postponed_drains();
    void note_drain_outcome(PodRow& pod, EvictResult result);
    void take_budgets();  // budget_book.cpp, as the next two
    void turn_budgets();
    void note_other_end(const PodRow& pod, Instant end);
    void note_room_in_limits(const JobRow& job);
    // sizes of elastic jobs (sizes.cpp)
    void begin_size(JobId id);
    void note_size(JobId id, std::int64_t replicas);
    void settle_size(JobId id, EffectList& effects);
    void send_resize(JobId id, EffectList& effects);
    [[nodiscard]] static Instant next_size_change(const JobRow& job);
    void shrink(const std::vector<Victim>& victims, const std::string& why, EffectList& effects);
    void keep_size(JobId id);
    void mark_surplus(const JobRow& job);
    void mark_surplus(PodId id);
    void disappoint_claims(const JobRow& job);
    void disappoint(const PodRow& victim);
    void offer_surplus(JobRow& job);

    // rounds (rounds.cpp)
    void send_bind(PodId id, const JobRow& job, EffectList& effects);
    struct Round;  // what is left of a job's last round, counted
    Round count_round(const JobRow& job, const GangSize& size) const;
    void settle_round(JobId id, EffectList& effects);
    void settle_gang(JobId id, EffectList& effects);
    void settle_unsure(JobId id, EffectList& effects);
    [[nodiscard]] bool is_unsure(const PodRow& pod) const;
    [[nodiscard]] bool still_fits(const PodRow& pod) const;
    void wait_until_sure(JobRow& job, const PodRow& pod) const;
    void drop_unfit_members(JobId id);
    void retry_members(JobId id, EffectList& effects);
    void roll_back_gang(JobId id, EffectList& effects);
    void back_off(JobRow& job);
    void set_bar(PodRow& row, PodBar bar);
    void lift_refusals(JobRow& job);
    void find_end_of_refusal(JobRow& job) const;
    [[nodiscard]] bool can_roll_back(const JobRow& job) const;
    void report_started(JobId id, EffectList& effects);
    [[nodiscard]] std::vector<UsageImage> usage_image() const;
    void restore_usage(const std::vector<UsageImage>& images);
    void restore_jobs(const std::vector<JobImage>& images);
    Result<bool> restore_run_times(const StateImage& image);

    // run times
    void note_end(PodId id);
    void note_run(PodId id);
    [[nodiscard]] Instant began(const JobRow& job) const;  // its run; never: it does not
    [[nodiscard]] Duration done_before(const JobRow& job, Instant begin) const;  // of its run
    PoolId note_work(JobId job);
    void recount_work();
    [[nodiscard]] RunSoFar run_so_far(const JobRow& job) const;
    void note_pace(JobId id);  // pace.cpp
    [[nodiscard]] Duration work_done(const JobRow& job) const;

    // queue tree and usage (queue_tree.cpp, usage_clock.cpp)
    void rebuild_tree();
    void link_queues();
    void sum_up(QueueId queue);
    void note_usage(Account& account);
    void start_usage_clock(Duration half_life_before);
    void finish_ticks();
    void refresh_shares();
    void offer_to_pool(PoolId pool, const NodeFacts& node, std::int64_t sign);
    template <typename Visit>
    void visit_accounts(Visit visit);  // with the pool of each

    // policy
    [[nodiscard]] std::uint64_t revision(const ClassKey& key, std::uint16_t watch) const;
    PoolId pool_named(std::string_view name);
    QueueId queue_named(PoolId pool, std::string_view name);
    TenantId tenant_named(std::string_view name);
    static void apply_queue_policy(QueueRow& row, const QueuePolicy& asked);
    void apply_tenant_policy(TenantRow& row) const;
    void take_policy(Policy policy);
    void forget_eligibility();
    EffectId next_effect() { return EffectId{next_effect_++}; }

    Instant now_;                                                 // of the last event
    mutable Instant looked_at_;                                   // since then
    bool leading_ = false, synced_ = false, resend_due_ = false;  // what an earlier epoch sent
    bool idle_ = true, unfinished_ = false;  // idle: the last Plan tried all, nothing changed since
    Epoch epoch_{};
    std::uint64_t next_effect_ = 1, next_arrival_ = 1;
    Instant wake_requested_, look_again_next_;  // look again: the earliest of all queues
    Policy policy_;
    std::int64_t usage_tick_ = 0;  // the one that `now_` lies in
    Calendar calendar_;
    BudgetBook budgets_;
    Outside outside_;
    Capacity capacity_;
    ShapeTable shapes_;
    QueueBook book_;
    std::vector<NodeRow> nodes_;
    std::set<std::uint32_t> node_slots_vacant_;  // the lowest is used first
    ByName<NodeId> node_ids_;
    std::vector<PodRow> pods_;
    std::vector<PodId> pods_vacant_;
    TextMap<PodId> pod_ids_;
    std::map<ObjectKey, PodId> pod_keys_;
    StateChanges changes_;
    std::vector<JobRow> jobs_;
    std::vector<JobId> jobs_vacant_, dirty_, maybe_ended_;  // the last: in this input
    FinishedJobs finished_jobs_;
    std::set<ObjectKey> unsent_;  // jobs whose workload waits to be written or deleted
    std::map<ObjectKey, JobId> job_ids_;
    // Timers come and go with every gang: their memory is kept and used again.
    std::unique_ptr<std::pmr::unsynchronized_pool_resource> timer_memory_ =
        std::make_unique<std::pmr::unsynchronized_pool_resource>();
    std::pmr::set<std::tuple<Instant, std::uint64_t, JobId>> timers_{timer_memory_.get()};
    Ends ends_{timer_memory_.get()};
    RunTimeHistory history_;
    std::map<ObjectKey, GangSize> gang_sizes_;       // from PodGroup objects
    std::map<ObjectKey, FinishedRanks> finished_;    // of jobs without pods, for an hour
    std::vector<JobId> claims_, work_stale_;         // hold one; may have more or less work now
    std::set<PodId> maybe_leaving_;                  // that hold; all that are, and some more
    std::set<std::pair<Instant, PodId>> late_next_;  // that leave and are not stuck yet
    std::set<Arrived> elastic_jobs_, stranded_gangs_;
    std::map<ObjectKey, Churn> churn_;  // of jobs moved within the last hour
    PoolWork work_;
    bool counts_work_ = false;  // a pool asks for it
    std::vector<PoolRow> pools_;
    ByName<PoolId> pool_ids_;
    std::vector<QueueRow> queues_;
    std::map<std::pair<PoolId, std::string>, QueueId> queue_ids_;
    std::vector<TenantRow> tenants_;
    TextMap<TenantId> tenant_ids_;
    OutcomeFigures outcomes_;
    std::vector<Transaction::Entry> check_log_;  // buffers
    std::vector<std::uint32_t> eligibility_log_;
    std::uint64_t eligibility_epoch_ = 1;
};

}  // namespace gpuctl
