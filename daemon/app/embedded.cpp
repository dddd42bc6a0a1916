// The virtual cluster as a backend.

#include "daemon/app/backend.hpp"
#include "daemon/embedded/embedded_cluster.hpp"
#include "sim/world.hpp"

namespace gpuctl::app {
namespace {

embedded::EmbeddedSettings embedded_settings(const config::Config& config,
                                             const std::string& cluster_id) {
    embedded::EmbeddedSettings settings;
    for (const config::EmbeddedNodes& group : config.cluster.embedded.nodes) {
        settings.nodes.push_back({group.name, group.count, group.pool, group.gpu_resource,
                                  group.gpu_model, group.gpus, group.cpu_cores, group.memory_gib,
                                  group.labels, group.nodes_per_rack, group.mig_slices,
                                  group.gpu_replicas});
    }
    settings.cluster.seed = config.cluster.embedded.seed;
    settings.cluster.label_prefix = config.names.label_prefix;
    settings.cluster.image_pull = Duration{config.cluster.embedded.image_pull.count()};
    settings.cluster.container_start = Duration{config.cluster.embedded.container_start.count()};
    settings.cluster.training_run_time =
        Duration::seconds(config.cluster.embedded.training_run_time.count());
    settings.topology_labels = config.names.topology_labels;
    settings.cluster_id = cluster_id;
    return settings;
}

class EmbeddedBackend final : public Backend {
public:
    EmbeddedBackend(aio::Loop& loop, const config::Config& config) : loop_(loop), config_(config) {}

    aio::Task<Result<std::string>> learn_cluster_id(WaitsFor, StopAsked) override {
        co_return std::string{};
    }
    std::unique_ptr<ports::Cluster> make_cluster(const journal::Recovered& recovered) override {
        return std::make_unique<embedded::EmbeddedCluster>(
            loop_, embedded_settings(config_, recovered.cluster_id),
            sim::read_world(recovered.engine));
    }

private:
    aio::Loop& loop_;
    const config::Config& config_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_embedded_backend(aio::Loop& loop,
                                                       const config::Config& config) {
    return std::unique_ptr<Backend>{std::make_unique<EmbeddedBackend>(loop, config)};
}

}  // namespace gpuctl::app
