#include "k8s/status_writer.hpp"

#include <algorithm>

#include "daemon/aio/loop.hpp"
#include "daemon/net/http_types.hpp"
#include "k8s/json_text.hpp"
#include "k8s/object_time.hpp"

namespace gpuctl::k8s {

std::string shortened(std::string text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) return text;
    std::size_t end = bytes_max - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    return text + "...";
}

std::chrono::milliseconds pause_after(std::int32_t failures, std::chrono::milliseconds first,
                                      std::chrono::milliseconds cap) {
    std::chrono::milliseconds pause = first;
    for (std::int32_t i = 1; i < failures && pause < cap; ++i) pause *= 2;
    return std::min(pause, cap);
}

std::optional<PodCondition> condition_for(const Explanation& explanation) {
    switch (explanation.reason) {
        case Reason::none:
        case Reason::not_synced:
        case Reason::not_leader:
            return std::nullopt;
        default:
            break;
    }
    const ReasonRow& row = row_of(explanation.reason);
    return PodCondition{row.autoscaler_can_help ? "Unschedulable" : "NotReadyForScheduling",
                        shortened(kubernetes_message(explanation), 1'024)};
}

std::string condition_patch(const PodReference& pod, const PodCondition& condition, Instant since,
                            std::int64_t generation) {
    std::string body = R"({"metadata":{"uid":)";
    append_json_string(body, pod.uid);
    body += R"(},"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":)";
    append_json_string(body, condition.reason);
    body += R"(,"message":)";
    append_json_string(body, condition.message);
    body += R"(,"lastTransitionTime":)";
    append_json_string(body, format_object_time(since));
    if (generation > 0) body += R"(,"observedGeneration":)" + std::to_string(generation);
    body += "}]}}";
    return body;
}

void ConditionLedger::unschedule(Entry& entry) {
    if (!entry.wanted) return;
    const auto [from, to] = due_.equal_range(entry.due);
    const auto mine =
        std::find_if(from, to, [&](const auto& item) { return item.second == entry.pod.uid; });
    if (mine != to) due_.erase(mine);
    entry.wanted.reset();
}

void ConditionLedger::schedule(Entry& entry, PodCondition condition, Time due) {
    entry.wanted = std::move(condition);
    entry.due = due;
    due_.emplace(due, entry.pod.uid);
}

void ConditionLedger::observed(const PodReference& pod, std::int64_t generation,
                               bool told_unscheduled, PodCondition told, Instant since) {
    if (!told_unscheduled && !pods_.contains(pod.uid)) return;  // nothing to remember
    if (!pods_.contains(pod.uid) && pods_.size() >= settings_.pods_max) return;
    Entry& entry = pods_[pod.uid];
    entry.pod = pod;
    entry.generation = generation;
    entry.told_unscheduled = told_unscheduled;
    entry.told = std::move(told);
    entry.since = since;
    entry.is_confirmed = true;
}

void ConditionLedger::want(const PodReference& pod, const PodCondition& condition, Time now) {
    if (!pods_.contains(pod.uid) && pods_.size() >= settings_.pods_max) {
        ++dropped_;
        return;
    }
    Entry& entry = pods_[pod.uid];
    entry.pod = pod;
    if (entry.told_unscheduled && entry.told == condition) return unschedule(entry);
    if (entry.wanted) {
        entry.wanted = condition;  // the newest text, at the time that was planned
        return;
    }
    const bool same_reason = entry.told_unscheduled && entry.told.reason == condition.reason;
    Time due = now + settings_.hold_down;
    if (same_reason && entry.told_at != Time{}) {
        due = std::max(due, entry.told_at + settings_.same_reason_again);
    }
    schedule(entry, condition, due);
}

void ConditionLedger::forget(const std::string& uid) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    unschedule(found->second);
    pods_.erase(found);
}

std::optional<ConditionLedger::Write> ConditionLedger::next(Time now) {
    if (due_.empty() || due_.begin()->first > now) return std::nullopt;
    Entry& entry = pods_.at(due_.begin()->second);
    due_.erase(due_.begin());
    const Instant since = entry.told_unscheduled ? entry.since : Instant{};
    Write write{entry.pod, std::move(*entry.wanted), since, entry.generation};
    entry.wanted.reset();
    entry.told_unscheduled = true;
    entry.is_confirmed = false;
    entry.since = since;
    entry.told = write.condition;
    entry.told_at = now;
    return write;
}

void ConditionLedger::written(const Write& write) {
    const auto found = pods_.find(write.pod.uid);
    if (found == pods_.end()) return;
    found->second.failures = 0;
    if (!found->second.since.happened()) found->second.since = write.since;
}

void ConditionLedger::failed(const Write& write, Time now) {
    const auto found = pods_.find(write.pod.uid);
    if (found == pods_.end()) return;
    Entry& entry = found->second;
    const bool has_landed =
        entry.is_confirmed && entry.told_unscheduled && entry.told == write.condition;
    if (has_landed) return;
    const auto pause = pause_after(++entry.failures, settings_.retry_first, settings_.retry_cap);
    // Whatever stands there, it is not known to be what was to be written.
    entry.told_unscheduled = entry.since.happened();
    entry.told = {};
    PodCondition newest = entry.wanted.value_or(write.condition);
    unschedule(entry);
    schedule(entry, std::move(newest), now + pause);
}

ConditionLedger::Time ConditionLedger::next_at() const {
    return due_.empty() ? Time::max() : due_.begin()->first;
}

StatusWriter::StatusWriter(aio::Loop& loop, Client& client, std::int64_t writes_per_second,
                           ConditionLedger::Settings settings, RefusalNotice::Say on_refusal)
    : client_(client),
      changed_(loop),
      ledger_(settings),
      budget_(writes_per_second, writes_per_second),
      refusals_(std::move(on_refusal)) {}

void StatusWriter::observed(const PodReference& pod, std::int64_t generation, bool told_unscheduled,
                            PodCondition told, Instant since) {
    ledger_.observed(pod, generation, told_unscheduled, std::move(told), since);
}

void StatusWriter::want(const ReportPending& report) {
    const auto condition = condition_for(report.explanation);
    if (!condition) return;
    for (const PodReference& pod : report.pods) {
        ledger_.want(pod, *condition, aio::Clock::now());
    }
    changed_.notify_all();
}

void StatusWriter::lead(std::optional<Epoch> epoch) {
    epoch_ = epoch;
    changed_.notify_all();
}

aio::Task<void> StatusWriter::run() {
    // The wait below ends at the latest then, whatever the ledger says; false there may also mean
    // that the group was cancelled, which the sleep after it tells apart.
    constexpr std::chrono::seconds longest_wait{60};
    for (;;) {
        const auto now = aio::Clock::now();
        const auto at = std::max(ledger_.next_at(), budget_.ready_at());
        if (!epoch_ || at > now) {
            const auto until = std::min(epoch_ ? at : now + longest_wait, now + longest_wait);
            const bool notified = co_await changed_.wait(aio::Deadline{until});
            if (!notified) {
                const bool running = co_await aio::sleep_until(aio::Deadline{now});
                if (!running) co_return;
            }
            continue;
        }
        auto order = ledger_.next(now);
        if (!order || !budget_.take(now)) continue;
        co_await write(std::move(*order), *epoch_);
    }
}

aio::Task<void> StatusWriter::write(ConditionLedger::Write order, Epoch epoch) {
    if (!order.since.happened()) order.since = Instant{aio::Loop::wall_ms()};
    ApiCall call;
    call.method = "PATCH";
    call.path = "/api/v1/namespaces/" + net::percent_encode(order.pod.key.namespace_name) +
                "/pods/" + net::percent_encode(order.pod.key.name) + "/status";
    call.body = condition_patch(order.pod, order.condition, order.since, order.generation);
    call.content_type = kStrategicMergePatch;
    call.fenced_by = epoch;
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    const ApiResult<ApiResponse> answer = co_await client_.call(std::move(call), deadline);
    if (answer) {
        ++figures_.written;
        ledger_.written(order);
        co_return;
    }
    ++figures_.failed;
    refusals_.note(answer.error(), aio::Clock::now());
    // 422 may be another incarnation under its name, or an admission policy that goes away: the
    // removal of the old one, which the watch will tell, ends the tries.
    if (answer.error().http_status == 404) {
        ledger_.forget(order.pod.uid);
    } else {
        ledger_.failed(order, aio::Clock::now());
    }
}

}  // namespace gpuctl::k8s
