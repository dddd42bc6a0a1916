#include "daemon/config/file_layer.hpp"

#include "daemon/config/cluster/backend_sections.hpp"

namespace gpuctl::config {
namespace {

std::string place(const Config& config, const std::string& key) {
    for (const std::string& at : {key + ".name", key}) {
        if (const auto found = config.places.find(at); found != config.places.end()) {
            return found->second;
        }
    }
    return "";
}

// Queues are stored flat, each before its sub-queues; their keys are nested.
void add_queues(const Config& config, const PoolPolicy& pool, const std::string& key,
                FileLayer& layer) {
    std::map<std::string, std::string> keys{{"", key}};
    std::map<std::string, int> counts;
    for (const QueuePolicy& queue : pool.queues) {
        const std::string at =
            keys[queue.parent] + ".queues." + std::to_string(counts[queue.parent]++);
        keys[queue.name] = at;
        layer.places[{PolicyKind::queue, pool.name + "/" + queue.name}] = place(config, at);
    }
}

}  // namespace

FileLayer file_layer(const Config& config) {
    FileLayer layer;
    layer.document = config;
    layer.places[{PolicyKind::pool, kDefaultPool}] = "";
    layer.places[{PolicyKind::name_space, "default"}] = "";
    if (const std::vector<EmbeddedNodes>* groups = known_nodes(config.cluster)) {
        const std::string list{section_of(config.cluster.mode).nodes_key};
        for (std::size_t i = 0; i < groups->size(); ++i) {
            const std::string key = list + "." + std::to_string(i) + ".pool";
            layer.places.try_emplace({PolicyKind::pool, (*groups)[i].pool}, place(config, key));
        }
    }
    for (std::size_t i = 0; i < config.policy.pools.size(); ++i) {
        const PoolPolicy& pool = config.policy.pools[i];
        const std::string key = "policy.pools." + std::to_string(i);
        layer.places[{PolicyKind::pool, pool.name}] = place(config, key);
        add_queues(config, pool, key, layer);
    }
    for (std::size_t i = 0; i < config.policy.tenants.size(); ++i) {
        const std::string at = place(config, "policy.tenants." + std::to_string(i));
        layer.places[{PolicyKind::quota, config.policy.tenants[i].name}] = at;
        layer.places.try_emplace({PolicyKind::name_space, config.policy.tenants[i].name}, at);
    }
    return layer;
}

}  // namespace gpuctl::config
