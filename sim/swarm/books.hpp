#pragma once
// The world counted by hand: facts as the inputs told them, promises as the effects made them,
// plain maps, sums over everything. It shares no arithmetic, filter or index with the engine, so
// that a mistake in one of those does not hide itself.
//
// Assumes what the swarm draws: one GPU resource, pods of a job alike, rules of the forms that
// sim/pod_factory.cpp makes.

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
    std::vector<HostPort> ports;  // of one pod; not added up
    void add(const Amounts& other, std::int64_t times = 1);
};
Amounts amounts_of(const Resources& resources);

struct BookedPod {
    PodFacts facts;
    std::string promised;                      // node of our bind, until it is known not to be
    std::int32_t promised_device = kNoDevice;  // and the device there, for a part of a GPU
    EffectId effect{};                         // of the bind sent last
    bool open = false;                         // its answer has not come
    bool given_up = false;                     // nothing is heard of it but that it landed
    Instant deadline;                          // of the bind sent last
    Instant lands_until;    // a bind before it, never answered, may land until then
    Instant leaves_at;      // it is terminating: when its grace is over
    bool reserved = false;  // it failed, and the engine may keep the room to try again
    bool deleting = false;  // a DeletePod of ours is under way
    std::string claimed;    // node where room is kept for it ...
    std::int32_t claimed_device = kNoDevice;  // ... for a part of a GPU on this one ...
    Instant claimed_until;                    // ... at the latest
    bool evicting = false;                    // it is being stopped for the sake of others
    bool surplus = false;  // as a rank that its job, which goes on, is to have no more
    [[nodiscard]] const std::string& where() const {
        if (!facts.node.empty()) return facts.node;
        return promised.empty() ? claimed : promised;
    }
    [[nodiscard]] bool is_bound() const { return !facts.node.empty() || !promised.empty(); }
    [[nodiscard]] std::int32_t device() const {
        if (!facts.node.empty()) return facts.gpu_device;
        return promised.empty() ? claimed_device : promised_device;
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
    std::int64_t size = 0;   // 0: no gang
    std::int64_t held = 0;   // stay or succeeded
    std::int64_t bound = 0;  // stay, without an open bind
    std::int64_t succeeded = 0;
    std::int32_t rank_last = -1;                // the highest that is held
    std::map<std::string, std::int64_t> least;  // of a role
    std::map<std::string, std::int64_t> held_of;

    void hold(const std::string& role) {
        ++held;
        ++held_of[role];
    }
    [[nodiscard]] bool is_whole() const {
        for (const auto& [role, ranks] : least) {
            const auto has = held_of.find(role);
            if (has == held_of.end() || has->second < ranks) return false;
        }
        return held >= size;
    }
};

class Books {
public:
    // `after`: the engine after this input; asked only whether it keeps the room of failed binds.
    void take(const Input& input, const ClusterState& after);
    void promise(const BindPod& bind);
    // A summary is kept of this finished job: its pods count for nothing any more.
    void drop(const DropDetails& finished);
    // Which room is kept for whom, and who is being stopped, is the engine's decision: it is read
    // there. `only_old`: what was claimed before and still is, nothing new.
    void read_claims(const ClusterState& after, bool only_old);
    [[nodiscard]] const std::string& claimed_before(const std::string& uid) const;

