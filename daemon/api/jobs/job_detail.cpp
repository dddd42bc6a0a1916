// The detail of one job.

#include <nlohmann/json.hpp>

#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/finished.hpp"
#include "daemon/api/jobs/job_rows.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/model/policy/quantity.hpp"
#include "wording/wording.hpp"

namespace gpuctl::api {
namespace {

Json resources_json(const JobView& job, std::string gpu_type) {
    Json body;
    body["gpu"] = gpus_json(job.gpus_per_pod);
    body["gpuType"] = std::move(gpu_type);
    if (job.record != nullptr) {
        body["cpu"] = format_cpu(job.record->spec.cpu);
        body["memory"] = format_bytes(job.record->spec.memory);
    } else if (!job.pods.empty()) {
        body["cpu"] = format_cpu(job.pods.front().facts.request.cpu);
        body["memory"] = format_bytes(job.pods.front().facts.request.memory);
    }
    body["pods"] = job.pods_wanted;
    return body;
}

Json events_json(const ShownEvents& events, Instant now) {
    Json list = Json::array();
    for (const ShownEvent& event : events.list) {
        list.push_back(event_json(event.event, event.from, now));
    }
    return list;
}

// One entry for each pod that has a node: the GPUs it holds there, and the device where the
// scheduler chooses it (a share of a GPU). The kubelet chooses the devices of whole GPUs.
Json gpus_in_use(const JobView& job) {
    Json list = Json::array();
    for (const PodView& pod : job.pods) {
        const GpuMilli gpus = gpus_total(pod.facts.request);
        if (pod.node.empty() || gpus == GpuMilli{} || is_terminal(pod.facts.phase)) continue;
        const bool is_known = pod.facts.gpu_device != kNoDevice;
        list.push_back({{"pod", pod.facts.key.name},
                        {"node", pod.node},
                        {"gpu", gpus_json(gpus)},
                        {"device", is_known ? Json(pod.facts.gpu_device) : Json{}}});
    }
    return list;
}

std::string uid_of(const JobView& job) {
    if (job.record != nullptr) return job.record->uid;
    return job.summary != nullptr ? job.summary->uid : "";
}

// The detail of its pods, in the form of pod_json().
void add_ended_pods(const FinishedJob& job, Json& pods, Json& names) {
    for (const EndedPod& pod : job.ended_pods) {
        const std::string name = name_of(pod, job.key);
        pods.push_back({{"name", name},
                        {"uid", text_of(pod.uid)},
                        {"status", pod.succeeded ? "Succeeded" : "Failed"},
                        {"ready", "0/1"},
                        {"node", kNotAvailable}});
        names.push_back(name);
    }
}

// Null unless it is paused, or keeps room since it was.
Json pause_json(const JobView& job) {
    if (!job.paused && job.seats == 0) return Json{};
    return {{"paused", job.paused}, {"releases", job.releases}, {"gpus", gpus_json(job.gpus_kept)},
            {"pods", job.seats},    {"nodes", job.seat_nodes},  {"podsLost", job.seats_lost}};
}

// Members that a row does not have.
Json details(const JobView& job, std::string gpu_type, const ShownEvents& events, Instant now) {
    Json body;
    body["version"] = job.record != nullptr ? job.record->spec.version : "";
    body["description"] = job.record != nullptr ? job.record->spec.description : "";
    body["uid"] = uid_of(job);
    body["resourceVersion"] = std::to_string(job.revision);
    body["pause"] = pause_json(job);
    body["priorityValue"] = job.priority;
    body["finishedAt"] = format_time(job.finished_at);
    body["gang"] = job.gang;
    body["ranksMin"] = job.ranks_min;
    body["roles"] = Json::array();
    for (const RoleView& role : job.roles) {
        body["roles"].push_back(
            {{"name", role.minimum.role}, {"ranksMin", role.minimum.ranks}, {"ranks", role.ranks}});
    }
    body["size"] = wording::text(job.size);
    body["podsWanted"] = job.pods_wanted;
    body["podsRunning"] = job.pods_running;
    body["resources"] = resources_json(job, std::move(gpu_type));
    body["waiting"] = job.waiting ? explanation_json(*job.waiting) : Json{};
    body["message"] = job.summary != nullptr ? job.summary->message : "";
    body["pods"] = Json::array();
    Json names = Json::array();
    if (job.summary != nullptr) add_ended_pods(*job.summary, body["pods"], names);
    for (const PodView& pod : job.pods) {
        body["pods"].push_back(pod_json(pod));
        names.push_back(pod.facts.key.name);
    }
    body["k8sResources"] = {{"jobName", shown_name(job.key)}, {"pods", std::move(names)}};
    body["events"] = events_json(events, now);
    body["eventsMissing"] = events.missing;
    body["yamlContent"] = job.record != nullptr ? job.record->source : "";
    return body;
}

}  // namespace

std::string job_detail(Listing& listing, const JobView& job, const ShownEvents& events, Json access,
                       Instant now) {
    const ClusterState& state = listing.state();
    const JobEntry& entry = job.summary != nullptr
                                ? *listing.index().find_summary(job.key)
                                : *listing.index().find(state.jobs.find_job(job.key));
    std::string text;
    wire::JsonObject object{text};
    JobRows rows{listing, now, text};
    const std::string_view reason = job.waiting ? to_string(job.waiting->reason) : "";
    rows.add_members(entry, {ready_of(state, entry), reason}, object);
    Json more = details(job, gpu_type_of(state, entry), events, now);
    more["accessMethods"] = std::move(access);
    more["gpus"] = gpus_in_use(job);
    for (const auto& [name, value] : more.items()) {
        object.begin(name) += value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    object.text("notStored", not_kept_sentence(state, job));
    object.end();
    return text;
}

}  // namespace gpuctl::api
