// Handlers for pools, nodes and queues, from the engine's views.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/http/selection.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "daemon/api/policy/policy_shapes.hpp"
#include "wire/selector.hpp"

namespace gpuctl::api {
namespace {

std::string_view without_prefix(std::string_view label) {
    const std::size_t slash = label.rfind('/');
    return slash == label.npos ? label : label.substr(slash + 1);
}

constexpr std::size_t kJobsOfPoolMax = 1'000;

bool holds_node(const ClusterState& state, PodId id) {
    const PodRow& pod = state.pod(id);
    return !shown_node(state, pod).empty() && !is_terminal(pod.facts.phase);
}

// Found through the pool's nodes, so that waiting jobs cost nothing; the first ones by name, in
// order.
std::vector<const JobEntry*> jobs_on_nodes_of(const Listing& listing, const std::string& pool) {
    const ClusterState& state = listing.state();
    std::vector<const JobEntry*> out;
    const auto known = state.tree.pools_by_name().find(pool);
    if (known == state.tree.pools_by_name().end()) return out;
    const NameId name = listing.names().names.find(pool);
    std::vector<bool> is_seen;
    for (const std::uint32_t slot : state.nodes.capacity().nodes_of(known->second)) {
        for (const PodId id : state.node(NodeId{slot}).pods) {
            const JobId job = state.pod(id).job;
            if (!job.exists() || !holds_node(state, id)) continue;
            if (is_seen.size() <= job.value()) is_seen.resize(job.value() + 1);
            if (is_seen[job.value()]) continue;
            is_seen[job.value()] = true;
            const JobEntry* entry = listing.index().find(job);
            if (entry != nullptr && entry->pool == name) out.push_back(entry);
        }
    }
    const auto comes_first = [](const JobEntry* a, const JobEntry* b) {
        return std::tuple{std::string_view{a->key.namespace_name}, a->shown_name(),
                          std::string_view{a->key.name}} <
               std::tuple{std::string_view{b->key.namespace_name}, b->shown_name(),
                          std::string_view{b->key.name}};
    };
    const auto shown = static_cast<std::ptrdiff_t>(std::min(out.size(), kJobsOfPoolMax));
    std::partial_sort(out.begin(), out.begin() + shown, out.end(), comes_first);
    return out;
}

// The jobs that hold its nodes: the first ones by name, and their count.
void add_pool_jobs(const Listing& listing, const std::string& pool, Json& body) {
    const std::vector<const JobEntry*> holders = jobs_on_nodes_of(listing, pool);
    const ClusterState& state = listing.state();
    Json& jobs = body["jobs"] = Json::array();
    for (std::size_t i = 0; i < std::min(holders.size(), kJobsOfPoolMax); ++i) {
        const JobEntry& entry = *holders[i];
        GpuMilli held;
        for (const PodId id : state.job(entry.job).pods) {
            if (holds_node(state, id)) held += gpus_total(state.pod(id).facts.request);
        }
        jobs.push_back({{"jobId", entry.shown_name()},
                        {"name", entry.shown_name()},
                        {"namespace", entry.key.namespace_name},
                        {"gpu", gpus_json(held)}});
    }
    body["jobsTotal"] = holders.size();
}

}  // namespace

net::HttpResponse list_pools_page(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    std::vector<Json> rows;
    const std::string_view gpu_type = without_prefix(call.query("gpuType"));
    for (const PoolView& pool : list_pools(services.engine.listing())) {
        const auto has_type = [&](const auto& model) {
            return equal_without_case(model.first, gpu_type);
        };
        if (!gpu_type.empty() &&
            std::none_of(pool.gpu_models.begin(), pool.gpu_models.end(), has_type)) {
            continue;
        }
        rows.push_back(pool_json(pool));
        add_pool_object(*services.policy, pool.name, rows.back());
    }
    return json_reply(200, page_json(*page, std::move(rows)));
}

net::HttpResponse get_pool(Services& services, const Call& call) {
    const std::string& name = call.parameters.at(0);
    Listing& listing = services.engine.listing();
    for (const PoolView& pool : list_pools(listing)) {
        if (pool.name != name) continue;
        Json body = pool_json(pool);
        add_pool_object(*services.policy, name, body);
        add_pool_jobs(listing, name, body);
        return json_reply(200, body);
    }
    return problem_reply(unknown_pool(listing.state(), name), call);
}

// Details are computed only for the nodes of the page.
net::HttpResponse list_nodes_page(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    const ClusterState& state = services.engine.state();
    const Result<std::string> pool = pool_of(services.engine.listing(), call);
    if (!pool) return problem_reply(pool.error(), call);
    const std::string_view gpu_type = without_prefix(call.query("gpuType"));
    const std::string_view status = call.query("status");
    if (const auto bad = bad_node_status(status)) return problem_reply(*bad, call);
    const Result<wire::Selector> selector = wire::Selector::parse(call.query("selector"));
    if (!selector) return problem_reply(selector.error(), call);
    const std::int64_t first = (page->number - 1) * page->size;
    std::int64_t total = 0;
    Json items = Json::array();
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        const NodeFacts& facts = state.node(id).facts;
        if (!state.node(id).known || (!pool->empty() && facts.pool != *pool)) continue;
        if (!gpu_type.empty() && !equal_without_case(facts.gpu_model, gpu_type)) continue;
        if (!status.empty() && !equal_without_case(node_status(state, id), status)) continue;
        if (!selector->matches_map(facts.labels)) continue;
        const bool is_shown = total >= first && total < first + page->size;
        ++total;
        if (is_shown) items.push_back(node_row(*find_node(state, name)));
    }
    return json_reply(200, page_json(*page, total, std::move(items)));
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
    return json_reply(200, node_detail(*node, wall_now()));
}

net::HttpResponse list_queues_page(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    const Listing& listing = services.engine.listing();
    const Result<std::string> pool = pool_of(listing, call);
    if (!pool) return problem_reply(pool.error(), call);
    std::vector<Json> rows;
    for (const QueueView& queue : list_queues(listing)) {
        if (!pool->empty() && queue.pool != *pool) continue;
        rows.push_back(queue_json(queue));
        add_queue_object(*services.policy, rows.back());
    }
    return json_reply(200, page_json(*page, std::move(rows)));
}

}  // namespace gpuctl::api
