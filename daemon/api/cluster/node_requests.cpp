#include "daemon/api/cluster/node_requests.hpp"

#include <algorithm>

#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"

namespace gpuctl::api {

const NodeFacts* find_facts(const ClusterState& state, const std::string& name) {
    const NodeId id = state.nodes.find_node(name);
    return id.exists() && state.node(id).known ? &state.node(id).facts : nullptr;
}

Error unknown_node(const std::string& name) {
    return make_error(ErrorCode::NodeNotFound,
                      "there is no node " + name + "; `gpuctl get nodes` lists them");
}

Result<wire::LabelKey> key_in_path(const Services& services, const Call& call) {
    std::string written;
    for (std::size_t i = 1; i < call.parameters.size(); ++i) {
        written += (i > 1 ? "/" : "") + call.parameters[i];
    }
    return wire::read_label_key(written, services.settings.label_prefix);
}

Result<JsonBody> object_of(const Call& call, std::initializer_list<std::string_view> known) {
    auto body = nlohmann::ordered_json::parse(call.request.body, nullptr, false);
    if (!body.is_object()) {
        return make_error(ErrorCode::InvalidJson, call.request.method + " " +
                                                      call.request.target.substr(0, 200) +
                                                      ": the body must be a JSON object");
    }
    for (const auto& [name, value] : body.items()) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        std::string names;
        for (const std::string_view one : known) {
            names += (names.empty() ? "" : ", ") + std::string{one};
        }
        return make_error(
            ErrorCode::ValidationFailed,
            "the body has an unknown member \"" + name.substr(0, 80) + "\"; known are: " + names);
    }
    return JsonBody{std::move(body)};
}

Result<std::string> text_in(const JsonBody& body, const char* name) {
    const auto found = body.object.find(name);
    if (found != body.object.end() && found->is_string()) return found->get<std::string>();
    return make_error(ErrorCode::ValidationFailed,
                      "the body needs \"" + std::string{name} + "\", a string");
}

Result<bool> flag_in(const JsonBody& body, const char* name) {
    const auto found = body.object.find(name);
    if (found == body.object.end()) return false;
    if (found->is_boolean()) return found->get<bool>();
    return make_error(ErrorCode::ValidationFailed,
                      "\"" + std::string{name} + "\" in the body must be true or false");
}

std::string pool_label_of(const NodeFacts& node, const std::string& prefix) {
    std::string own = prefix + "/pool";
    if (node.labels.contains(own)) return own;
    for (const char* old : {"g8s.host/pool", "gpuctl/pool"}) {
        if (node.labels.contains(old)) return old;
    }
    return own;
}

aio::Task<Result<void>> change_node(Services& services, NodeChange change) {
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    Result<void> done = co_await services.engine.change_node(std::move(change), deadline);
    if (!done) co_return with_cause(services, done.error());
    co_return done;
}

}  // namespace gpuctl::api
