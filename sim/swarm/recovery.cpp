// The end of a random world: faults stop, nodes and policy return, and every queue must drain.

#include <algorithm>

#include "scheduler/state/cluster_state.hpp"
#include "sim/swarm/random_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::sim {
namespace {

constexpr Duration kRecoveryTime{6 * 3'600'000};

bool is_over(const JobView& job) {
    return std::all_of(job.pods.begin(), job.pods.end(),
                       [](const PodView& pod) { return is_terminal(pod.facts.phase); }) &&
           (job.status == "Succeeded" || job.status == "Failed");
}

}  // namespace

// The job could start in the empty cluster under the policy of the recovery phase.
bool RandomWorld::is_possible(const JobSpec& spec) const {
    PodFacts pod;
    pod.key = {spec.key.namespace_name, spec.key.name};
    pod.pool = spec.pool;
    pod.queue = spec.queue;
    pod.request = pod_request(spec);
    if (const auto ties = ties_.find(spec.key); ties != ties_.end()) ties->second.annotate(pod);
    ReferenceModel empty;
    empty.policy = options_.settings.policy;
    empty.policy.windows.clear();  // they end before the job could start
    for (const auto& [name, facts] : nodes_) empty.nodes[name] = facts;
    const bool is_default = spec.pool.empty() || spec.pool == kDefaultPool;
    if (is_default) {
        pod.rules.required_affinity.emplace();
    } else {
        pod.rules.node_selector.emplace_back("runwhere.ai/pool", spec.pool);
    }
    set_gpu_models(spec, pod.rules);
    pod.gang = spec.kind == JobKind::training;
    pod.rules.topology = spec.topology;
    const QueueName queue = empty.queue_of(pod);
    if (!empty.exists(queue) || empty.has_sub_queues(queue)) return false;
    Amounts ask;
    ask.add(amounts_of(pod.request), spec.replicas_min);
    return empty.limit_crossed(pod, ask).empty() &&
           empty.fitting_in_models(pod, spec.replicas_min, true) >= spec.replicas_min;
}

// What a job is by now decides whether it can start.
void RandomWorld::read_changed_jobs() {
    const ClusterState& state = simulation_.engine().state();
    for (auto& [key, spec] : acknowledged_) {
        const JobId id = state.jobs.find_job(key);
        if (changes_ && id.exists() && state.job(id).record) spec = state.job(id).record->spec;
    }
}

void RandomWorld::recover() {
    if (!violations().empty()) return;
    if (!simulation_.engine().state().session.leading()) simulation_.regain_leadership();
    simulation_.disturb(FaultsChanged{Faults{}});
    change_policy(options_.settings.policy);
    if (changes_) changes_->end(simulation_);
    read_changed_jobs();
    for (const auto& [name, facts] : nodes_) {
        simulation_.disturb(NodeJoins{facts});
        simulation_.disturb(NodeReturns{name});
        simulation_.disturb(NodeCordoned{name, false});
    }
    nodes_away_.clear();
    // Services hold their GPUs forever; all other jobs must finish.
    for (const auto& [key, spec] : std::map<ObjectKey, JobSpec>{acknowledged_}) {
        if (spec.kind != JobKind::training || !is_possible(spec)) remove(key);
    }
    // If a deletion was refused permanently, its job still exists: its user deletes it again.
    for (const JobView& job : list_jobs(simulation_.engine().state(), {})) {
        if (!acknowledged_.contains(job.key)) remove(job.key);
    }
    simulation_.run_for(kRecoveryTime);
    check_end();
}

// Checks that every training job has ended and that no GPU is leaked.
void RandomWorld::check_end() {
    if (changes_) changes_->check_end(simulation_);
    for (const JobView& job : list_jobs(simulation_.engine().state(), {})) {
        // The cluster may report a job again that gpuctld removed.
        const bool is_known = acknowledged_.contains(job.key) || checker_.was_removed(job.key);
        if (!is_over(job) || !is_known) {
            checker_.fail("I14", "after recovery, job " + to_string(job.key) + " is still " +
                                     job.status +
                                     (job.waiting ? ": " + wording::sentence(*job.waiting) : ""));
        }
    }
    for (const NodeView& node : list_nodes(simulation_.engine().state())) {
        if (gpus_total(node.used) != GpuMilli{0}) {
            checker_.fail("I14", "after recovery, GPUs are leaked on " + node.facts.name);
        }
    }
    check_now();
}

}  // namespace gpuctl::sim
