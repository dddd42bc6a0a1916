#include "k8s/write/event_ledger.hpp"

#include <algorithm>
#include <utility>

#include "k8s/json/json_text.hpp"
#include "k8s/json/object_time.hpp"
#include "k8s/write/status_writer.hpp"
#include "text/hex.hpp"

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
    return pod.key.name.substr(0, kNameBytesMax - 17) + "." + text::hex16(salt);
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

void FailureLedger::leave_job(Entry& entry) {
    if (--entry.job->second == 0) jobs_.erase(entry.job);
}

void FailureLedger::repeat_later(const Entry& entry) {
    line_.add(entry.job->first, entry.pod.uid, entry.written_at + settings_.repeat_after);
}

void FailureLedger::want(const ReportPending& report, Time now) {
    auto condition = condition_for(report.explanation);
    if (!condition) return;
    const auto note = std::make_shared<const std::string>(std::move(condition->message));
    for (const PodReference& pod : report.pods) {
        want_one(report.job, pod, report.explanation.reason, note, now);
    }
}

void FailureLedger::want_one(const ObjectKey& job, const PodReference& pod, Reason reason,
                             const Text& note, Time now) {
    auto found = pods_.find(pod.uid);
    if (found == pods_.end()) {
        if (pods_.size() >= settings_.pods_max) {
            ++dropped_;
            return;
        }
        const auto row = jobs_.try_emplace(job, 0).first;
        ++row->second;
        found = pods_.try_emplace(pod.uid, pod, row).first;
    } else if (found->second.job->first != job) {
        leave_job(found->second);
        found->second.job = jobs_.try_emplace(job, 0).first;
        ++found->second.job->second;
        line_.remove(pod.uid);
    }
    Entry& entry = found->second;
    const bool is_planned = entry.wanted && line_.contains(pod.uid);
    entry.wanted.reset();
    if (entry.written_note && entry.written_reason == reason && *entry.written_note == *note) {
        return repeat_later(entry);
    }
    entry.wanted = note;
    entry.wanted_reason = reason;
    if (is_planned) return;  // only the text changes; the time was planned before
    Time due = now + settings_.hold_down;
    if (entry.written_note) {
        const PodPause& pause = reason == entry.written_reason ? settings_.same_reason_again
                                                               : settings_.other_reason_again;
        due = std::max(due, entry.written_at + pause.of(entry.job->second));
    }
    line_.add(job, pod.uid, due);
}

void FailureLedger::forget(const std::string& uid) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    line_.remove(uid);
    leave_job(found->second);
    pods_.erase(found);
}

std::optional<FailureLedger::Write> FailureLedger::next(Time now) {
    const std::optional<std::string> uid = line_.pop(now);
    if (!uid) return std::nullopt;
    Entry& entry = pods_.at(*uid);
    Write write;
    if (entry.wanted) {
        entry.written_reason = entry.wanted_reason;
        entry.written_note = std::exchange(entry.wanted, nullptr);
        entry.name.clear();
        entry.count = 1;
    } else if (!entry.name.empty()) {
        write.series_name = entry.name;
        write.count = ++entry.count;
    }
    entry.written_at = now;
    write.event = {entry.pod, "Warning", "FailedScheduling", "Scheduling", *entry.written_note};
    repeat_later(entry);
    return write;
}

void FailureLedger::posted(const std::string& uid, std::string name) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    found->second.name = std::move(name);
    found->second.failures = 0;
}

void FailureLedger::failed(const Write& write, Time now) {
    const auto found = pods_.find(write.event.regarding.uid);
    if (found == pods_.end()) return;
    Entry& entry = found->second;
    if (entry.wanted) return;  // a newer text is due anyway
    // The refusal may be permanent, so the attempts are limited.
    if (++entry.failures >= settings_.tries_max) {
        entry.failures = 0;
        return;
    }
    const auto pause = pause_after(entry.failures, settings_.retry_first, settings_.retry_cap);
    entry.wanted = std::exchange(entry.written_note, nullptr);
    entry.wanted_reason = entry.written_reason;
    line_.add(entry.job->first, entry.pod.uid, now + pause);
}

void FailureLedger::lost(const std::string& uid, Time now) {
    const auto found = pods_.find(uid);
    if (found == pods_.end() || found->second.wanted) return;
    found->second.name.clear();
    line_.add(found->second.job->first, uid, now);
}

EventNote SuccessLine::Item::event() const {
    const std::string name = to_string(pod.key);
    switch (what) {
        case What::scheduled:
            return {pod, "Normal", "Scheduled", "Binding",
                    "Successfully assigned " + name + " to " + detail};
        case What::preempted:
            return {pod, "Warning", "Preempted", "Preempting",
                    "Pod " + name + " is evicted: " + detail};
        case What::drained:
            break;
    }
    return {pod, "Warning", "Drained", "Draining", "Pod " + name + " is evicted: " + detail};
}

void SuccessLine::make_room() {
    const auto longest = std::max_element(
        jobs_.begin(), jobs_.end(),
        [](const auto& a, const auto& b) { return a.second.items.size() < b.second.items.size(); });
    auto& items = longest->second.items;
    const std::size_t goes = (items.size() + 1) / 2;
    items.resize(items.size() - goes);
    size_ -= goes;
    dropped_ += goes;
    if (!items.empty()) return;
    turns_.erase(longest->second.turn);
    jobs_.erase(longest);
}

void SuccessLine::add(const ObjectKey& job, Item item) {
    if (size_max_ == 0) {
        ++dropped_;
        return;
    }
    if (size_ >= size_max_) make_room();
    const auto [row, is_new] = jobs_.try_emplace(job);
    if (is_new) row->second.turn = turns_.insert(turns_.end(), job);
    row->second.items.push_back(std::move(item));
    ++size_;
}

std::optional<SuccessLine::Item> SuccessLine::pop() {
    if (turns_.empty()) return std::nullopt;
    const auto row = jobs_.find(turns_.front());
    auto& items = row->second.items;
    Item item = std::move(items.front());
    items.pop_front();
    --size_;
    turns_.splice(turns_.end(), turns_, row->second.turn);
    if (items.empty()) {
        turns_.erase(row->second.turn);
        jobs_.erase(row);
    }
    return item;
}

}  // namespace gpuctl::k8s
