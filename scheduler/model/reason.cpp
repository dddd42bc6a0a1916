#include "scheduler/model/reason.hpp"

#include <algorithm>

namespace gpuctl {

std::string kubernetes_message(const Explanation& explanation) {
    if (explanation.tallies.empty()) return explanation.sentence;
    std::vector<std::string> parts;
    for (const NodeTally& tally : explanation.tallies) {
        parts.push_back(std::to_string(tally.nodes) + " " + tally.message);
    }
    std::sort(parts.begin(), parts.end());
    std::string message = "0/" + std::to_string(explanation.nodes_total) + " nodes are available: ";
    for (std::size_t i = 0; i < parts.size(); ++i) message += (i == 0 ? "" : ", ") + parts[i];
    return message + ". " + explanation.sentence;
}

}  // namespace gpuctl
