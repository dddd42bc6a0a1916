#pragma once
// The reference model of the cluster: facts as the inputs report them, and binds as the effects
// order them, in plain maps. Every figure is a sum over all pods. It shares no sum, filter or index
// with the engine, so that a mistake there is not repeated here. What no effect reports is read
// from the state: nominations, until when pods hold, how long a job will stay
// (Maintenance::stay_of).
//
// It assumes what the swarm draws: one GPU resource, equal pods within a job, and placement rules
// of the forms that sim/pod_factory.cpp makes.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/model/event.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "sim/device_count.hpp"

namespace gpuctl::sim {

struct Amounts {
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::int64_t slots = 0;
    std::int64_t gpus = 0;        // thousandths
    std::vector<HostPort> ports;  // of one pod; ports are not added up
    void add(const Amounts& other, std::int64_t times = 1);
};
Amounts amounts_of(const Resources& resources);

struct ReferencePod {
    PodFacts facts;
    std::string bind_node;                 // of our bind, until it is known to have failed
    std::int32_t bind_device = kNoDevice;  // of our bind, for a fraction of a GPU
    EffectId effect{};                     // of the last bind
    bool open = false;                     // the last bind has no answer yet
    bool abandoned = false;                // answers to the last bind no longer count
    Instant deadline;                      // of the last bind
    Instant lands_until;                   // an earlier, unanswered bind may still land until then
    Instant leaves_at;                     // end of the grace period of a terminating pod
    bool reserved = false;       // its bind failed; the engine may keep the capacity for a retry
    bool deleting = false;       // our DeletePod is in flight
    std::string nominated_node;  // capacity there is earmarked for the pod ...
    std::int32_t nominated_device = kNoDevice;  // ... on this device, for a fraction of a GPU ...
    Instant nominated_until;                    // ... until this time at the latest
    bool evicting = false;                      // it is being evicted for another job
    bool surplus = false;                       // its elastic job releases this rank
    bool is_seat = false;                       // no pod: room that a paused job keeps
    [[nodiscard]] const std::string& where() const {
        if (!facts.node.empty()) return facts.node;
        return bind_node.empty() ? nominated_node : bind_node;
    }
    [[nodiscard]] bool is_bound() const { return !facts.node.empty() || !bind_node.empty(); }
    [[nodiscard]] std::int32_t device() const {
        if (!facts.node.empty()) return facts.gpu_device;
        return bind_node.empty() ? nominated_device : bind_device;
    }
    [[nodiscard]] bool holds() const { return !is_terminal(facts.phase) && !where().empty(); }
    [[nodiscard]] bool stays() const {
        return holds() && is_bound() && !facts.terminating && !deleting && !evicting;
    }
};

struct QueueName {
    std::string pool;
    std::string queue;
    friend auto operator<=>(const QueueName&, const QueueName&) = default;
};

struct Gang {
    std::int64_t size = 0;   // 0: not a gang
    std::int64_t held = 0;   // ranks that stay or succeeded
    std::int64_t bound = 0;  // ranks that stay, without an open bind
    std::int64_t succeeded = 0;
    std::int32_t rank_last = -1;  // the highest held rank
    std::map<std::string, std::int64_t> minimum_of_role;
    std::map<std::string, std::int64_t> held_of;  // ranks by role

    void hold(const std::string& role) {
        ++held;
        ++held_of[role];
    }
    [[nodiscard]] bool is_whole() const {
        for (const auto& [role, ranks] : minimum_of_role) {
            const auto has = held_of.find(role);
            if (has == held_of.end() || has->second < ranks) return false;
        }
        return held >= size;
    }
};

class ReferenceModel {
public:
    // `after` is the engine after this input. It is read only for decisions that no input reports:
    // kept capacity of failed binds, nominations, evictions.
    void apply(const Input& input, const ClusterState& after);
    void record_bind(const BindPod& bind);
    // Removes the pods of a finished job of which only a summary is kept.
    void drop(const DropDetails& finished);
    // Reads nominations and evictions from the engine. `only_old`: only those that existed before
    // this input.
    void read_nominations(const ClusterState& after, bool only_old);
    [[nodiscard]] const std::string& nominated_before(const std::string& uid) const;

