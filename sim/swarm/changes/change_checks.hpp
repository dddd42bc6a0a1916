#pragma once
// Checks of what people change, recounted from inputs and effects: jobs (I26), nodes, objects of
// the policy. An accepted change is carried out or answered with a failure, over restarts too, and
// a change that is out of date changes nothing.
//
// Lifecycle: one per simulated run. It reads the engine, never changes it.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "sim/cluster.hpp"
#include "sim/swarm/changes/change_probes.hpp"
#include "sim/swarm/changes/policy_edits.hpp"
#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {

class ChangeChecks {
public:
    ChangeChecks(Checker& checker, ChangeProbes& probes) : checker_(checker), probes_(probes) {}

    // After every step of the engine.
    void observe(const Engine& engine, const Input& input, const std::vector<Effect>& effects);
    // The objects of changed jobs whose last change is answered are as the engine has them.
    void compare_jobs(const ClusterState& state, const Cluster& cluster);
    // When everything was answered.
    void check_end(const ClusterState& state);

    [[nodiscard]] const PolicyObjects& objects() const { return objects_; }

private:
    struct KnownJob {  // before a step
        std::uint64_t revision = 0;
        bool is_paused = false;
        bool keeps = false;  // it is paused and keeps room
        std::size_t seats = 0;
        bool takes_changes = false;
        bool is_service = false;
        Boxed<JobRecord> record;
        Boxed<JobRecord> before;  // the change under way
        bool was_paused = false;
        EffectId effect{};  // of the change under way
    };
    struct OpenChange {  // of a node
        std::string request;
        std::string node;
        Instant asked_at;
        EffectId effect{};
        bool is_sent = false;  // in this term
    };

    void fail(std::string id, std::string what) { checker_.fail(std::move(id), std::move(what)); }
    // check_job_changes.cpp
    void check_seats(const Input& input, const ClusterState& after);
    void check_change(const JobUpdated& change, const ClusterState& after);
    void check_accepted(const JobUpdated& change, const KnownJob& before, const JobRow& job);
    void check_refused(const WorkloadOutcome& outcome, const ClusterState& after);
    void check_revisions(const Event& event, const ClusterState& after);
    void check_bind(const BindPod& bind, const ClusterState& after);
    void remember_jobs(const ClusterState& state);
    // check_node_changes.cpp
    void record_node(const Event& event);
    void record_request(const NodeChangeRequested& event);
    void record_answer(const NodeChangeOutcome& outcome);
    void begin_term(Instant now);
    void record_sent(const ChangeNode& effect);
    void check_open(const ClusterState& after);
    // check_policy.cpp
    void check_objects(const Event& event, const ClusterState& after);
    void check_tree(const ClusterState& after);
    void check_pools(const ClusterState& after);

    Checker& checker_;
    ChangeProbes& probes_;
    std::map<ObjectKey, KnownJob> jobs_;
    std::map<std::string, ObjectKey> bound_;  // by uid: pods that would leave a seat
    std::set<std::string> assumed_;           // uids of pods with a bind in flight
    std::map<std::string, NodeFacts> nodes_;
    std::vector<OpenChange> open_;  // in the order of the requests
    PolicyObjects objects_;
    bool leading_ = false;
};

}  // namespace gpuctl::sim
