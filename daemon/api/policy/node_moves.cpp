#include "daemon/api/policy/node_moves.hpp"

#include <utility>

namespace gpuctl::api {

aio::Task<Result<bool>> move_named_node(PolicyLayers& layers, std::string node, std::string pool,
                                        aio::Deadline deadline) {
    PolicyRequest request;
    request.mode = PutMode::update;
    request.moves_nodes = true;
    bool has_object = false;
    for (const auto& [key, object] : layers.objects()) {
        if (key.kind != PolicyKind::pool) continue;
        Result<config::PoolObject> read = config::pool_in(object.document);
        if (!read) co_return read.error();
        const bool is_target = key.name == pool;
        has_object = has_object || is_target;
        const bool is_named = read->nodes.contains(node);
        if (is_named == is_target) continue;
        if (is_target) {
            read->nodes.emplace(node, "");
        } else {
            read->nodes.erase(node);
        }
        request.put.push_back(config::draft_of(*read));
    }
    if (request.put.empty()) co_return has_object;
    Result<std::vector<PolicyOutcome>> done = co_await layers.change(std::move(request), deadline);
    if (!done) co_return done.error();
    co_return has_object;
}

}  // namespace gpuctl::api
