// I22: of the GPU models that a job takes it gets the first that has room; a gang is on one.

#include <algorithm>

#include "scheduler/policy/limit_heads.hpp"
#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {
namespace {

bool somebody_claims(const ClusterState& state) {
    return std::any_of(
        state.jobs_by_key().begin(), state.jobs_by_key().end(),
        [&](const auto& job) { return state.job(job.second).claim_until.happened(); });
}

// What is left of a model may be kept for somebody, too.
bool limits_models(const Books& books, const PodFacts& pod) {
    for (const QueueName& queue : books.chain(books.queue_of(pod))) {
        const QueuePolicy* known = books.policy_of(queue);
        if (known == nullptr) continue;
        for (const ModelLimit& of : known->models) {
            if (of.maximum) return true;
        }
    }
    return false;
}

}  // namespace

// A pod by itself: nothing that it prefers had room for it. Room that is kept for others is no
// room; whose that was at the moment of the decision is not known here, so worlds with any are left
// out.
void Judge::check_model_preferred(const BindPod& bind, const BookedPod& pod,
                                  const ClusterState& after) {
    const PlacementRules& rules = pod.facts.rules;
    const JobRow& job = after.job(after.find_job(job_of(pod.facts)));
    if (pod.facts.gang || rules.gpu_models_next.empty()) return;
    if (after.pool(job.pool).promise.job.exists() || somebody_claims(after)) return;
    if (keeps_limits(after.pool(job.pool)) && limits_models(books_, pod.facts)) return;
    ++probes.models_judged;
    const std::string& taken = books_.nodes.at(bind.node).gpu_model;
    const Amounts request = amounts_of(pod.facts.request);
    for (const std::string& model : gpu_models(rules)) {
        if (model == taken) return;
        if (!books_.model_allowed(pod.facts, request.gpus, model)) continue;
        for (const auto& [name, node] : books_.nodes) {
            const bool is_one = node.gpu_model == model && node.pool == after.pool(job.pool).name;
            if (!is_one || !books_.admits(node, pod.facts)) continue;
            if (books_.fitting(node, request, 1) < 1) continue;
            // What was decided in a step whose effects were lost takes room that only the engine
            // knows of.
            const Shape& shape = after.shapes().at(after.pod(after.find_pod(bind.pod.uid)).shape);
            if (!after.capacity().fits(after.find_node(name).value(), shape.needs)) continue;
            fail("I22", "bind of " + to_string(bind.pod.key) + " to " + bind.node + " (" + taken +
                            "): it prefers " + model + ", and " + name + " has room");
        }
    }
}

void Judge::check_model_of_gang(const Turn& turn) {
    if (!turn.pod.gang || turn.pod.rules.gpu_models_next.empty()) return;
    ++probes.models_judged;
    std::set<std::string> models;
    for (const std::string& uid : turn.uids) {
        const auto node = books_.nodes.find(books_.pods.at(uid).where());
        if (node != books_.nodes.end()) models.insert(node->second.gpu_model);
    }
    const std::set<std::string> beside = books_.models_beside(turn.pod, turn.away);
    const bool is_apart = !beside.empty() && !models.empty() && !beside.contains(*models.begin());
    if (models.size() <= 1 && !is_apart) return;
    fail("I22", "gang " + to_string(turn.job) + " is on several GPU models");
}

}  // namespace gpuctl::sim
