#include "scheduler/model/job/job_pods.hpp"

namespace gpuctl {
namespace {

PlacementRules rules_of(const JobSpec& spec, const std::string& label_prefix) {
    PlacementRules rules;
    const std::string pool_label = label_prefix + "/pool";
    if (spec.pool.empty() || spec.pool == "default") {
        SelectorTerm nobodys;
        nobodys.labels.push_back({pool_label, SelectorOperator::does_not_exist, {}});
        rules.required_affinity = std::vector<SelectorTerm>{nobodys};
    } else {
        rules.node_selector.emplace_back(pool_label, spec.pool);
        // The nodes of a pool may carry a taint that excludes pods of other pools.
        rules.tolerations.push_back(
            {pool_label, TolerationOperator::equal, spec.pool, TaintEffect::no_schedule});
    }
    set_gpu_models(spec, rules);
    rules.topology = spec.topology;
    // The API server's admission plugin DefaultTolerationSeconds adds these to every pod.
    for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
        rules.tolerations.push_back({key, TolerationOperator::exists, "", TaintEffect::no_execute});
    }
    return rules;
}

}  // namespace

std::int32_t pods_of(const JobSpec& spec) {
    switch (spec.kind) {
        case JobKind::notebook:
            return 1;
        case JobKind::training:
            return spec.replicas_max;
        case JobKind::inference:
        case JobKind::compute:
            break;
    }
    return spec.service.replicas;
}

PodFacts pod_of(const JobSpec& spec, std::int32_t ordinal, Instant now,
                const std::string& label_prefix) {
    PodFacts pod;
    pod.key.namespace_name = spec.key.namespace_name;
    pod.ours = true;
    pod.has_controller = true;
    pod.status = "Pending";
    pod.priority = priority_value(spec.priority);
    pod.preemptible = spec.preemptible;
    pod.checkpoint_interval = spec.checkpoint_interval;
    pod.restart_cost = spec.restart_cost;
    pod.preempts = spec.priority != JobPriority::low;
    pod.runs_to_end = spec.kind == JobKind::training;
    pod.created_at = now;
    pod.job = spec.key.name;
    if (spec.kind == JobKind::training) {
        pod.gang = true;
        pod.gang_min = spec.replicas_min;
        pod.rank = ordinal;
    }
    pod.queue = spec.queue;
    pod.pool = spec.pool;
    // Services and notebooks have no run-time limit.
    if (spec.kind == JobKind::training) pod.run_time_max = spec.run_time_max;
    pod.run_time_expected = spec.run_time_expected;
    pod.request = pod_request(spec);
    pod.rules = rules_of(spec, label_prefix);
    return pod;
}

}  // namespace gpuctl
