#include "cli/migrate/label_moves.hpp"

#include <map>

#include "wire/label_key.hpp"

namespace gpuctl::cli {

std::vector<LabelMove> plan_label_moves(const std::string& node, const nlohmann::json& labels,
                                        const std::string& prefix, bool removes_old) {
    std::vector<LabelMove> moves;
    std::map<std::string, std::string> present;
    for (const auto& [key, value] : labels.items()) {
        if (value.is_string()) present[key] = value.get<std::string>();
    }
    const std::map<std::string, std::string> before = present;
    for (const auto& [key, value] : before) {
        const auto read = wire::read_label_key(key, prefix);
        // A key of an earlier product is the only one that is rewritten with a warning.
        if (!read || read->warning.empty()) continue;
        LabelMove move{"Node", "", node, key, read->key, value, "add"};
        const auto [there, is_new] = present.try_emplace(move.to, value);
        const bool differs = there->second != value;
        if (!is_new) move.action = differs ? "differs" : "present";
        moves.push_back(move);
        if (!removes_old || differs) continue;
        move.action = "remove";
        moves.push_back(std::move(move));
    }
    return moves;
}

}  // namespace gpuctl::cli
