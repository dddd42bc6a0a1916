#pragma once
// The virtual cluster: nodes, the controllers that create the pods of jobs, and the kubelets that
// run them, under a clock and a seed that the caller passes in. It is gpuctld's default cluster in
// real time (daemon/embedded), and the world of simulation tests and replays under a virtual clock.
//
// Pure: no clock, thread, file or socket. The same calls give the same events on every machine.
// Time only moves forward; a call with an earlier time counts as "now". Due actions run in the
// order of their due times and carry these times, however late advance() is called. The cluster
// counts the use of nodes itself: a pod that does not fit fails as with a kubelet
// (OutOfnvidia.com/gpu), so that double booking by the scheduler is seen.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster_state.hpp"
#include "sim/input.hpp"
#include "sim/log_script.hpp"
#include "sim/world.hpp"

namespace gpuctl::sim {

// An event that users would read with `kubectl get events`; a repeat raises `count`.
struct UserEvent {
    std::string reason;  // FailedScheduling, Scheduled, Preempted
    std::string message;
    std::int64_t count = 1;
    Instant last_at;
};
BOOST_DESCRIBE_STRUCT(UserEvent, (), (reason, message, count, last_at))

struct ClusterFigures {
    std::uint64_t pods_created = 0;
    std::uint64_t binds_accepted = 0;
    std::uint64_t binds_turned_down = 0;  // conflict, gone, fault
    std::uint64_t binds_unanswered = 0;   // bound, but the answer comes much later
    std::uint64_t kubelet_rejections = 0;
    std::uint64_t containers_failed = 0;
    std::uint64_t pods_evicted = 0;
    std::uint64_t pods_deleted = 0;
    std::uint64_t evictions_accepted = 0;  // of evictions for other jobs
    std::uint64_t evictions_turned_down = 0;
    std::uint64_t workloads_grown = 0;
    std::uint64_t workloads_shrunk = 0;
    std::uint64_t resizes_turned_down = 0;
};
BOOST_DESCRIBE_STRUCT(ClusterFigures, (),
                      (pods_created, binds_accepted, binds_turned_down, binds_unanswered,
                       kubelet_rejections, containers_failed, pods_evicted, pods_deleted,
                       evictions_accepted, evictions_turned_down, workloads_grown, workloads_shrunk,
                       resizes_turned_down))

class Cluster {
public:
    explicit Cluster(Settings settings);

    // Applies the input. New events are appended to `out` in the order in which they happen.
    void apply(const SimInput& input, Instant now, std::vector<Event>& out);
    // Carries out the effect. A later advance() returns its outcome, after the API latency.
    void carry_out(const Effect& effect, Instant now, std::vector<Event>& out);
    void advance(Instant to, std::vector<Event>& out);
    [[nodiscard]] std::optional<Instant> next_due() const;

    // The node labels that name racks and other topology domains. Before any other call.
    void name_topology(TopologyKeys labels) { topology_labels_ = std::move(labels); }
    // Restores a world, once, before any other call. Nodes come from `nodes` (the current
    // configuration); of the world's nodes only the condition is kept (lost, cordoned) and the
    // labels that users have changed. Running containers have continued meanwhile; image pulls
    // start again.
    void restore(const World& world, const std::vector<NodeFacts>& nodes, Instant now);
    // Reports everything that exists, and the removal of objects that only `world` has.
    void announce(const World& world, std::vector<Event>& out) const;

    // The latest time of any call.
    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] const PodFacts* find_pod(const ObjectKey& key) const;
    [[nodiscard]] const NodeFacts* find_node(const std::string& name) const;
    [[nodiscard]] const Workload* find_workload(const ObjectKey& job) const;
    [[nodiscard]] bool node_answers(const std::string& name) const;
    // The log of the container; nullopt: there is no such pod, or its container has not started
    // yet.
    [[nodiscard]] std::optional<LogScript> log_of(const ObjectKey& key) const;
    [[nodiscard]] std::vector<UserEvent> events_of(const ObjectKey& job) const;
    [[nodiscard]] const ClusterFigures& figures() const { return figures_; }
    [[nodiscard]] std::size_t pods_count() const { return pods_.size(); }
    [[nodiscard]] std::size_t nodes_count() const { return nodes_.size(); }
    // A hash of everything that future events depend on.
    [[nodiscard]] std::uint64_t state_hash() const;

private:
    using Out = std::vector<Event>;

