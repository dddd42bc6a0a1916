// POST /api/v1/nodes/labels/batch: one label on several nodes, each by itself.

#include "daemon/api/cluster/node_requests.hpp"
#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"

namespace gpuctl::api {
namespace {

constexpr std::size_t kBatchNodesMax = 500;

struct Batch {
    std::vector<std::string> nodes;
    std::string key;
    std::string value;
    bool overwrite = false;
    std::string warning;
};

// "a,b" and repeated names.
void add_names(std::string_view text, std::vector<std::string>& names) {
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        if (comma > 0) names.emplace_back(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
}

Result<Batch> batch_in_query(const Call& call) {
    Batch batch;
    for (const auto& [name, value] : call.target.query) {
        if (name == "nodeNames") add_names(value, batch.nodes);
    }
    batch.key = call.query("key");
    batch.value = call.query("value");
    const Result<bool> overwrite = flag_of(call, "overwrite");
    if (!overwrite) return overwrite.error();
    batch.overwrite = *overwrite;
    return batch;
}

Result<Batch> batch_in_body(const Call& call) {
    const Result<JsonBody> body = object_of(call, {"nodeNames", "key", "value", "overwrite"});
    if (!body) return body.error();
    Batch batch;
    const auto names = body->object.find("nodeNames");
    if (names == body->object.end() || !names->is_array())
        return make_error(ErrorCode::ValidationFailed,
                          "the body needs \"nodeNames\", a list of strings");
    for (const Json& name : *names) {
        if (!name.is_string())
            return make_error(ErrorCode::ValidationFailed,
                              "\"nodeNames\" in the body must be a list of strings");
        batch.nodes.push_back(name.get<std::string>());
    }
    Result<std::string> key = text_in(*body, "key");
    if (!key) return key.error();
    Result<std::string> value = text_in(*body, "value");
    if (!value) return value.error();
    const Result<bool> overwrite = flag_in(*body, "overwrite");
    if (!overwrite) return overwrite.error();
    batch.key = std::move(*key);
    batch.value = std::move(*value);
    batch.overwrite = *overwrite;
    return batch;
}

Result<Batch> batch_of(const Services& services, const Call& call) {
    Result<Batch> batch = call.request.body.empty() ? batch_in_query(call) : batch_in_body(call);
    if (!batch) return batch.error();
    if (batch->nodes.empty() || batch->nodes.size() > kBatchNodesMax) {
        return make_error(ErrorCode::ValidationFailed,
                          "nodeNames must name 1 to " + std::to_string(kBatchNodesMax) +
                              " nodes, in the body or as query parameters");
    }
    const auto key = wire::read_label_key(batch->key, services.settings.label_prefix);
    if (!key) return key.error();
    if (const auto valid = wire::check_label_value(key->key, batch->value); !valid)
        return valid.error();
    batch->key = key->key;
    batch->warning = key->warning;
    return batch;
}

}  // namespace

aio::Task<net::HttpResponse> label_nodes(Services& services, Call call) {
    const Result<Batch> batch = batch_of(services, call);
    if (!batch) co_return problem_reply(batch.error(), call);
    Json success = Json::array();
    Json failed = Json::array();
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    for (const std::string& node : batch->nodes) {
        NodeChange change;
        change.node = node;
        change.set[batch->key] = batch->value;
        change.overwrite = batch->overwrite;
        Result<void> done =
            make_error(ErrorCode::Timeout, "label node " + node +
                                               ": the nodes before it took all of the time of "
                                               "the request; repeat it for the rest");
        if (!deadline.passed()) {
            Result<void> changed =
                co_await services.engine.change_node(std::move(change), deadline);
            done = std::move(changed);
        }
        if (done) {
            success.push_back(node);
        } else {
            failed.push_back({{"nodeName", node},
                              {"error", to_string(done.error().code)},
                              {"message", done.error().message}});
        }
    }
    const std::string message = std::to_string(success.size()) + " of " +
                                std::to_string(batch->nodes.size()) + " nodes have the label " +
                                batch->key + "=" + batch->value;
    Json warnings = batch->warning.empty() ? Json::array() : Json::array({batch->warning});
    co_return json_reply(200, {{"success", std::move(success)},
                               {"failed", std::move(failed)},
                               {"message", message},
                               {"warnings", std::move(warnings)}});
}

}  // namespace gpuctl::api
