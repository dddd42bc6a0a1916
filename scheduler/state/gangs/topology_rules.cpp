// Placement rules between the pods of a job: together or apart (docs/adr/0019), and on one GPU
// model (docs/adr/0021).

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

void Gangs::read_anchors(const JobRow& job, std::vector<NodeId>& out) const {
    out.clear();
    if (has_fault(SeededFault::forget_where_the_others_are)) return;
    for (const PodId id : job.pods) {
        const PodRow& pod = state_.pods.rows()[id.value()];
        const bool holds =
            pod.bind.state == BindState::bound || pod.bind.state == BindState::assumed;
        if (holds && !pod.is_terminating() && !pod.bind.delete_in_flight) out.push_back(pod.node);
    }
}

// If ranks are on several models already (labels change), any of these models is allowed. If none
// is on a model that the pod accepts, any model is allowed.
std::vector<std::string_view> Gangs::models_of_gang(PodId id) const {
    std::vector<std::string_view> out;
    const PodRow& pod = state_.pods.rows()[id.value()];
    const PlacementRules& rules = pod.facts.rules;
    if (!pod.facts.gang || !rules.takes_several_models() || !pod.job.exists()) return out;
    if (has_fault(SeededFault::mix_models_in_a_gang)) return out;
    std::vector<NodeId> anchors;
    read_anchors(state_.jobs.rows()[pod.job.value()], anchors);
    for (const NodeId anchor : anchors) {
        const NodeFacts& node = state_.nodes.rows()[anchor.value()].facts;
        if (takes_gpu_model(rules, node.gpu_model)) out.push_back(node.gpu_model);
    }
    return out;
}

bool Gangs::mixes_models(const std::vector<Placement>& round) const {
    const PodFacts& first = state_.pods.rows()[round.front().pod.value()].facts;
    if (!first.gang || !first.rules.takes_several_models()) return false;
    if (has_fault(SeededFault::mix_models_in_a_gang)) return false;
    const std::string_view model = state_.nodes.rows()[round.front().node.value()].facts.gpu_model;
    const bool is_one = std::all_of(round.begin(), round.end(), [&](const Placement& one) {
        return same_gpu_model(state_.nodes.rows()[one.node.value()].facts.gpu_model, model);
    });
    return !is_one || !is_model_among(models_of_gang(round.front().pod), model);
}

// If ranks are in several racks already (labels change), any of these racks is allowed: moves are
// decided elsewhere.
bool Gangs::breaks_topology(const JobRow& job, const std::vector<Placement>& round) const {
    const TopologyRules rules =
        state_.pods.shapes().at(state_.pods.rows()[round.front().pod.value()].shape).topology;
    if (rules.required == TopologyLevel::none && rules.spread == TopologyLevel::none) return false;
    if (has_fault(SeededFault::any_rack_will_do)) return false;
    const DomainMap& domains = state_.nodes.capacity().domains();
    std::vector<NodeId> anchors;
    read_anchors(job, anchors);
    if (rules.required != TopologyLevel::none) {
        const DomainId first = domains.of(rules.required, round.front().node.value());
        const bool is_one = std::all_of(round.begin(), round.end(), [&](const Placement& one) {
            return domains.of(rules.required, one.node.value()) == first;
        });
        bool is_in_domain = true;
        for (const NodeId anchor : anchors) {
            const DomainId there = domains.of(rules.required, anchor.value());
            if (!there.exists()) continue;
            is_in_domain = there == first;
            if (is_in_domain) break;
        }
        if (!first.exists() || !is_one || !is_in_domain) return true;
    }
    if (rules.spread == TopologyLevel::none) return false;
    std::vector<DomainId> taken;
    for (const NodeId anchor : anchors) taken.push_back(domains.of(rules.spread, anchor.value()));
    for (const Placement& placement : round) {
        const DomainId here = domains.of(rules.spread, placement.node.value());
        if (!here.exists() || std::find(taken.begin(), taken.end(), here) != taken.end()) {
            return true;
        }
        taken.push_back(here);
    }
    return false;
}

}  // namespace gpuctl
