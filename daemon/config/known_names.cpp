#include "daemon/config/known_names.hpp"

#include <algorithm>
#include <map>

#include "policy_document/check_parts.hpp"

namespace gpuctl::config {
namespace {

class KnownNames {
public:
    KnownNames(std::string what, std::vector<std::string> names, std::string help)
        : what_(std::move(what)), names_(std::move(names)), help_(std::move(help)) {
        std::sort(names_.begin(), names_.end());
    }

    // An unknown name is an error at its place.
    void check(const wire::Field& field) const {
        if (!field || field.json().is_structured()) return;
        if (field.problems().has_error_at(field.pointer())) return;
        const std::string name = field.text().value_or("");
        if (name.empty() || std::binary_search(names_.begin(), names_.end(), name)) return;
        const std::string nearest = wire::nearest_name(name, names_);
        field.error("there is no " + what_ + " " + name + "; " +
                    (nearest.empty() ? help_ : "did you mean " + nearest + "?"));
    }

private:
    std::string what_;
    std::vector<std::string> names_;
    std::string help_;
};

KnownNames known_pools(const std::vector<EmbeddedNodes>& groups, std::string_view nodes_key,
                       const Policy& policy) {
    std::vector<std::string> names{kDefaultPool};
    for (const EmbeddedNodes& nodes : groups) names.push_back(nodes.pool);
    for (const PoolPolicy& pool : policy.pools) names.push_back(pool.name);
    return {"pool", std::move(names),
            "pools are those of " + std::string{nodes_key} + " and policy.pools"};
}

// The pools of nodes, by name; other properties of nodes are not known from a configuration.
std::map<std::string, std::string> pools_of_nodes(const std::vector<EmbeddedNodes>& groups) {
    std::map<std::string, std::string> out;
    for (const EmbeddedNodes& group : groups) {
        for (std::int64_t number = 0; number < group.count; ++number) {
            out[group.name + "-" + std::to_string(number)] = group.pool;
        }
    }
    return out;
}

KnownNames known_node_names(const std::vector<EmbeddedNodes>& groups, std::string_view nodes_key) {
    std::vector<std::string> names;
    for (const auto& [name, pool] : pools_of_nodes(groups)) names.push_back(name);
    return {
        "node", std::move(names),
        "the nodes of a group of " + std::string{nodes_key} + " are called name-0, name-1, ..."};
}

// A window applies to nodes that match all its selectors: a named node of another pool would stay
// open.
void check_pool_of_nodes(const std::vector<EmbeddedNodes>& groups, const wire::Field& window) {
    const wire::Field pool = member_of(window, "pool");
    const std::vector<wire::Field> nodes = elements_of(member_of(window, "nodes"));
    if (!pool || pool.json().is_structured() || nodes.empty()) return;
    const std::string wanted = pool.text().value_or("");
    if (wanted.empty()) return;
    const std::map<std::string, std::string> pools = pools_of_nodes(groups);
    for (const wire::Field& node : nodes) {
        if (!node || node.json().is_structured()) continue;
        const auto known = pools.find(node.text().value_or(""));
        if (known == pools.end() || known->second == wanted) continue;
        node.error("node " + known->first + " is in pool " + known->second + ", not in pool " +
                   wanted + " of this window: remove the pool, or name a node of it");
    }
}

// Nodes of the embedded cluster neither come nor change their pool, so such a pool stays empty.
void warn_of_pools_without_nodes(const std::vector<EmbeddedNodes>& groups,
                                 std::string_view nodes_key, const wire::Field& policy) {
    std::vector<std::string> names{kDefaultPool};
    for (const EmbeddedNodes& nodes : groups) names.push_back(nodes.pool);
    for (const wire::Field& pool : elements_of(member_of(policy, "pools"))) {
        const wire::Field field = member_of(pool, "name");
        if (!field || field.json().is_structured()) continue;
        const std::string name = field.text().value_or("");
        if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) continue;
        const std::string nearest = wire::nearest_name(name, names);
        field.warning(
            "no node of " + std::string{nodes_key} + " is in pool " + name +
            (nearest.empty() ? ": its jobs cannot start" : "; did you mean " + nearest + "?"));
    }
}

}  // namespace

void check_known_names(const std::vector<EmbeddedNodes>& groups, std::string_view nodes_key,
                       const Policy& policy, const wire::Field& field) {
    warn_of_pools_without_nodes(groups, nodes_key, field);
    const KnownNames pools = known_pools(groups, nodes_key, policy);
    std::optional<KnownNames> nodes;  // there may be many
    for (const std::string_view key : {"maintenance", "reservations"}) {
        for (const wire::Field& window : elements_of(member_of(field, key))) {
            pools.check(member_of(window, "pool"));
            for (const wire::Field& node : elements_of(member_of(window, "nodes"))) {
                if (!nodes) nodes = known_node_names(groups, nodes_key);
                nodes->check(node);
            }
            check_pool_of_nodes(groups, window);
        }
    }
    for (const wire::Field& tenant : elements_of(member_of(field, "tenants"))) {
        for (const wire::Field& quota : elements_of(member_of(tenant, "pools"))) {
            pools.check(member_of(quota, "pool"));
        }
    }
}

}  // namespace gpuctl::config
