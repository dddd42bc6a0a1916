#include "k8s/write/evictor.hpp"

#include "k8s/json/json_text.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {
namespace {

constexpr std::chrono::seconds kCallTimeout{10};
// Two concurrent evictions under one budget conflict on its status, and the API server retries for
// longer than a write may take. A pod whose eviction is cut off then is counted as disrupted for
// two minutes although it stays.
constexpr std::size_t kRunningMax = 1;

std::string eviction_path(const ObjectKey& pod) {
    return "/api/v1/namespaces/" + net::percent_encode(pod.namespace_name) + "/pods/" +
           net::percent_encode(pod.name) + "/eviction";
}

}  // namespace

std::string eviction_body(const PodReference& pod) {
    std::string body = R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":)";
    append_json_string(body, pod.key.name);
    body += R"(,"namespace":)";
    append_json_string(body, pod.key.namespace_name);
    body += R"(},"deleteOptions":{"preconditions":{"uid":)";
    append_json_string(body, pod.uid);
    return body + "}}}";
}

// 429 comes from a budget, or from an overloaded API server.
EvictResult eviction_result(const ApiError& error) {
    switch (error.http_status) {
        case 404:
        case 409:  // another pod has its name
            return EvictResult::gone;
        case 429:
            return error.has_cause("DisruptionBudget") ? EvictResult::disruption_budget
                                                       : EvictResult::failed;
        case 400:
        case 403:
        case 405:
        case 422:
            return EvictResult::refused;
        default:
            return EvictResult::failed;
    }
}

Evictor::Evictor(aio::TaskGroup& group, Client& client, Done done)
    : client_(client), done_(std::move(done)), queue_(group, "evict", kRunningMax) {}

void Evictor::evict(EvictPod order, bool may_evict) {
    if (!may_evict) {
        done_(order, PodEvictOutcome{order.id, order.pod.uid, EvictResult::refused,
                                     "evict pod " + to_string(order.pod.key) +
                                         ": it has no controller that would create it again"});
        return;
    }
    queue_.add([this, order = std::move(order)] { return run(order); });
}

aio::Task<void> Evictor::run(EvictPod order) {
    ApiCall call;
    call.method = "POST";
    call.path = eviction_path(order.pod.key);
    call.body = eviction_body(order.pod);
    call.fenced_by = order.epoch;  // never retried here: a 429 of a budget is an answer
    auto answer = co_await client_.call(std::move(call), aio::Deadline::in(kCallTimeout));
    PodEvictOutcome outcome{order.id, order.pod.uid, EvictResult::evicted, ""};
    if (!answer) {
        outcome.result = eviction_result(answer.error());
        outcome.message = "evict pod " + to_string(order.pod.key) + ": " + answer.error().message;
    }
    done_(order, std::move(outcome));
}

}  // namespace gpuctl::k8s
