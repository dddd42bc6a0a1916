// Pools, nodes and queues, as the engine sees them.

#include <nlohmann/json.hpp>

#include "daemon/api/handlers.hpp"
#include "daemon/api/reply.hpp"
#include "daemon/api/selection.hpp"
#include "daemon/api/shapes.hpp"

namespace gpuctl::api {
namespace {

std::string_view without_prefix(std::string_view label) {
    const std::size_t slash = label.rfind('/');
    return slash == label.npos ? label : label.substr(slash + 1);
}

Json pool_jobs(Services& services, const std::string& pool) {
    Json jobs = Json::array();
    JobFilter filter;
    filter.pool = pool;
    for (const JobView& job : list_jobs(services.engine.state(), filter)) {
        GpuMilli held;
        bool holds = false;
        for (const PodView& pod : job.pods) {
            if (pod.node.empty() || is_terminal(pod.facts.phase)) continue;
            held += gpus_total(pod.facts.request);
            holds = true;
        }
        if (!holds) continue;
        Json entry;
        entry["jobId"] = shown_name(job.key);
        entry["name"] = shown_name(job.key);
        entry["namespace"] = job.key.namespace_name;
        entry["gpu"] = gpus_json(held);
        jobs.push_back(std::move(entry));
    }
    return jobs;
}

}  // namespace

net::HttpResponse list_pools_page(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    std::vector<Json> rows;
    for (const PoolView& pool : list_pools(services.engine.state())) {
        rows.push_back(pool_json(pool));
    }
    return json_reply(200, page_json(*page, std::move(rows)));
}

net::HttpResponse get_pool(Services& services, const Call& call) {
    const std::string& name = call.parameters.at(0);
    for (const PoolView& pool : list_pools(services.engine.state())) {
        if (pool.name != name) continue;
        Json body = pool_json(pool);
        body["jobs"] = pool_jobs(services, name);
        return json_reply(200, body);
    }
    return problem_reply(make_error(ErrorCode::PoolNotFound,
                                    "there is no pool " + name + "; `gpuctl get pools` lists them"),
                         call);
}

net::HttpResponse list_nodes_page(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    const Result<std::string> pool = pool_of(services.engine.state(), call);
    if (!pool) return problem_reply(pool.error(), call);
    const std::string_view gpu_type = without_prefix(call.query("gpuType"));
    const std::string_view status = call.query("status");
    if (const auto bad = bad_node_status(status)) return problem_reply(*bad, call);
    std::vector<Json> rows;
    for (const NodeView& node : list_nodes(services.engine.state())) {
        if (!pool->empty() && node.facts.pool != *pool) continue;
        if (!gpu_type.empty() && !equal_without_case(node.facts.gpu_model, gpu_type)) continue;
        if (!status.empty() && !equal_without_case(node_status(node), status)) continue;
        rows.push_back(node_row(node));
    }
    return json_reply(200, page_json(*page, std::move(rows)));
}

net::HttpResponse get_node(Services& services, const Call& call) {
    const std::string& name = call.parameters.at(0);
    const std::optional<NodeView> node = find_node(services.engine.state(), name);
    if (!node) {
        return problem_reply(
            make_error(ErrorCode::NodeNotFound,
                       "there is no node " + name + "; `gpuctl get nodes` lists them"),
            call);
    }
    return json_reply(200, node_detail(*node, Instant{aio::Loop::wall_ms()}));
}

net::HttpResponse list_queues_page(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    const Result<std::string> pool = pool_of(services.engine.state(), call);
    if (!pool) return problem_reply(pool.error(), call);
    std::vector<Json> rows;
    for (const QueueView& queue : list_queues(services.engine.state())) {
        if (pool->empty() || queue.pool == *pool) rows.push_back(queue_json(queue));
    }
    return json_reply(200, page_json(*page, std::move(rows)));
}

}  // namespace gpuctl::api
