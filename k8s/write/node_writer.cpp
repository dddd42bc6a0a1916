#include "k8s/write/node_writer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aio/loop.hpp"
#include "k8s/json/json_text.hpp"
#include "wording/node_change.hpp"

namespace gpuctl::k8s {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kChangeTimeout{10};
constexpr std::chrono::milliseconds kLookAgain{10};
constexpr std::chrono::seconds kWatchShowsIt{3};
constexpr std::size_t kChangesRunningMax = 8;
constexpr int kTriesMax = 5;

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '.';
    });
}

NodeChangeResult result_of(const ApiError& error) {
    const int status = error.http_status;
    const bool is_refused = status == 400 || status == 403 || status == 404 || status == 422;
    return is_refused ? NodeChangeResult::refused : NodeChangeResult::failed;
}

ErrorCode code_of(const ApiError& error) {
    switch (error.http_status) {
        case 403:
            return ErrorCode::Forbidden;
        case 404:
            return ErrorCode::NodeNotFound;
        case 400:
        case 422:
            return ErrorCode::ValidationFailed;
        default:
            return error.code == ErrorCode::NotLeader || error.code == ErrorCode::UnknownOutcome
                       ? error.code
                       : ErrorCode::ClusterUnavailable;
    }
}

}  // namespace

bool is_at_least(std::string_view version, std::string_view other) {
    if (!is_number(version) || !is_number(other)) return version == other;
    if (version.size() != other.size()) return version.size() > other.size();
    return version >= other;
}

std::string node_patch(const NodeChange& change, const WatchedNode& node) {
    Json labels = Json::object();
    for (const auto& [key, value] : change.set) labels[key] = value;
    for (const std::string& key : change.remove) labels[key] = nullptr;
    Json patch = {{"metadata", {{"uid", node.uid}, {"resourceVersion", node.resource_version}}}};
    if (!labels.empty()) patch["metadata"]["labels"] = labels;
    if (change.cordon == NodeCordon::cordon) patch["spec"]["unschedulable"] = true;
    if (change.cordon == NodeCordon::uncordon) patch["spec"]["unschedulable"] = nullptr;
    return patch.dump(-1, ' ', false, Json::error_handler_t::replace);
}

NodeWriter::NodeWriter(aio::TaskGroup& group, Client& client, Find find, Done done)
    : client_(client),
      find_(std::move(find)),
      done_(std::move(done)),
      queue_(group, "change node", kChangesRunningMax) {}

void NodeWriter::change(ChangeNode order) {
    queue_.add([this, order = std::move(order)] { return run(order); });
}

aio::Task<void> NodeWriter::run(ChangeNode order) {
    const aio::Deadline deadline = aio::Deadline::in(kChangeTimeout);
    NodeChangeOutcome outcome = co_await carry_out(std::move(order), deadline);
    done_(std::move(outcome));
}

// True: the watch shows another version than `past`; with `or_later`: `past` itself, or a later
// one.
aio::Task<bool> NodeWriter::wait_for_version(std::string node, std::string past, bool or_later,
                                             aio::Deadline deadline) {
    while (true) {
        const std::optional<WatchedNode> seen = find_(node);
        if (!seen) co_return true;
        const std::string& version = seen->resource_version;
        if (or_later ? is_at_least(version, past) : version != past) co_return true;
        if (deadline.passed()) co_return false;
        const aio::Deadline again = aio::Deadline::in(kLookAgain);
        const bool running = co_await aio::sleep_until(again);
        if (!running) co_return false;
    }
}

aio::Task<NodeChangeOutcome> NodeWriter::carry_out(ChangeNode order, aio::Deadline deadline) {
    const NodeChange& change = order.change;
    const NodeChangeOutcome missing{
        order.id,
        order.request,
        change.node,
        NodeChangeResult::refused,
        ErrorCode::NodeNotFound,
        wording::node_change_text(change, {ErrorCode::NodeNotFound, {}, {}})};
    NodeChangeOutcome outcome = missing;
    for (int tries = 0; tries < kTriesMax; ++tries) {
        const std::optional<WatchedNode> node =
            is_name(change.node) ? find_(change.node) : std::nullopt;
        if (!node) co_return missing;
        if (const auto fits = check_conditions(change, node->uid, node->labels); !fits) {
            outcome.result = NodeChangeResult::refused;
            outcome.code = fits.error().code;
            outcome.message = wording::node_change_text(change, fits.error());
            co_return outcome;
        }
        if (is_as_wanted(change, node->unschedulable, node->labels)) {
            outcome.result = NodeChangeResult::changed;
            outcome.message.clear();
            co_return outcome;
        }
        ApiCall call;
        call.method = "PATCH";
        call.path = "/api/v1/nodes/" + change.node + "?fieldManager=gpuctl";
        call.body = node_patch(change, *node);
        call.content_type = kMergePatch;
        call.retry = RetryClass::safe;  // its resourceVersion lets only one of them through
        call.fenced_by = order.epoch;
        auto answer = co_await client_.call(std::move(call), deadline);
        if (answer) {
            const auto identity = identity_of(answer->body);
            const aio::Deadline shown =
                aio::Deadline::earlier(deadline, aio::Deadline::in(kWatchShowsIt));
            std::string version = identity ? identity->resource_version : std::string{};
            if (!version.empty()) {
                std::string name = change.node;
                (void)co_await wait_for_version(std::move(name), std::move(version), true, shown);
            }
            outcome.result = NodeChangeResult::changed;
            outcome.message.clear();
            co_return outcome;
        }
        outcome.result = result_of(answer.error());
        outcome.code = code_of(answer.error());
        outcome.message = "change node " + change.node + ": " + answer.error().message;
        if (answer.error().http_status != 409) co_return outcome;
        std::string name = change.node;
        std::string past = node->resource_version;
        const bool moved =
            co_await wait_for_version(std::move(name), std::move(past), false, deadline);
        if (!moved) break;
    }
    outcome.result = NodeChangeResult::failed;
    outcome.code = ErrorCode::Conflict;
    outcome.message =
        "change node " + change.node + ": other clients change it all the time; repeat the request";
    co_return outcome;
}

}  // namespace gpuctl::k8s
