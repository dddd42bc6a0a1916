#include "daemon/config/config.hpp"

namespace gpuctl::config {

std::vector<EmbeddedNodes> default_nodes() {
    const auto group = [](const char* name, std::int64_t count, const char* pool, const char* model,
                          std::int64_t gpus, std::int64_t cpu_cores, std::int64_t memory_gib) {
        EmbeddedNodes nodes;
        nodes.name = name;
        nodes.count = count;
        nodes.pool = pool;
        nodes.gpu_model = model;
        nodes.gpus = gpus;
        nodes.cpu_cores = cpu_cores;
        nodes.memory_gib = memory_gib;
        return nodes;
    };
    // Models are spelled as in the documents of config/examples/.
    std::vector<EmbeddedNodes> nodes = {
        group("training", 4, "training-pool", "A100-100G", 8, 128, 1024),
        group("inference", 4, "inference-pool", "A100-100G", 4, 64, 512),
        group("dev", 2, "dev-pool", "a10-24g", 4, 64, 256),
        group("test", 2, "test-pool", "", 0, 32, 64),
        group("spare", 2, "default", "V100-32G", 8, 96, 512),
    };
    nodes.front().nodes_per_rack = 2;
    return nodes;
}

std::vector<std::string> sample_host_path_roots() {
    return {"/datasets", "/models",           "/output",      "/cache",
            "/home",     "/etc/nginx/conf.d", "/var/www/html"};
}

}  // namespace gpuctl::config
