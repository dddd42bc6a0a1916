#include "scheduler/model/job/topology.hpp"

#include <algorithm>

namespace gpuctl {
namespace {

constexpr TopologyLevel kNamed[] = {TopologyLevel::host, TopologyLevel::nvlink, TopologyLevel::rack,
                                    TopologyLevel::block};

std::string own_key(const std::string& label_prefix, TopologyLevel level) {
    return label_prefix + "/" + std::string{to_string(level)};
}

std::string named_by(const std::map<std::string, std::string>& labels,
                     const std::string& label_prefix, TopologyLevel level,
                     const TopologyKeys& keys) {
    const auto value = [&labels](const std::string& key) {
        const auto found = labels.find(key);
        return found == labels.end() ? std::string{} : found->second;
    };
    if (std::string own = value(own_key(label_prefix, level)); !own.empty()) return own;
    for (const std::string& key : keys.of(level)) {
        if (std::string name = value(key); !name.empty()) return name;
    }
    return {};
}

}  // namespace

std::string problem_with(const TopologyRules& rules) {
    const auto both = [](TopologyLevel a, TopologyLevel b) {
        return a != TopologyLevel::none && b != TopologyLevel::none;
    };
    if (both(rules.required, rules.spread) && rules.spread >= rules.required) {
        return "one " + std::string{to_string(rules.required)} +
               " is required for all ranks, so they cannot be on different " +
               std::string{to_string(rules.spread)} + "s; spread must name a level inside it";
    }
    if (both(rules.preferred, rules.spread) && rules.spread >= rules.preferred) {
        return "few " + std::string{to_string(rules.preferred)} +
               "s are preferred, which contradicts different " +
               std::string{to_string(rules.spread)} + "s; spread must name a level inside it";
    }
    if (both(rules.required, rules.preferred) && rules.preferred >= rules.required) {
        return "preferred must name a level inside the required " +
               std::string{to_string(rules.required)};
    }
    return {};
}

namespace {

// The member of that level; `nothing` for TopologyLevel::none.
template <typename Levels, typename Member>
const Member& member_of(const Levels& of, TopologyLevel level, const Member& nothing) {
    switch (level) {
        case TopologyLevel::none:
            break;
        case TopologyLevel::host:
            return of.host;
        case TopologyLevel::nvlink:
            return of.nvlink;
        case TopologyLevel::rack:
            return of.rack;
        case TopologyLevel::block:
            return of.block;
    }
    return nothing;
}

}  // namespace

const std::string& NodeTopology::of(TopologyLevel level) const {
    static const std::string not_reported;
    return member_of(*this, level, not_reported);
}

const std::vector<std::string>& TopologyKeys::of(TopologyLevel level) const {
    static const std::vector<std::string> none;
    return member_of(*this, level, none);
}

NodeTopology topology_of(const std::string& node, const std::map<std::string, std::string>& labels,
                         const std::string& label_prefix, const TopologyKeys& keys) {
    const auto name = [&](TopologyLevel level) {
        return named_by(labels, label_prefix, level, keys);
    };
    NodeTopology out;
    out.host = name(TopologyLevel::host);
    if (out.host.empty()) out.host = node;
    out.nvlink = name(TopologyLevel::nvlink);
    out.block = name(TopologyLevel::block);
    out.rack = name(TopologyLevel::rack);
    if (!out.rack.empty() && !out.block.empty()) out.rack = out.block + "/" + out.rack;
    return out;
}

std::optional<TopologyLevel> topology_level_of(std::string_view text,
                                               const std::string& label_prefix,
                                               const TopologyKeys& keys) {
    for (const TopologyLevel level : kNamed) {
        const std::vector<std::string>& known = keys.of(level);
        if (text == to_string(level) || text == own_key(label_prefix, level) ||
            std::find(known.begin(), known.end(), text) != known.end()) {
            return level;
        }
    }
    if (text == "kubernetes.io/hostname") return TopologyLevel::host;
    return std::nullopt;
}

}  // namespace gpuctl
