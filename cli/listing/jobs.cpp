// Jobs and events as lists.

#include "aio/loop.hpp"
#include "cli/commands/job_name.hpp"
#include "cli/listing/kinds.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

Json gpu_total(const Json& item) { return item.value("gpuTotal", item.value("gpu", Json(0))); }

// Contract: one entry per pod, snake_case.
Json job_row(const Json& item) {
    return {{"job_id", text_of(item, "jobId")},
            {"name", text_of(item, "name")},
            {"namespace", text_of(item, "namespace")},
            {"kind", text_of(item, "kind")},
            {"status", text_of(item, "status")},
            {"ready", text_of(item, "ready", "0/0")},
            {"node", text_of(item, "node", "N/A")},
            {"ip", text_of(item, "ip", "N/A")},
            {"age", age_of("createdAt")(item)},
            {"pool", text_of(item, "pool")},
            {"queue", text_of(item, "queue")},
            {"gpu", item.value("gpu", Json(0))},
            {"gpu_total", gpu_total(item)},
            {"gpu_type", text_of(item, "gpuType")},
            {"reason", text_of(item, "reason")},
            {"starts_in", start_short(item, aio::Loop::wall_ms())}};
}

bool is_job_named(const Json& item, const std::string& name) {
    return text_of(item, "name") == name || text_of(item, "jobId") == name;
}

// The labels that gpuctl gives a job's objects, which REST has as members; the prefix may be left
// out.
Json labels_of_job(const Json& item) {
    Json labels = item.value("labels", Json::object());
    constexpr std::array<std::array<const char*, 2>, 5> of_members{{{"job-type", "kind"},
                                                                    {"pool", "pool"},
                                                                    {"queue", "queue"},
                                                                    {"priority", "priority"},
                                                                    {"namespace", "namespace"}}};
    for (const auto& [label, key] : of_members) {
        const std::string value = text_of(item, key);
        if (value.empty()) continue;
        labels[label] = value;
        labels[std::string{"runwhere.ai/"} + label] = value;
    }
    return labels;
}

std::string job_key(const Json& item) {
    return text_of(item, "namespace") + "/" + text_of(item, "name") + "/" + text_of(item, "jobId");
}

std::string event_key(const Json& item) {
    return text_of(item, "namespace") + "/" + text_of(item, "job") + "/" + text_of(item, "object") +
           "/" + text_of(item, "reason") + "/" + text_of(item, "firstTime");
}

Json event_row(const Json& item) {
    return {{"age", age_of("time")(item)},
            {"type", text_of(item, "type")},
            {"reason", text_of(item, "reason")},
            {"from", text_of(item, "from")},
            {"object", text_of(item, "object")},
            {"message", text_of(item, "message")},
            {"namespace", text_of(item, "namespace")},
            {"job", text_of(item, "job")},
            {"count", item.value("count", Json(1))}};
}

}  // namespace

ListedKind jobs_kind() {
    return {.name = "jobs",
            .columns = {{"JOB ID", member("jobId")},
                        {"NAME", member("name")},
                        {"NAMESPACE", member("namespace")},
                        {"KIND", member("kind")},
                        {"STATUS", member("status")},
                        {"READY", member("ready", "0/0")},
                        {"NODE", member("node", "N/A")},
                        {"IP", member("ip", "N/A")},
                        {"AGE", age_of("createdAt"), Use::always, ".createdAt", true},
                        {"POOL", member("pool"), Use::wide},
                        {"QUEUE", member("queue"), Use::wide},
                        {"GPUS",
                         [](const Json& item) {
                             return number_of(item, item.contains("gpuTotal") ? "gpuTotal" : "gpu");
                         },
                         Use::wide},
                        {"GPU TYPE", member("gpuType", "-"), Use::wide},
                        {"REASON", member("reason", "-"), Use::wide},
                        {"STARTS IN",
                         [](const Json& item) { return start_short(item, aio::Loop::wall_ms()); },
                         Use::wide, ".estimatedStart.likely", true}},
            .short_form = job_row,
            .typed_name =
                [](const Json& item) {
                    return typed_name({text_of(item, "namespace"), text_of(item, "name")});
                },
            .is_named = is_job_named,
            .key = job_key,
            .labels = labels_of_job};
}

ListedKind events_kind() {
    return {.name = "events",
            .columns = {{"AGE", age_of("time"), Use::always, ".time", true},
                        {"TYPE", member("type")},
                        {"REASON", member("reason")},
                        {"NAMESPACE", member("namespace")},
                        {"OBJECT", member("object")},
                        {"COUNT", number("count"), Use::wide},
                        {"MESSAGE", member("message")}},
            .short_form = event_row,
            .typed_name =
                [](const Json& item) {
                    return typed_name({text_of(item, "namespace"), text_of(item, "job")});
                },
            .key = event_key};
}

}  // namespace gpuctl::cli
