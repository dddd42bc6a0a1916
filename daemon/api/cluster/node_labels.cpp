// Labels of nodes: what they are, and what changes them; and their GPUs.

#include <map>
#include <set>

#include "daemon/api/cluster/node_requests.hpp"
#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"

namespace gpuctl::api {
namespace {

bool is_gpu_label(std::string_view key) {
    return key.ends_with("gpu-type") || key.ends_with("gpu-model") ||
           key.starts_with("nvidia.com/gpu-") || key.starts_with("nvidia.com/gpu.");
}

Json warnings_of(const std::string& warning) {
    return warning.empty() ? Json::array() : Json::array({warning});
}

// The key in the address of a label, as it was written.
std::string written_key(const Call& call) {
    std::string written;
    for (std::size_t i = 1; i < call.parameters.size(); ++i) {
        written += (i > 1 ? "/" : "") + call.parameters[i];
    }
    return written;
}

// The page of the nodes that `row` has one for.
template <typename Row>
net::HttpResponse page_of_nodes(Services& services, const Call& call, const Row& row) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    const ClusterState& state = services.engine.state();
    const std::int64_t first = (page->number - 1) * page->size;
    std::int64_t total = 0;
    Json items = Json::array();
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        if (!state.node(id).known) continue;
        Json item = row(state.node(id).facts);
        if (item.is_null()) continue;
        if (total >= first && total < first + page->size) items.push_back(std::move(item));
        ++total;
    }
    return json_reply(200, page_json(*page, total, std::move(items)));
}

}  // namespace

net::HttpResponse get_node_labels(Services& services, const Call& call) {
    const std::string& name = call.parameters.at(0);
    const NodeFacts* node = find_facts(services.engine.state(), name);
    if (node == nullptr) return problem_reply(unknown_node(name), call);
    Json labels = Json::object();
    for (const auto& [key, value] : node->labels) labels[key] = value;
    return json_reply(200, {{"node", name},
                            {"nodeName", name},
                            {"labels", std::move(labels)},
                            {"prefix", services.settings.label_prefix}});
}

net::HttpResponse get_node_label(Services& services, const Call& call) {
    const std::string& name = call.parameters.at(0);
    const NodeFacts* node = find_facts(services.engine.state(), name);
    if (node == nullptr) return problem_reply(unknown_node(name), call);
    // A label that is there can be read whatever its domain.
    const std::string written = written_key(call);
    auto label = node->labels.find(written);
    if (label == node->labels.end()) {
        const Result<wire::LabelKey> key = key_in_path(services, call);
        if (key) label = node->labels.find(key->key);
    }
    if (label == node->labels.end()) {
        return problem_reply(make_error(ErrorCode::LabelNotFound,
                                        "node " + name + " has no label " + written.substr(0, 80) +
                                            "; `gpuctl get labels " + name + "` lists its labels"),
                             call);
    }
    // Kubernetes keeps no times of single labels.
    return json_reply(200, {{"nodeName", name},
                            {"label",
                             {{"key", label->first},
                              {"value", label->second},
                              {"createdAt", nullptr},
                              {"lastUpdatedAt", nullptr}}}});
}

net::HttpResponse list_label_of_nodes(Services& services, const Call& call) {
    if (!call.target.has_query("key")) {
        return problem_reply(
            make_error(ErrorCode::BadRequest,
                       "GET /api/v1/nodes/labels needs the query parameter key; "
                       "/api/v1/nodes/labels/all lists the GPU labels of all nodes"),
            call);
    }
    const std::string written{call.query("key")};
    const Result<wire::LabelKey> key =
        wire::read_label_key(written, services.settings.label_prefix);
    return page_of_nodes(services, call, [&](const NodeFacts& node) -> Json {
        auto label = node.labels.find(written);
        if (label == node.labels.end() && key) label = node.labels.find(key->key);
        if (label == node.labels.end()) return nullptr;
        return {{"nodeName", node.name}, {"labelKey", label->first}, {"labelValue", label->second}};
    });
}

net::HttpResponse list_gpu_labels(Services& services, const Call& call) {
    const std::string ours = services.settings.label_prefix + "/";
    return page_of_nodes(services, call, [&ours](const NodeFacts& node) -> Json {
        Json of_gpus = Json::array();
        Json managed = Json::array();
        for (const auto& [key, value] : node.labels) {
            if (is_gpu_label(key)) of_gpus.push_back({{"key", key}, {"value", value}});
            if (key.starts_with(ours)) managed.push_back({{"key", key}, {"value", value}});
        }
        return {{"nodeName", node.name},
                {"gpuLabels", std::move(of_gpus)},
                {"labels", std::move(managed)},  // those with our prefix
                {"boundPools", Json::array({node.pool})}};
    });
}

