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

std::optional<PodCondition> condition_for(const Explanation& explanation) {
    switch (explanation.reason) {
        case Reason::none:
        case Reason::gated:
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

std::string condition_patch(const PodReference& pod, const PodCondition& condition, bool first,
                            std::int64_t generation, Instant now) {
    std::string body = R"({"metadata":{"uid":)";
    append_json_string(body, pod.uid);
    body += R"(},"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":)";
    append_json_string(body, condition.reason);
    body += R"(,"message":)";
    append_json_string(body, condition.message);
    if (first) {
        body += R"(,"lastTransitionTime":)";
        append_json_string(body, format_object_time(now));
    }
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

void ConditionLedger::observed(const PodReference& pod, std::int64_t generation,
                               bool told_unscheduled, PodCondition told) {
    if (!told_unscheduled && !pods_.contains(pod.uid)) return;  // nothing to remember
    if (!pods_.contains(pod.uid) && pods_.size() >= settings_.pods_max) return;
    Entry& entry = pods_[pod.uid];
    entry.pod = pod;
    entry.generation = generation;
    entry.told_unscheduled = told_unscheduled;
    entry.told = std::move(told);
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
    entry.wanted = condition;
    entry.due = now + settings_.hold_down;
    if (same_reason && entry.told_at != Time{}) {
        entry.due = std::max(entry.due, entry.told_at + settings_.same_reason_again);
    }
    due_.emplace(entry.due, pod.uid);
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
    Write write{entry.pod, std::move(*entry.wanted), !entry.told_unscheduled, entry.generation};
    entry.wanted.reset();
    entry.told_unscheduled = true;
    entry.told = write.condition;
    entry.told_at = now;
    return write;
}

ConditionLedger::Time ConditionLedger::next_at() const {
    return due_.empty() ? Time::max() : due_.begin()->first;
}

StatusWriter::StatusWriter(aio::Loop& loop, Client& client, std::int64_t writes_per_second,
                           ConditionLedger::Settings settings)
    : client_(client),
      changed_(loop),
      ledger_(settings),
      budget_(writes_per_second, writes_per_second) {}

void StatusWriter::observed(const PodReference& pod, std::int64_t generation, bool told_unscheduled,
                            PodCondition told) {
    ledger_.observed(pod, generation, told_unscheduled, std::move(told));
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
    ApiCall call;
    call.method = "PATCH";
    call.path = "/api/v1/namespaces/" + net::percent_encode(order.pod.key.namespace_name) +
                "/pods/" + net::percent_encode(order.pod.key.name) + "/status";
    call.body = condition_patch(order.pod, order.condition, order.first, order.generation,
                                Instant{aio::Loop::wall_ms()});
    call.content_type = kStrategicMergePatch;
    call.fenced_by = epoch;
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    const ApiResult<ApiResponse> answer = co_await client_.call(std::move(call), deadline);
    if (answer) {
        ++figures_.written;
    } else {
        ++figures_.failed;
        // 422: another incarnation carries the name. Gone pods are forgotten by their removal too.
        const int status = answer.error().http_status;
        if (status == 404 || status == 422) ledger_.forget(order.pod.uid);
    }
}

}  // namespace gpuctl::k8s
