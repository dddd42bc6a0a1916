// Jobs that take several GPU models (docs/adr/0021), by the names in the nodes' facts.

#include <algorithm>

#include "sim/swarm/reference/reference_model.hpp"

namespace gpuctl::sim {

std::int64_t ReferenceModel::fitting_on(const PodFacts& pod, std::int64_t pods_asked,
                                        bool when_empty,
                                        const std::vector<const NodeFacts*>& on) const {
    std::int64_t most = 0;
    for (const auto& [name, ranks] : fitting_by_domain(pod, pods_asked, when_empty, on)) {
        most = std::max(most, ranks);
    }
    return most;
}

std::int64_t ReferenceModel::fitting_on_one_model(const PodFacts& pod, std::int64_t pods_asked,
                                                  bool when_empty,
                                                  const std::vector<const NodeFacts*>& on) const {
    if (!pod.gang || pod.rules.gpu_models_next.empty()) {
        return fitting_on(pod, pods_asked, when_empty, on);
    }
    const std::set<std::string> gang_models = models_of_job(pod);
    std::int64_t most = 0;
    for (const std::string& model : gpu_models(pod.rules)) {
        if (!gang_models.empty() && !gang_models.contains(model)) continue;
        std::vector<const NodeFacts*> of_model;
        for (const NodeFacts* node : on) {
            if (node->gpu_model == model) of_model.push_back(node);
        }
        most = std::max(most, fitting_on(pod, pods_asked, when_empty, of_model));
    }
    return most;
}

std::set<std::string> ReferenceModel::models_of_job(const PodFacts& pod,
                                                    const std::set<std::string>& but) const {
    std::set<std::string> out;
    const auto found = jobs.find(job_of(pod));
    if (found == jobs.end()) return out;
    const std::vector<std::string> taken = gpu_models(pod.rules);
    for (const std::string& uid : found->second) {
        const ReferencePod& other = pods.at(uid);
        const auto node = nodes.find(other.where());
        if (!other.stays() || but.contains(uid) || node == nodes.end()) continue;
        const std::string& model = node->second.gpu_model;
        if (std::find(taken.begin(), taken.end(), model) != taken.end()) out.insert(model);
    }
    return out;
}

}  // namespace gpuctl::sim
