// What events say, and when a repeat is a new event, a series, or nothing.

#include <algorithm>
#include <array>
#include <cstdio>

#include "k8s/event_recorder.hpp"
#include "k8s/json_text.hpp"
#include "k8s/object_time.hpp"
#include "k8s/status_writer.hpp"

namespace gpuctl::k8s {

namespace {

constexpr std::size_t kNoteBytesMax = 1'024;
constexpr std::size_t kNameBytesMax = 253;

void member(std::string& body, std::string_view key, std::string_view value) {
    body += body.ends_with('{') ? "" : ",";
    append_json_string(body, key);
    body += ':';
    append_json_string(body, value);
}

}  // namespace

std::string event_name(const PodReference& pod, std::uint64_t salt) {
    std::array<char, 20> suffix{};
    std::snprintf(suffix.data(), suffix.size(), ".%016llx", static_cast<unsigned long long>(salt));
    return pod.key.name.substr(0, kNameBytesMax - 17) + suffix.data();
}

std::string event_body(const EventNote& event, const std::string& name, const std::string& instance,
                       Instant now) {
    const PodReference& pod = event.regarding;
    std::string body = R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{)";
    member(body, "namespace", pod.key.namespace_name);
    member(body, "name", name);
    body += R"(},"regarding":{"apiVersion":"v1","kind":"Pod")";
    member(body, "namespace", pod.key.namespace_name);
    member(body, "name", pod.key.name);
    member(body, "uid", pod.uid);
    body += '}';
    member(body, "eventTime", format_micro_time(now));
    member(body, "type", event.type);
    member(body, "reason", event.reason);
    member(body, "action", event.action);
    member(body, "note", shortened(event.note, kNoteBytesMax));
    member(body, "reportingController", "gpuctl");
    member(body, "reportingInstance", instance.substr(0, 128));
    body += '}';
    return body;
}

std::string series_patch(std::int64_t count, Instant last_observed) {
    std::string body = R"({"series":{"count":)" + std::to_string(count);
    member(body, "lastObservedTime", format_micro_time(last_observed));
    return body + "}}";
}

EventNote started_note(const ReportStarted& report) {
    EventNote event;
    event.type = "Normal";
    event.reason = "Scheduled";
    event.action = "Binding";
    if (report.pods.empty()) return event;
    event.regarding = report.pods.front();
    if (report.pods.size() == 1) {
        event.note = "Successfully assigned " + to_string(event.regarding.key) + " to " +
                     (report.nodes.empty() ? "" : report.nodes.front());
        return event;
    }
    std::map<std::string, int> per_node;
    for (const std::string& node : report.nodes) ++per_node[node];
    event.note = "Successfully assigned " + std::to_string(report.pods.size()) + " pods of " +
                 to_string(report.job) + " to " + std::to_string(per_node.size()) + " node(s):";
    for (const auto& [node, pods] : per_node) {
        event.note +=
            (event.note.back() == ':' ? " " : ", ") + node + " (" + std::to_string(pods) + ")";
    }
    return event;
}

EventNote preempted_note(const EvictPod& eviction) {
    EventNote event;
    event.type = "Warning";
    const bool is_drained = eviction.beneficiary == ObjectKey{};
    event.reason = is_drained ? "Drained" : "Preempted";
    event.action = is_drained ? "Draining" : "Preempting";
    event.regarding = eviction.pod;
    event.note = "Pod " + to_string(eviction.pod.key) + " is evicted: " + eviction.why;
    return event;
}

void FailureLedger::plan(const ObjectKey& job, Entry& entry, Time due) {
    if (entry.due != Time::max()) {
        const auto [from, to] = due_.equal_range(entry.due);
        const auto mine =
            std::find_if(from, to, [&](const auto& item) { return item.second == job; });
        if (mine != to) due_.erase(mine);
    }
    entry.due = due;
    if (due != Time::max()) due_.emplace(due, job);
}

void FailureLedger::want(const ReportPending& report, Time now) {
    const auto condition = condition_for(report.explanation);
    if (!condition || report.pods.empty()) return;
    if (!jobs_.contains(report.job) && jobs_.size() >= settings_.jobs_max) {
        ++dropped_;
        return;
    }
    Entry& entry = jobs_[report.job];
    const Reason reason = report.explanation.reason;
    const bool told = entry.told_at != Time{};
    if (told && reason == entry.told && condition->message == entry.told_note) {
        // Said already: only counted, and the count is told later.
        ++entry.count;
        if (!entry.wanted && entry.due == Time::max()) {
            entry.series = true;
            plan(report.job, entry, entry.told_at + settings_.series_flush);
        }
        return;
    }
    const bool planned = entry.wanted.has_value();
    entry.wanted = EventNote{report.pods.front(), "Warning", "FailedScheduling", "Scheduling",
                             condition->message};
    entry.wanted_reason = reason;
    entry.series = false;
    if (planned) return;  // the newest words, at the time that was planned
    Time due = now + settings_.hold_down;
    if (told && reason == entry.told) {
        due = std::max(due, entry.told_at + settings_.same_reason_again);
    }
    plan(report.job, entry, due);
}

void FailureLedger::forget(const ObjectKey& job) {
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return;
    plan(job, found->second, Time::max());
    jobs_.erase(found);
}

std::optional<FailureLedger::Write> FailureLedger::next(Time now) {
    if (due_.empty() || due_.begin()->first > now) return std::nullopt;
    const ObjectKey job = due_.begin()->second;
    due_.erase(due_.begin());
    Entry& entry = jobs_.at(job);
    entry.due = Time::max();
    entry.told_at = now;
    Write write{job, {}, {}, 0};
    if (entry.series) {
        entry.series = false;
        write.series_name = entry.name;
        write.count = entry.count;
        return write;
    }
    write.event = std::move(*entry.wanted);
    entry.wanted.reset();
    entry.told = entry.wanted_reason;
    entry.told_note = write.event.note;
    entry.name.clear();
    entry.count = 1;
    return write;
}

FailureLedger::Time FailureLedger::next_at() const {
    return due_.empty() ? Time::max() : due_.begin()->first;
}

void FailureLedger::posted(const ObjectKey& job, std::string name) {
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return;
    found->second.name = std::move(name);
    found->second.failures = 0;
}

void FailureLedger::failed(const Write& write, Time now) {
    const auto found = jobs_.find(write.job);
    if (found == jobs_.end()) return;
    Entry& entry = found->second;
    // The job may be gone: nobody says so here, so there is an end to it.
    if (++entry.failures >= settings_.tries_max) {
        entry.failures = 0;
        return;
    }
    const auto pause = pause_after(entry.failures, settings_.retry_first, settings_.retry_cap);
    if (!entry.wanted) {
        entry.wanted = write.event;
        entry.wanted_reason = entry.told;
    }
    entry.series = false;
    entry.told_at = Time{};  // nothing was told
    plan(write.job, entry, now + pause);
}

}  // namespace gpuctl::k8s