    [[nodiscard]] Amounts used_on(const std::string& node) const;
    // What is left for our own pods; may be negative.
    [[nodiscard]] Amounts room_on(const NodeFacts& node) const;
    [[nodiscard]] Amounts room_when_empty(const NodeFacts& node) const;
    [[nodiscard]] DeviceCount devices_on(const std::string& node) const;
    // A pod there, but for the one of this uid, listens at one of these ports.
    [[nodiscard]] bool is_port_taken(const std::string& node, const std::vector<HostPort>& ports,
                                     const std::string& but = "") const;
    // So many pods with this request fit on the node beside what is there; at most `enough`.
    [[nodiscard]] std::int64_t fitting(const NodeFacts& node, const Amounts& request,
                                       std::int64_t enough, bool when_empty = false) const;
    [[nodiscard]] static bool may_use(const PlacementRules& rules, const NodeFacts& node);
    // The same with maintenance (books_maintenance.cpp): not in a window, nor into one that it is
    // not over by, unless it is stopped for that.
    [[nodiscard]] bool admits(const NodeFacts& node, const PodFacts& pod) const {
        return may_use(pod.rules, node) && is_open(node, pod);
    }
    [[nodiscard]] bool is_open(const NodeFacts& node, const PodFacts& pod) const;
    // By this window alone it is not open.
    [[nodiscard]] bool bars(const MaintenanceWindow& window, const NodeFacts& node,
                            const PodFacts& pod) const;
    // It is to leave its node now, and may be stopped for that. `ends`: by its limit, or never.
    [[nodiscard]] bool is_to_leave(const NodeFacts& node, const PodFacts& pod, Instant ends) const;
    // The window is a reservation for the pod's queue, one above it, or its namespace.
    [[nodiscard]] bool is_for(const MaintenanceWindow& window, const PodFacts& pod) const;
    // When the windows end that have not ended yet.
    [[nodiscard]] std::set<Instant> openings() const;
    [[nodiscard]] QueueName queue_of(const PodFacts& pod) const;
    [[nodiscard]] const QueuePolicy* policy_of(const QueueName& queue) const;
    [[nodiscard]] BackfillPolicy backfill_of(const std::string& pool) const;
    [[nodiscard]] PreemptionPolicy preemption_of(const std::string& pool) const;
    [[nodiscard]] const TenantPolicy* tenant(const std::string& name) const;
    [[nodiscard]] Amounts held_by(const std::string& tenant) const;
    // The tree (books_queues.cpp). A queue and those above it; `held` with all below it.
    [[nodiscard]] std::vector<QueueName> chain(const QueueName& queue) const;
    [[nodiscard]] bool exists(const QueueName& queue) const;
    [[nodiscard]] bool has_sub_queues(const QueueName& queue) const;
    [[nodiscard]] Amounts held_below(const QueueName& queue) const;
    [[nodiscard]] std::int64_t claimed_below(const QueueName& queue) const;  // of these, GPUs
    [[nodiscard]] std::int64_t guaranteed(const QueueName& queue) const;
    [[nodiscard]] std::optional<std::int64_t> cap(const QueueName& queue) const;
    // GPUs that nobody else can have: of a queue, or (no queue named) of a pool's queues together;
    // were `more` held in the queue `in`.
    enum class Claims : std::uint8_t { counted, left_out };
    // By queue of one pool, in it itself.
    using HeldGpus = std::map<std::string, std::int64_t>;
    [[nodiscard]] HeldGpus held_by_queue(const std::string& pool, Claims claims) const;
    // With what those below it keep back; and with its own.
    [[nodiscard]] std::int64_t taken(const QueueName& queue, const QueueName& in, std::int64_t more,
                                     const HeldGpus& held) const;
    [[nodiscard]] std::int64_t kept(const QueueName& queue, const QueueName& in, std::int64_t more,
                                    const HeldGpus& held) const;
    [[nodiscard]] std::int64_t held_of_model(const QueueName& queue, const std::string& model,
                                             Claims claims = Claims::counted) const;
    // Models that some queue of the pool keeps back.
    [[nodiscard]] std::set<std::string> models_kept(const std::string& pool) const;
    // What is held of a model in a pool, what its queues keep of it besides, and by how much both
    // would grow were `more` held in `in`.
    struct ModelLent {
        std::int64_t offered = 0;
        std::int64_t held = 0;
        std::int64_t kept = 0;
        std::int64_t needed = 0;
        bool is_kept = false;  // some is, were claims to come to nothing
    };
    [[nodiscard]] ModelLent model_lent(const QueueName& in, const std::string& model,
                                       std::int64_t more) const;
    [[nodiscard]] std::int64_t kept_of_model(const QueueName& queue, const std::string& model,
                                             const QueueName& in, std::int64_t more,
                                             Claims claims) const;
    // May `gpus` more of the pod's job go to nodes of this model?
    [[nodiscard]] bool model_allowed(const PodFacts& pod, std::int64_t gpus,
                                     const std::string& model) const;
    [[nodiscard]] std::int64_t gpus_of_job(const ObjectKey& job) const;
    [[nodiscard]] std::int64_t pods_held(const ObjectKey& job) const;
    [[nodiscard]] std::int64_t jobs_held(const QueueName& queue) const;
    [[nodiscard]] std::int64_t held_in_pool(const std::string& tenant,
                                            const std::string& pool) const;
    [[nodiscard]] Amounts offered(const std::string& pool) const;
    [[nodiscard]] QueueOrder order_of(const QueueName& queue) const;  // no queue: of the pool
    [[nodiscard]] std::int64_t aged(std::int32_t priority, Instant since) const;
    // Dominant share in parts per billion of holding so much, with what was used before.
    [[nodiscard]] std::int64_t share(const QueueName& queue, const std::string& tenant,
                                     const Amounts& held) const;
    // Of equal shares: of what was held in the tick of usage that is under way.
    [[nodiscard]] std::int64_t share_lately(const QueueName& queue,
                                            const std::string& tenant) const;
    // Budgets of GPU time (books_budgets.cpp): of a queue, or of a namespace in a pool, whose queue
    // is "" then.
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
    // Of a pool's GPUs, whether more of the pod's job may be held in its reserve; and what would be
    // beyond what is left to the others.
    [[nodiscard]] bool would_grow(const PodFacts& pod) const;
    [[nodiscard]] bool has_reserve(const std::string& pool) const;
    // As if it held what it asks for, on some node.
    void suppose_held(const std::string& uid) {
        BookedPod& pod = pods.at(uid);
        if (!would_grow(pod.facts)) growing_.erase(uid);
        pod.promised = nodes.begin()->first;
    }
    [[nodiscard]] bool reserve_crossed(const PodFacts& pod, std::int64_t gpus) const;
    // The limit that `more` on top of what is held would cross; empty: none.
    // What was claimed before was let in by budgets then: they are not asked again.
    [[nodiscard]] std::string limit_crossed(const PodFacts& pod, const Amounts& more,
                                            LetIn let_in = LetIn::now) const;
    [[nodiscard]] Gang gang_of(const ObjectKey& job) const;
    // So many of `pods` pods like this one find room in its pool now (or with all nodes empty),
    // together and apart as they ask, or wherever that is.
    enum class Heed : std::uint8_t { topology, nothing };
    [[nodiscard]] std::int64_t fitting_in_pool(const PodFacts& pod, std::int64_t pods,
                                               bool when_empty = false,
                                               Heed heed = Heed::topology) const;
    // The same on the nodes whose models may take all of them.
    [[nodiscard]] std::int64_t fitting_in_models(const PodFacts& pod, std::int64_t pods,
                                                 bool when_empty = false) const;

