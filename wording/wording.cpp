#include "wording/wording.hpp"

#include <algorithm>

#include "wording/english/english.hpp"

namespace gpuctl::wording {

std::string text(const std::vector<Fact>& facts) {
    std::string out;
    for (const Fact& fact : facts) {
        out += std::visit([](const auto& one) { return english::words(one); }, fact);
    }
    return out;
}

std::string sentence(const Explanation& explanation) { return text(explanation.facts); }

std::string cause_text(const CauseBox& why) { return why ? english::words_of(*why) : ""; }

std::string sentence(const ChangeEffect& effect) { return english::words_of(effect); }

Error error_of(const Refusal& refusal) {
    return make_error(refusal.code, english::words_of(refusal));
}

std::string rollback_text() { return "its gang could not be bound as a whole"; }

std::string kubernetes_message(const Explanation& explanation) {
    if (explanation.tallies.empty()) return sentence(explanation);
    std::vector<std::string> parts;
    for (const NodeTally& tally : explanation.tallies) {
        parts.push_back(std::to_string(tally.nodes) + " " + tally.message);
    }
    std::sort(parts.begin(), parts.end());
    std::string message = "0/" + std::to_string(explanation.nodes_total) + " nodes are available: ";
    for (std::size_t i = 0; i < parts.size(); ++i) message += (i == 0 ? "" : ", ") + parts[i];
    return message + ". " + sentence(explanation);
}

}  // namespace gpuctl::wording
