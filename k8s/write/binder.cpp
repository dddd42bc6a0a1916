#include "k8s/write/binder.hpp"

#include "aio/loop.hpp"
#include "k8s/client/retry.hpp"
#include "k8s/json/json_cursor.hpp"
#include "k8s/json/json_text.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

std::string pod_path(const PodReference& pod) {
    return "/api/v1/namespaces/" + net::percent_encode(pod.key.namespace_name) + "/pods/" +
           net::percent_encode(pod.key.name);
}

}  // namespace

std::string binding_path(const PodReference& pod) { return pod_path(pod) + "/binding"; }

std::string binding_body(const BindPod& order, const LabelKeys& labels) {
    std::string body;
    body.reserve(320);
    body += R"({"apiVersion":"v1","kind":"Binding","metadata":{"namespace":)";
    append_json_string(body, order.pod.key.namespace_name);
    body += R"(,"name":)";
    append_json_string(body, order.pod.key.name);
    body += R"(,"uid":)";
    append_json_string(body, order.pod.uid);
    // Merged into the pod by the same transaction: the identity of the binder, its term and
    // attempt.
    body += R"(,"annotations":{)";
    append_json_string(body, labels.text(OwnKey::epoch));
    body += R"(:")" + std::to_string(static_cast<std::uint64_t>(order.epoch)) + '"';
    if (order.gang_attempt > 0) {
        body += ',';
        append_json_string(body, labels.text(OwnKey::gang_attempt));
        body += R"(:")" + std::to_string(order.gang_attempt) + '"';
    }
    if (order.gpu_device != kNoDevice) {
        body += ',';
        append_json_string(body, labels.text(OwnKey::gpu_device));
        body += R"(:")" + std::to_string(order.gpu_device) + '"';
    }
    body += R"(}},"target":{"kind":"Node","name":)";
    append_json_string(body, order.node);
    body += "}}";
    return body;
}

std::optional<BindResult> classify_answer(const ApiResult<ApiResponse>& answer) {
    if (answer) return BindResult::bound;
    switch (answer.error().code) {
        case ErrorCode::NotLeader:
        case ErrorCode::Unreachable:
        case ErrorCode::TlsFailed:
        case ErrorCode::TooManyRequests:
        case ErrorCode::Unauthorized:
        case ErrorCode::Timeout:
        case ErrorCode::Cancelled:
            return BindResult::failed;  // certainly not processed
        default:
            return std::nullopt;
    }
}

std::optional<PodGlimpse> glimpse_pod(std::string_view json) {
    PodGlimpse pod;
    JsonCursor cursor{json};
    cursor.object([&](std::string_view part) {
        if (part != "metadata" && part != "spec") return cursor.skip();
        cursor.object([&](std::string_view key) {
            if (key == "uid") {
                pod.uid = cursor.string();
            } else if (key == "deletionTimestamp") {
                pod.terminating = !cursor.string().empty();
            } else if (key == "nodeName") {
                pod.node = cursor.string();
            } else if (key == "schedulingGates") {
                pod.gated = cursor.raw() != "[]";
            } else {
                cursor.skip();
            }
        });
    });
    if (!cursor.ok() || pod.uid.empty()) return std::nullopt;
    return pod;
}

BindResult classify_read_back(const BindPod& order, ErrorCode first,
                              const std::optional<PodGlimpse>& pod) {
    if (!pod || pod->uid != order.pod.uid) return BindResult::gone;
    if (!pod->node.empty()) {
        return pod->node == order.node ? BindResult::bound : BindResult::elsewhere;
    }
    if (pod->terminating || pod->gated) return BindResult::refused;
    switch (first) {
        case ErrorCode::Forbidden:
            // (Or the namespace is being deleted, and so the pod.) A missing right may be granted
            // at any time; a gang must not hold its capacity until then, a single pod holds nothing
            // during its backoff.
            return order.gang_attempt > 0 ? BindResult::refused : BindResult::failed;
        case ErrorCode::BadRequest:
        case ErrorCode::ValidationFailed:
            return BindResult::refused;
        default:
            return BindResult::failed;
    }
}

Binder::Binder(aio::TaskGroup& group, Client& client, BinderSettings settings, Done done)
    : client_(client),
      settings_(std::move(settings)),
      done_(std::move(done)),
      queue_(group, "bind", settings_.in_flight_max) {}

void Binder::bind(BindPod order) {
    queue_.add([this, order = std::move(order)] { return run(order); });
}

aio::Task<void> Binder::run(BindPod order) {
    if (order.deadline.happened() && aio::Loop::wall_ms() >= order.deadline.ms()) {
        report(order, BindResult::failed, "not sent: its deadline passed while it waited");
        co_return;
    }
    ApiCall call;
    call.method = "POST";
    call.path = binding_path(order.pod);
    call.body = binding_body(order, settings_.labels);
    call.lane = Lane::binds;
    call.retry = RetryClass::keyed;
    call.fenced_by = order.epoch;  // checked immediately before sending
    const aio::Deadline deadline = aio::Deadline::in(settings_.timeout);
    const ApiResult<ApiResponse> answer = co_await client_.call(std::move(call), deadline);
    if (const auto result = classify_answer(answer)) {
        report(order, *result, answer ? std::string{} : answer.error().message);
        co_return;
    }
    const BindResult result = co_await read_back(order, answer.error().code);
    report(order, result, result == BindResult::bound ? std::string{} : answer.error().message);
}

aio::Task<BindResult> Binder::read_back(BindPod order, ErrorCode first) {
    const std::string path = pod_path(order.pod);
    Backoff backoff{{std::chrono::milliseconds{200}, std::chrono::milliseconds{5'000}, {}},
                    Backoff::Jitter::full,
                    static_cast<std::uint64_t>(order.id) + 1};
    for (;;) {
        const aio::Deadline deadline = aio::Deadline::in(settings_.timeout);
        const ApiResult<ApiResponse> answer = co_await client_.get(path, deadline);
        if (answer) {
            const auto pod = glimpse_pod(answer->body);
            if (pod) co_return classify_read_back(order, first, pod);
        } else if (answer.error().http_status == 404) {
            co_return classify_read_back(order, first, std::nullopt);
        }
        // The outcome cannot be determined now. The order holds its capacity on the node until it
        // can.
        const aio::Deadline again =
            aio::Deadline::in(backoff.next(aio::Clock::now()) + std::chrono::milliseconds{50});
        const bool waited = co_await aio::sleep_until(again);
        if (!waited) co_return BindResult::failed;  // the daemon stops; the result is not used
    }
}

void Binder::report(const BindPod& order, BindResult result, std::string message) {
    if (!message.empty()) {
        message = "bind pod " + to_string(order.pod.key) + " to " + order.node + ": " + message;
    }
    done_(BindOutcome{order.id, order.pod.uid, result, std::move(message)});
}

}  // namespace gpuctl::k8s