    // Names of the domains of a level where pods of the job are that stay.
    [[nodiscard]] std::set<std::string> domains_of(const ObjectKey& job, TopologyLevel level,
                                                   const std::set<std::string>& but = {}) const;
    // So many find room in the best domain that they may be in (books_topology.cpp).
    [[nodiscard]] std::map<std::string, std::int64_t> fitting_by_domain(
        const PodFacts& pod, std::int64_t pods, bool when_empty,
        const std::vector<const NodeFacts*>& on) const;

    // So many find room on these nodes, in the best domain; of a gang that takes several GPU
    // models, on one of them, and on one of those that its others are on (books_models.cpp).
    [[nodiscard]] std::int64_t fitting_on(const PodFacts& pod, std::int64_t pods, bool when_empty,
                                          const std::vector<const NodeFacts*>& on) const;
    [[nodiscard]] std::int64_t fitting_on_one_model(const PodFacts& pod, std::int64_t pods,
                                                    bool when_empty,
                                                    const std::vector<const NodeFacts*>& on) const;
    // Of those that the pod takes, the ones that pods of its job are on that stay.
    [[nodiscard]] std::set<std::string> models_beside(const PodFacts& pod,
                                                      const std::set<std::string>& but = {}) const;

    // Of windows: what is tried may begin as much later as this.
    Duration begins_within;
    std::map<std::string, NodeFacts> nodes;
    std::map<std::string, BookedPod> pods;            // by uid
    std::map<ObjectKey, std::set<std::string>> jobs;  // uids
    // How long jobs without a limit are thought to take: the engine's word.
    std::map<ObjectKey, Duration> guesses;
    Policy policy;
    bool leading = false;
    bool synced = false;
    Epoch epoch{};
    Instant now;
    std::uint64_t answers_stale = 0;
    // A bind of an earlier term reached the API server after its room had been given back.
    std::uint64_t binds_landed_late = 0;

private:
    [[nodiscard]] std::string queue_limit_crossed(const PodFacts& pod, const Amounts& more) const;
    // What was used, remembered as ADR 0011 says; by queue and tenant, "" for all of the queue.
    struct Used {
        std::int64_t mean[3] = {};
        std::int64_t sum[3] = {};
    };
    void pass_time(Instant until);
    struct Spent {
        Instant begin;  // of the period
        std::int64_t used = 0;
        std::int64_t carried = 0;
    };
    std::map<Payer, Spent> spent_;
    // When what a pod holds comes free by its limit, or never: the engine's word.
    std::map<std::string, Instant> ends_;
    // Jobs that are services, minimum of those that are elastic, pods that began to hold as one of
    // them: by the records that the engine has, or had then.
    std::set<ObjectKey> services_;
    std::map<ObjectKey, std::int64_t> elastic_;
    std::set<std::string> growing_;
    void read_growing(const ClusterState& after);
    void spend(Instant until);
    void change_budgets(const std::map<Payer, BudgetPolicy>& before);
    void change_half_life(Duration before);
    std::map<std::pair<QueueName, std::string>, Used> used_;

    void observe(const PodFacts& facts);
    void forget(const std::string& uid);
    void answer(const BindOutcome& outcome);
    void note_out_of_date(const ClusterState& after);
    void let_go_of_reservations(const ClusterState& after);
    std::set<std::string> reserved_;
    std::map<std::string, std::string> claimed_before_;  // node by uid, before this input
    std::set<std::string> evicting_;
    std::set<std::string> dropped_;  // uids of pods of jobs of which a summary is kept
};

ObjectKey job_of(const PodFacts& pod);

}  // namespace gpuctl::sim