net::HttpResponse list_gpu_details(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    const ClusterState& state = services.engine.state();
    const std::int64_t first = (page->number - 1) * page->size;
    std::int64_t total = 0;
    Json items = Json::array();
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        if (!state.node(id).known) continue;
        const bool is_shown = total >= first && total < first + page->size;
        ++total;
        if (!is_shown) continue;
        Json gpus = gpu_details(*find_node(state, name));
        items.push_back({{"nodeName", name}, {"gpuCount", gpus.size()}, {"gpus", std::move(gpus)}});
    }
    return json_reply(200, page_json(*page, total, std::move(items)));
}

// The keys with our prefix: those of Kubernetes have another value on each node.
net::HttpResponse list_label_values(Services& services, const Call& call) {
    const Result<bool> all = flag_of(call, "all");
    if (!all) return problem_reply(all.error(), call);
    const ClusterState& state = services.engine.state();
    std::map<std::string, std::set<std::string>> values;
    for (const auto& [name, id] : state.nodes.nodes_by_name()) {
        if (!state.node(id).known) continue;
        for (const auto& [key, value] : state.node(id).facts.labels) {
            if (*all || key.starts_with(services.settings.label_prefix + "/"))
                values[key].insert(value);
        }
    }
    Json body = Json::object();
    for (const auto& [key, of] : values) body[key] = of;
    return json_reply(200, body);
}

// POST {key, value, overwrite}
aio::Task<net::HttpResponse> add_node_label(Services& services, Call call) {
    const std::string name = call.parameters.at(0);
    const Result<JsonBody> body = object_of(call, {"key", "value", "overwrite"});
    if (!body) co_return problem_reply(body.error(), call);
    const Result<std::string> written = text_in(*body, "key");
    if (!written) co_return problem_reply(written.error(), call);
    const Result<std::string> value = text_in(*body, "value");
    if (!value) co_return problem_reply(value.error(), call);
    const Result<bool> overwrite = flag_in(*body, "overwrite");
    if (!overwrite) co_return problem_reply(overwrite.error(), call);
    const auto key = wire::read_label_key(*written, services.settings.label_prefix);
    if (!key) co_return problem_reply(key.error(), call);
    if (const auto valid = wire::check_label_value(key->key, *value); !valid)
        co_return problem_reply(valid.error(), call);
    NodeChange change;
    change.node = name;
    change.set[key->key] = *value;
    change.overwrite = *overwrite;
    const Result<void> done = co_await change_node(services, std::move(change));
    if (!done) co_return problem_reply(done.error(), call);
    co_return json_reply(200,
                         {{"nodeName", name},
                          {"node", name},
                          {"label", {{"key", key->key}, {"value", *value}}},
                          {"message", "node " + name + " has the label " + key->key + "=" + *value},
                          {"warnings", warnings_of(key->warning)}});
}

// PUT {value}: whatever the label was.
aio::Task<net::HttpResponse> put_node_label(Services& services, Call call) {
    const std::string name = call.parameters.at(0);
    const auto key = key_in_path(services, call);
    if (!key) co_return problem_reply(key.error(), call);
    const Result<JsonBody> body = object_of(call, {"value"});
    if (!body) co_return problem_reply(body.error(), call);
    const Result<std::string> value = text_in(*body, "value");
    if (!value) co_return problem_reply(value.error(), call);
    if (const auto valid = wire::check_label_value(key->key, *value); !valid)
        co_return problem_reply(valid.error(), call);
    NodeChange change;
    change.node = name;
    change.set[key->key] = *value;
    change.overwrite = true;
    const Result<void> done = co_await change_node(services, std::move(change));
    if (!done) co_return problem_reply(done.error(), call);
    const std::string label = key->key + "=" + *value;
    co_return json_reply(200, {{"node", name},
                               {"nodeName", name},
                               {"label", label},
                               {"message", "node " + name + " has the label " + label},
                               {"warnings", warnings_of(key->warning)}});
}

aio::Task<net::HttpResponse> delete_node_label(Services& services, Call call) {
    const std::string name = call.parameters.at(0);
    auto key = key_in_path(services, call);
    if (!key) co_return problem_reply(key.error(), call);
    const Result<bool> as_written = flag_of(call, "asWritten");
    if (!as_written) co_return problem_reply(as_written.error(), call);
    // A key of an earlier product otherwise means the present one.
    if (*as_written) key->key = written_key(call);
    const NodeFacts* node = find_facts(services.engine.state(), name);
    if (node == nullptr) co_return problem_reply(unknown_node(name), call);
    if (!node->labels.contains(key->key)) {
        co_return problem_reply(
            make_error(ErrorCode::LabelNotFound,
                       "delete label " + key->key + ": node " + name + " has no such label"),
            call);
    }
    NodeChange change;
    change.node = name;
    change.remove.push_back(key->key);
    const Result<void> done = co_await change_node(services, std::move(change));
    if (!done) co_return problem_reply(done.error(), call);
    co_return json_reply(200, {{"nodeName", name},
                               {"node", name},
                               {"labelKey", key->key},
                               {"label", key->key},
                               {"message", "node " + name + " no longer has the label " + key->key},
                               {"warnings", warnings_of(key->warning)}});
}

}  // namespace gpuctl::api