    // cluster_effects.cpp: the API server
    void deliver(const BindPod& effect, Instant now, Out& out);
    void deliver(const DeletePod& effect, Instant now, Out& out);
    void deliver(const EvictPod& effect, Instant now, Out& out);
    void deliver(const CreateWorkload& effect, Instant now, Out& out);
    void deliver(const DeleteWorkload& effect, Instant now, Out& out);
    void deliver(const ResizeWorkload& effect, Instant now, Out& out);
    void deliver(const UpdateWorkload& effect, Instant now, Out& out);
    void deliver(const ChangeNode& effect, Instant now, Out& out);
    void deliver(const ReportPending& effect, Instant now, Out& out);
    void deliver(const ReportStarted& effect, Instant now, Out& out);
    void deliver(const WakeAt& effect, Instant now, Out& out);
    void deliver(const DropDetails& effect, Instant now, Out& out);
    void record_user_event(const ObjectKey& job, std::string reason, std::string message,
                           Instant now);
    void bind(PodState& pod, const BindPod& effect, Instant now, Out& out);

    // cluster_workloads.cpp: the controllers
    void add_workload(const JobRecord& job);
    void sync_workload(const std::string& uid, Instant now, Out& out);
    void resize_training(Workload& workload, std::int32_t ranks, Instant now, Out& out);
    void stop_pods(const Workload& workload, Instant now, Out& out);
    void sync_training(Workload& workload, Instant now, Out& out);
    void finish_training(Workload& workload, Instant now, Out& out);
    void retire_training(Workload& workload, Instant now, Out& out);
    void sync_service(Workload& workload, Instant now, Out& out);
    void sync_notebook(Workload& workload, Instant now, Out& out);
    void create_pod(Workload& workload, std::int32_t ordinal, Instant now, Out& out);
    void delete_workload(const std::string& uid, bool force, Instant now, Out& out);
    void rank_failed(Workload& workload, bool ends_job, Instant now);

    // cluster_kubelet.cpp: the nodes
    bool admit(PodState& pod, Instant now, Out& out);
    void begin_pull(PodState& pod, Instant now);
    void start_container(PodState& pod, Instant now, Out& out);
    void plan_exit(PodState& pod);
    void exit_container(PodState& pod, const std::string& status, Instant now, Out& out);
    void fail_pod(PodState& pod, const std::string& status, Instant now, Out& out);
    void delete_pod(const std::string& uid, bool force, Instant now, Out& out);
    void remove_pod(const std::string& uid, Instant now, Out& out);
    void run_step(const PodDue& due, Instant now, Out& out);
    void evict(PodState& pod, Instant now, Out& out);
    void lose_node(NodeState& node, Instant now, Out& out);
    void return_node(NodeState& node, Instant now, Out& out);
    void remove_node(const std::string& name, Instant now, Out& out);

    // cluster_nodes.cpp: changes of nodes by users
    void set_label(NodeFacts& node, const std::string& key, const std::string* value) const;
    static void set_cordon(NodeFacts& node, bool is_cordoned);
    void restore_pods(std::vector<PodFacts> pods);  // cluster.cpp
    void restore_pod(PodState& pod, Instant now);

    void plan_step(PodState& pod, PodStep step, Instant at);
    void plan(Due due, Instant at);
    [[nodiscard]] const Workload& workload_of(const PodState& pod) const;
    [[nodiscard]] bool restarts_containers(const PodState& pod) const;
    static void observe(const PodState& pod, Out& out) { out.push_back(PodObserved{pod.facts}); }
    void observe(const Workload& workload, Out& out) const;

    Settings settings_;
    TopologyKeys topology_labels_;
    Instant now_;
    std::uint64_t plans_ = 0;  // breaks ties between actions of one millisecond
    std::map<std::pair<Instant, std::uint64_t>, Due> due_;
    std::optional<std::pair<Instant, std::uint64_t>> wake_;  // the one pending WokeUp
    std::map<std::string, NodeState> nodes_;
    std::map<std::string, PodState> pods_;        // by uid
    std::map<ObjectKey, std::string> pod_named_;  // uid
    std::map<std::string, Workload> workloads_;   // by uid of the job
    std::map<ObjectKey, std::string> workload_named_;
    std::map<ObjectKey, std::vector<UserEvent>> user_events_;
    ClusterFigures figures_;
};

}  // namespace gpuctl::sim
