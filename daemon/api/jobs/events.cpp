// What happened to jobs, newest first.

#include <nlohmann/json.hpp>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/model/policy/policy.hpp"

namespace gpuctl::api {
namespace {

// Of one job, which may be gone: its events remain for a while.
Result<std::vector<core::EventOfJob>> events_of_job(Services& services, const Call& call,
                                                    const std::string& name) {
    const std::string_view namespace_name = call.query("namespace");
    const Result<JobView> job = find_job(services.engine.listing(), namespace_name, name);
    ObjectKey key{namespace_name.empty() ? "default" : std::string{namespace_name}, name};
    if (job) key = job->key;
    std::vector<core::EventOfJob> events;
    for (core::JobEvent& event : services.engine.history().of(key)) {
        events.push_back({key, std::move(event)});
    }
    if (!job && events.empty()) return job.error();
    return events;
}

}  // namespace

Json event_json(const core::JobEvent& event, Instant now) {
    Json entry;
    entry["time"] = format_time(event.at);
    entry["firstTime"] = format_time(event.first_at);
    entry["age"] = format_age(event.at, now);
    entry["type"] = event.warning ? "Warning" : "Normal";
    entry["reason"] = event.reason;
    entry["from"] = "gpuctld";
    entry["object"] = event.object;
    entry["message"] = event.message;
    entry["count"] = event.count;
    return entry;
}

net::HttpResponse list_events_page(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    const std::string name{call.query("job")};
    Result<std::vector<core::EventOfJob>> events =
        name.empty() ? services.engine.history().recent(call.query("namespace"))
                     : events_of_job(services, call, name);
    if (!events) return problem_reply(events.error(), call);
    const Instant now = wall_now();
    const std::size_t first = static_cast<std::size_t>((page->number - 1) * page->size);
    Json items = Json::array();
    for (std::size_t i = first; i < events->size(); ++i) {
        if (items.size() == static_cast<std::size_t>(page->size)) break;
        Json entry = event_json((*events)[i].event, now);
        entry["namespace"] = (*events)[i].job.namespace_name;
        entry["job"] = shown_name((*events)[i].job);
        items.push_back(std::move(entry));
    }
    return json_reply(200, page_json(*page, std::ssize(*events), std::move(items)));
}

}  // namespace gpuctl::api
