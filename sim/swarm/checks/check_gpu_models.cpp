// I22: a job gets the first of its GPU models that has room; a gang uses one model.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {
namespace {

bool has_any_nomination(const ClusterState& state) {
    return std::any_of(state.jobs.jobs_by_key().begin(), state.jobs.jobs_by_key().end(),
                       [&](const auto& job) { return state.job(job.second).nomination.exists(); });
}

// True if later jobs may not use up the rest of a limit that is reserved for the head of line.
bool reserves_under_limits(const ReferenceModel& reference, const std::string& pool) {
    return reference.backfill_of(pool).head == HeadOfLine::reserve &&
           !reference.preemption_of(pool).stops_by_run_time();
}

// Quota of a model may be reserved, too.
bool limits_models(const ReferenceModel& reference, const PodFacts& pod) {
    for (const QueueName& queue : reference.chain(reference.queue_of(pod))) {
        for (const ModelLimit& of : reference.policy_or_default(queue).models) {
            if (of.maximum) return true;
        }
    }
    return false;
}

}  // namespace

// For a single pod: no preferred model had room for it. Reserved capacity is no room, and the job
// that it was reserved for at the time of the decision is not known here, so worlds with
// reservations are left out.
void Checker::check_model_preferred(const BindPod& bind, const ReferencePod& pod,
                                    const ClusterState& after) {
    const PlacementRules& rules = pod.facts.rules;
    const JobRow& job = after.job(after.jobs.find_job(job_of(pod.facts)));
    if (pod.facts.gang || rules.gpu_models_next.empty()) return;
    if (after.pool(job.pool).reservations.head.job.exists() || has_any_nomination(after)) return;
    const bool reserves = reserves_under_limits(reference_, after.pool(job.pool).name);
    if (reserves && limits_models(reference_, pod.facts)) return;
    ++probes.models_checked;
    const std::string& taken = reference_.nodes.at(bind.node).gpu_model;
    const Amounts request = amounts_of(pod.facts.request);
    for (const std::string& model : gpu_models(rules)) {
        if (model == taken) return;
        if (!reference_.model_allowed(pod.facts, request.gpus, model)) continue;
        for (const auto& [name, node] : reference_.nodes) {
            const bool is_one = node.gpu_model == model && node.pool == after.pool(job.pool).name;
            if (!is_one || !reference_.admits(node, pod.facts)) continue;
            if (reference_.fitting(node, request, 1) < 1) continue;
            // Decisions whose effects were lost hold capacity that only the engine knows of.
            const Shape& shape =
                after.pods.shapes().at(after.pod(after.pods.find_pod(bind.pod.uid)).shape);
            if (!after.nodes.capacity().fits(after.nodes.find_node(name).value(), shape.needs))
                continue;
            fail("I22", "bind of " + to_string(bind.pod.key) + " to " + bind.node + " (" + taken +
                            "): it prefers " + model + ", and " + name + " has room");
        }
    }
}

void Checker::check_model_of_gang(const PlacedJob& placed_job) {
    if (!placed_job.pod.gang || placed_job.pod.rules.gpu_models_next.empty()) return;
    ++probes.models_checked;
    std::set<std::string> models;
    for (const std::string& uid : placed_job.uids) {
        const auto node = reference_.nodes.find(reference_.pods.at(uid).where());
        if (node != reference_.nodes.end()) models.insert(node->second.gpu_model);
    }
    const std::set<std::string> gang_models =
        reference_.models_of_job(placed_job.pod, placed_job.excluded);
    const bool is_apart =
        !gang_models.empty() && !models.empty() && !gang_models.contains(*models.begin());
    if (models.size() <= 1 && !is_apart) return;
    fail("I22", "gang " + to_string(placed_job.job) + " is on several GPU models");
}

}  // namespace gpuctl::sim