    [[nodiscard]] Amounts used_on(const std::string& node) const;
    // Free for our own pods; may be negative.
    [[nodiscard]] Amounts free_on(const NodeFacts& node) const;
    [[nodiscard]] Amounts free_when_empty(const NodeFacts& node) const;
    [[nodiscard]] DeviceCount devices_on(const std::string& node) const;
    // True if a pod on the node other than `but` listens at one of these ports.
    [[nodiscard]] bool is_port_taken(const std::string& node, const std::vector<HostPort>& ports,
                                     const std::string& but = "") const;
    // The number of further pods with this request that fit on the node; at most `enough`.
    [[nodiscard]] std::int64_t fitting(const NodeFacts& node, const Amounts& request,
                                       std::int64_t enough, bool when_empty = false) const;
    [[nodiscard]] static bool may_use(const PlacementRules& rules, const NodeFacts& node);
    // True if the pod may use the node, also with respect to maintenance windows
    // (reference_maintenance.cpp).
    [[nodiscard]] bool admits(const NodeFacts& node, const PodFacts& pod) const {
        return may_use(pod.rules, node) && is_open(node, pod);
    }
    [[nodiscard]] bool is_open(const NodeFacts& node, const PodFacts& pod) const;
    // True if this window alone closes the node for the pod.
    [[nodiscard]] bool bars(const MaintenanceWindow& window, const NodeFacts& node,
                            const PodFacts& pod) const;
    // True if the pod must be drained from its node now. `ends`: its end by its run-time limit, or
    // never.
    [[nodiscard]] bool must_be_drained(const NodeFacts& node, const PodFacts& pod,
                                       Instant ends) const;
    // True if the window is a reservation for the pod's queue, a queue above it, or its namespace.
    [[nodiscard]] bool is_for(const MaintenanceWindow& window, const PodFacts& pod) const;
    // End times of current and future windows.
    [[nodiscard]] std::set<Instant> openings() const;
    [[nodiscard]] QueueName queue_of(const PodFacts& pod) const;
    // Null, or one without limits: the policy does not list the queue.
    [[nodiscard]] const QueuePolicy* policy_of(const QueueName& queue) const;
    [[nodiscard]] const QueuePolicy& policy_or_default(const QueueName& queue) const;
    [[nodiscard]] BackfillPolicy backfill_of(const std::string& pool) const;
    [[nodiscard]] PreemptionPolicy preemption_of(const std::string& pool) const;
    [[nodiscard]] const TenantPolicy* tenant(const std::string& name) const;
    [[nodiscard]] Amounts held_by(const std::string& tenant) const;
    // The queue tree (reference_queues.cpp). chain(): the queue and its ancestors.
    [[nodiscard]] std::vector<QueueName> chain(const QueueName& queue) const;
    [[nodiscard]] bool exists(const QueueName& queue) const;
    [[nodiscard]] bool has_sub_queues(const QueueName& queue) const;
    [[nodiscard]] Amounts held_below(const QueueName& queue) const;
    // nominated GPUs of the queue and its sub-queues
    [[nodiscard]] std::int64_t nominated_below(const QueueName& queue) const;
    [[nodiscard]] std::int64_t guaranteed(const QueueName& queue) const;
    [[nodiscard]] std::optional<std::int64_t> cap(const QueueName& queue) const;
    // Whether capacity that is only nominated counts as held.
    enum class Nominations : std::uint8_t { counted, left_out };
    // GPUs held in each queue of one pool, without its sub-queues.
    using HeldGpus = std::map<std::string, std::int64_t>;
    [[nodiscard]] HeldGpus held_by_queue(const std::string& pool, Nominations nominations) const;
    // GPUs that no other queue can have if `more` were held in the queue `in`: GPUs that are held,
    // and GPUs that sub-queues do not lend. gpus_reserved() adds what the queue itself does not
    // lend. An empty queue name means the whole pool.
    [[nodiscard]] std::int64_t gpus_reserved_below(const QueueName& queue, const QueueName& in,
                                                   std::int64_t more, const HeldGpus& held) const;
    [[nodiscard]] std::int64_t gpus_reserved(const QueueName& queue, const QueueName& in,
                                             std::int64_t more, const HeldGpus& held) const;
    [[nodiscard]] std::int64_t held_of_model(const QueueName& queue, const std::string& model,
                                             Nominations nominations = Nominations::counted) const;
    // GPU models of which some queue of the pool does not lend everything.
    [[nodiscard]] std::set<std::string> models_reserved(const std::string& pool) const;
    // Use of a GPU model in a pool: GPUs that are held, GPUs that queues reserve beyond that, and
    // by how much the sum would grow (`needed`) if `more` were held in `in`.
    struct ModelUse {
        std::int64_t offered = 0;
        std::int64_t held = 0;
        std::int64_t reserved = 0;
        std::int64_t needed = 0;
        bool is_reserved = false;  // some is reserved, even without the nominations
    };
    [[nodiscard]] ModelUse model_use(const QueueName& in, const std::string& model,
                                     std::int64_t more) const;
    [[nodiscard]] std::int64_t reserved_of_model(const QueueName& queue, const std::string& model,
                                                 const QueueName& in, std::int64_t more,
                                                 Nominations nominations) const;
    // True if `gpus` more of the pod's job may be on nodes of this model.
    [[nodiscard]] bool model_allowed(const PodFacts& pod, std::int64_t gpus,
                                     const std::string& model) const;
    [[nodiscard]] std::int64_t gpus_of_job(const ObjectKey& job) const;
    [[nodiscard]] std::int64_t pods_held(const ObjectKey& job) const;
    [[nodiscard]] bool keeps_room(const ObjectKey& job) const;  // it is paused or being resumed
    // It kept room there before this input.
    [[nodiscard]] bool kept_room_on(const ObjectKey& job, const std::string& node) const {
        return seats_before_.contains({job, node});
    }
    [[nodiscard]] std::int64_t jobs_held(const QueueName& queue) const;
    [[nodiscard]] std::int64_t held_in_pool(const std::string& tenant,
                                            const std::string& pool) const;
    [[nodiscard]] Amounts offered(const std::string& pool) const;
    // empty queue: the order of the pool
    [[nodiscard]] QueueOrder order_of(const QueueName& queue) const;
    [[nodiscard]] std::int64_t aged(std::int32_t priority, Instant since) const;
    // Dominant share in parts per billion of `held` and the decayed past usage.
    [[nodiscard]] std::int64_t share(const QueueName& queue, const std::string& tenant,
                                     const Amounts& held) const;
    // Breaks ties between equal shares: the share held in the current usage tick.
    [[nodiscard]] std::int64_t share_in_this_tick(const QueueName& queue,
                                                  const std::string& tenant) const;
    // Budgets of GPU time (reference_budgets.cpp), by queue, or by namespace within a pool; in the
    // second case the queue's name is empty.
    using Payer = std::pair<QueueName, std::string>;
    struct BudgetCount {
        Instant end;  // of the period
        std::int64_t limit = 0;
        std::int64_t used = 0;
        std::int64_t committed = 0;
    };
    [[nodiscard]] static std::map<Payer, BudgetPolicy> budgets_in(const Policy& policy);
    [[nodiscard]] std::map<Payer, BudgetPolicy> budgets() const { return budgets_in(policy); }
    [[nodiscard]] bool draws_on(const PodFacts& pod, const Payer& payer) const;
    [[nodiscard]] std::optional<BudgetCount> count_budget(const Payer& payer) const;
    [[nodiscard]] std::int64_t needed_of(const BudgetCount& budget, const PodFacts& pod,
                                         std::int64_t gpus) const;
    [[nodiscard]] std::string budget_crossed(const PodFacts& pod, std::int64_t gpus) const;
    // The reserve of a pool for jobs that grow with demand: whether the pod's job may use it, and
    // whether `gpus` more would take GPUs from it.
    [[nodiscard]] bool would_grow(const PodFacts& pod) const;
    [[nodiscard]] bool has_reserve(const std::string& pool) const;
    // Counts the pod as holding its request, on some node.
    void assume_held(const std::string& uid) {
        ReferencePod& pod = pods.at(uid);
        if (!would_grow(pod.facts)) growing_.erase(uid);
        pod.bind_node = nodes.begin()->first;
    }
    [[nodiscard]] bool reserve_crossed(const PodFacts& pod, std::int64_t gpus) const;
    // The limit that `more` would exceed; empty: no limit. Budgets are not checked again for pods
    // that were nominated before.
    [[nodiscard]] std::string limit_crossed(const PodFacts& pod, const Amounts& more,
                                            LetIn let_in = LetIn::now) const;
    [[nodiscard]] Gang gang_of(const ObjectKey& job) const;
    // The number of `pods` pods like this one that fit in its pool now, or with all nodes empty.
    enum class TopologyMode : std::uint8_t { required, ignored };
    [[nodiscard]] std::int64_t fitting_in_pool(
        const PodFacts& pod, std::int64_t pods, bool when_empty = false,
        TopologyMode topology_mode = TopologyMode::required) const;
    // The same, counted only on nodes whose GPU model may hold all of them.
    [[nodiscard]] std::int64_t fitting_in_models(const PodFacts& pod, std::int64_t pods,
                                                 bool when_empty = false) const;

