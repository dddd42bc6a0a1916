#include "bench/replay/cluster.hpp"

#include <tuple>

namespace gpuctl::replay {
namespace {

WorldSettings published_set_up(Suite suite) {
    switch (suite) {
        case Suite::philly64:
            return {8, 8, Placing::packed, {}, {}, {}};
        case Suite::vc:
            return {96, 8, Placing::packed, {}, {}, {}};
        case Suite::backfill:
            return {1, 100, Placing::pooled, {}, {}, {}};
        case Suite::elastic:
            return {1, 64, Placing::pooled, {}, {}, {}};
        case Suite::fairness:
            return {1, 32, Placing::pooled, {}, {}, {}};
        case Suite::openb:
            break;
    }
    return {};
}

Error refuse_cluster(std::string sentence) {
    return make_error(ErrorCode::BadRequest, std::move(sentence));
}

std::string said(const char* flag, std::int64_t value) {
    return std::string{flag} + " " + std::to_string(value);
}

// All three sizes may be given if they agree.
Error disagreement(const SuiteRequest& request) {
    return refuse_cluster(
        said("--gpus", *request.gpus) + " is not " + said("--nodes-count", *request.nodes) +
        " times " + said("--gpus-per-node", *request.gpus_per_node) + "; leave one of them out");
}

// All GPUs are alike in these suites: only their number matters.
Result<std::int64_t> pooled_gpus(const SuiteRequest& request, std::int64_t published) {
    const auto& [gpus, nodes, each] = std::tie(request.gpus, request.nodes, request.gpus_per_node);
    if (nodes && each) {
        const std::int64_t product = std::int64_t{*nodes} * *each;
        if (gpus && *gpus != product) return disagreement(request);
        return product;
    }
    if (!gpus && (nodes || each)) {
        return refuse_cluster("suite " + std::string{name_of(request.suite)} +
                              " has one pool of GPUs; say --gpus, or both --nodes-count and "
                              "--gpus-per-node");
    }
    return gpus.value_or(published);
}

std::optional<Error> set_nodes(const SuiteRequest& request, WorldSettings& settings) {
    const auto& [gpus, nodes, each] = std::tie(request.gpus, request.nodes, request.gpus_per_node);
    settings.gpus_per_node = each.value_or(settings.gpus_per_node);
    settings.nodes = nodes.value_or(settings.nodes);
    if (!gpus) return std::nullopt;
    if (nodes && each) {
        if (std::int64_t{*nodes} * *each != *gpus) return disagreement(request);
    } else if (nodes) {
        if (*gpus % *nodes != 0) {
            return refuse_cluster(said("--gpus", *gpus) +
                                  " do not come to the same number on each of " +
                                  said("--nodes-count", *nodes));
        }
        settings.gpus_per_node = *gpus / *nodes;
    } else {
        if (*gpus % settings.gpus_per_node != 0) {
            return refuse_cluster(said("--gpus", *gpus) + " is not a multiple of " +
                                  std::to_string(settings.gpus_per_node) +
                                  ", the GPUs of a node; choose one, or say --gpus-per-node");
        }
        settings.nodes = *gpus / settings.gpus_per_node;
    }
    return std::nullopt;
}

}  // namespace

Result<WorldSettings> settings_for(const SuiteRequest& request) {
    WorldSettings settings = published_set_up(request.suite);
    std::int64_t total = 0;
    if (settings.placing == Placing::packed) {
        if (auto error = set_nodes(request, settings)) return *error;
        total = std::int64_t{settings.nodes} * settings.gpus_per_node;
    } else {
        const auto gpus = pooled_gpus(request, settings.gpus_per_node);
        if (!gpus) return gpus.error();
        total = *gpus;
    }
    if (total > kClusterGpusMax) {
        return refuse_cluster("a cluster of " + std::to_string(total) + " GPUs is beyond the " +
                              std::to_string(kClusterGpusMax) + " that a replay can have");
    }
    if (settings.placing == Placing::pooled) {
        settings.gpus_per_node = static_cast<std::int32_t>(total);
    }
    settings.overhead = request.overhead;
    settings.clairvoyant = request.clairvoyant;
    // The planners of the papers run jobs on the sizes that their users chose.
    settings.elastic = request.suite == Suite::elastic && request.policy == "engine";
    return settings;
}

}  // namespace gpuctl::replay
