#include "daemon/api/jobs/state_sentence.hpp"

#include <algorithm>

#include "daemon/api/http/reply.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "wording/wording.hpp"

namespace gpuctl::api {
namespace {

std::string at_time(std::string_view word, Instant time) {
    return time.happened() ? " " + std::string{word} + " " + format_time(time) : std::string{};
}

std::string pods_text(std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " pod" : " pods");
}

std::string running_sentence(const JobView& job) {
    return (job.started_at.happened() ? "it has been running" + at_time("since", job.started_at)
                                      : std::string{"it is running"}) +
           ": " + std::to_string(job.pods_running) + " of " + pods_text(job.pods_wanted) +
           (job.size.empty() ? "" : "; " + wording::text(job.size));
}

// The pod that failed last, or the last report about a deleted one.
std::string cause_of_failure(const JobView& job, const std::vector<core::JobEvent>& events) {
    const PodView* last = nullptr;
    for (const PodView& pod : job.pods) {
        if (pod.facts.phase != PodPhase::failed) continue;
        if (last == nullptr || pod.facts.finished_at > last->facts.finished_at) last = &pod;
    }
    if (last != nullptr) {
        return "pod " + last->facts.key.name + " ended with " + pod_status(*last) +
               (last->node.empty() ? "" : " on node " + last->node);
    }
    if (job.waiting) return wording::sentence(*job.waiting);
    if (job.summary != nullptr && !job.summary->message.empty()) return job.summary->message;
    const auto trouble = std::find_if(events.begin(), events.end(),
                                      [](const core::JobEvent& event) { return event.warning; });
    if (trouble != events.end()) return trouble->object + ": " + trouble->message;
    return "its pods are gone; `gpuctl describe job " + shown_name(job.key) + "` shows its events";
}

std::string pending_sentence(const JobView& job) {
    if (job.pods.empty() && job.pods_wanted == 0) return "it requests no pods (replicas: 0)";
    if (job.pods.empty()) {
        return "its pods do not exist yet: " + (job.waiting
                                                    ? wording::sentence(*job.waiting)
                                                    : "they are being created in the cluster");
    }
    if (job.waiting) return "it waits: " + wording::sentence(*job.waiting);
    for (const PodView& pod : job.pods) {
        if (pod.facts.phase != PodPhase::pending) continue;
        return "it is placed and starts: pod " + pod.facts.key.name + " on node " + pod.node +
               " is " + pod_status(pod);
    }
    return "it starts";
}

}  // namespace

std::string state_sentence(const JobView& job, const std::vector<core::JobEvent>& events) {
    if (job.status == "Succeeded") return "it finished" + at_time("at", job.finished_at);
    if (job.status == "Failed") {
        return "it failed" + at_time("at", job.finished_at) + ": " + cause_of_failure(job, events);
    }
    if (job.paused && job.waiting) return wording::sentence(*job.waiting);
    if (job.status == "Terminating") {
        return "it is being deleted; " + pods_text(std::ssize(job.pods)) + " left";
    }
    if (job.pods_running > 0) return running_sentence(job);
    return pending_sentence(job);
}

}  // namespace gpuctl::api