    // Domains of a topology level in which pods of the job stay.
    [[nodiscard]] std::set<std::string> domains_of(const ObjectKey& job, TopologyLevel level,
                                                   const std::set<std::string>& but = {}) const;
    // Pods that fit, by topology domain (reference_topology.cpp).
    [[nodiscard]] std::map<std::string, std::int64_t> fitting_by_domain(
        const PodFacts& pod, std::int64_t pods, bool when_empty,
        const std::vector<const NodeFacts*>& on) const;

    // Pods that fit on these nodes in the best domain. fitting_on_one_model() also keeps a gang on
    // one GPU model (reference_gpu_models.cpp).
    [[nodiscard]] std::int64_t fitting_on(const PodFacts& pod, std::int64_t pods, bool when_empty,
                                          const std::vector<const NodeFacts*>& on) const;
    [[nodiscard]] std::int64_t fitting_on_one_model(const PodFacts& pod, std::int64_t pods,
                                                    bool when_empty,
                                                    const std::vector<const NodeFacts*>& on) const;
    // GPU models that the pod accepts and whose nodes have staying pods of the job.
    [[nodiscard]] std::set<std::string> models_of_job(const PodFacts& pod,
                                                      const std::set<std::string>& but = {}) const;

    // For windows: pods that are tried start at most this much later than now.
    Duration starts_within;
    std::map<std::string, NodeFacts> nodes;
    std::map<std::string, ReferencePod> pods;         // by uid
    std::map<ObjectKey, std::set<std::string>> jobs;  // uids
    // Estimated run times of jobs without a limit, read from the engine.
    std::map<ObjectKey, Duration> estimates;
    Policy policy;
    bool leading = false;
    bool synced = false;
    Epoch epoch{};
    Instant now;
    std::uint64_t answers_stale = 0;
    // Binds of an earlier term that landed after their capacity had been released.
    std::uint64_t binds_landed_late = 0;

private:
    [[nodiscard]] std::string queue_limit_crossed(const PodFacts& pod, const Amounts& more) const;
    // Decayed usage (ADR 0011) by queue and tenant; tenant "": the whole queue.
    struct Used {
        std::int64_t mean[3] = {};
        std::int64_t sum[3] = {};
    };
    void advance_time(Instant until);
    struct Spent {
        Instant begin;  // of the period
        std::int64_t used = 0;
        std::int64_t carried = 0;
    };
    std::map<Payer, Spent> spent_;
    // When a pod's capacity is released by its run-time limit, or never; read from the engine.
    std::map<std::string, Instant> ends_;
    // Services, minimum ranks of elastic jobs, and pods that started as one of these; from the
    // engine's job records.
    std::set<ObjectKey> services_;
    std::map<ObjectKey, std::int64_t> elastic_;
    std::set<std::string> growing_;
    void read_growing(const ClusterState& after);
    void read_seats(const ClusterState& after);
    void spend(Instant until);
    void change_budgets(const std::map<Payer, BudgetPolicy>& before);
    void change_half_life(Duration before);
    std::map<std::pair<QueueName, std::string>, Used> used_;

    void observe(const PodFacts& facts);
    void forget(const std::string& uid);
    void answer(const BindOutcome& outcome);
    void mark_out_of_date(const ClusterState& after);
    void release_reservations(const ClusterState& after);
    std::set<std::string> reserved_;
    std::set<std::pair<ObjectKey, std::string>> seats_before_;  // their jobs and nodes
    std::map<std::string, std::string> nominated_before_;       // node by uid, before this input
    std::set<std::string> evicting_;
    std::set<std::string> dropped_;  // uids of pods of summarized jobs
};

ObjectKey job_of(const PodFacts& pod);

// The node's topology domain. As in the engine: a node without a host label is a host of its own.
std::string domain_of(const NodeFacts& node, TopologyLevel level);

}  // namespace gpuctl::sim
