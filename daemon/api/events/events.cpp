// What happened to jobs, newest first.

#include <nlohmann/json.hpp>

#include "daemon/api/events/cluster_events.hpp"
#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/model/policy/policy.hpp"

namespace gpuctl::api {
namespace {

// Of one job, which may be gone: its events remain for a while.
Result<ShownEvents> events_of_job(Services& services, const Call& call, const std::string& name,
                                  const ReportedEvents& reported) {
    const std::string_view namespace_name = call.query("namespace");
    const Result<JobView> job = find_job(services.engine.listing(), namespace_name, name);
    ObjectKey key{namespace_name.empty() ? "default" : std::string{namespace_name}, name};
    if (job) key = job->key;
    std::vector<core::JobEvent> own = services.engine.history().of(key);
    if (job) return events_of(services.engine.state(), std::move(own), reported, *job);
    if (own.empty()) return job.error();
    ShownEvents events;
    for (core::JobEvent& event : own) events.list.push_back({key, std::move(event)});
    return events;
}

}  // namespace

Json event_json(const core::JobEvent& event, std::string_view from, Instant now) {
    Json entry;
    entry["time"] = format_time(event.at);
    entry["firstTime"] = format_time(event.first_at);
    entry["age"] = format_age(event.at, now);
    entry["type"] = event.warning ? "Warning" : "Normal";
    entry["reason"] = event.reason;
    entry["from"] = from;
    entry["object"] = event.object;
    entry["message"] = event.message;
    entry["count"] = event.count;
    return entry;
}

aio::Task<net::HttpResponse> list_events_page(Services& services, Call call) {
    const Result<Page> page = page_of(call);
    if (!page) co_return problem_reply(page.error(), call);
    const std::string name{call.query("job")};
    std::string namespace_name{call.query("namespace")};
    const ReportedEvents reported =
        co_await read_reported_events(services, std::move(namespace_name));
    Result<ShownEvents> events =
        name.empty()
            ? events_of_jobs(services.engine.state(),
                             services.engine.history().recent(call.query("namespace")), reported)
            : events_of_job(services, call, name, reported);
    if (!events) co_return problem_reply(events.error(), call);
    const Instant now = wall_now();
    const std::size_t first = static_cast<std::size_t>((page->number - 1) * page->size);
    Json items = Json::array();
    for (std::size_t i = first; i < events->list.size(); ++i) {
        if (items.size() == static_cast<std::size_t>(page->size)) break;
        const ShownEvent& event = events->list[i];
        Json entry = event_json(event.event, event.from, now);
        entry["namespace"] = event.job.namespace_name;
        entry["job"] = shown_name(event.job);
        items.push_back(std::move(entry));
    }
    Json body = page_json(*page, std::ssize(events->list), std::move(items));
    body["eventsMissing"] = events->missing;
    co_return json_reply(200, body);
}

}  // namespace gpuctl::api
