#include "k8s/write/status_writer.hpp"

#include <algorithm>

#include "aio/loop.hpp"
#include "k8s/json/json_text.hpp"
#include "k8s/json/object_time.hpp"
#include "net/http/http_types.hpp"
#include "wording/wording.hpp"

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
                        shortened(wording::kubernetes_message(explanation), 1'024)};
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

ConditionLedger::Entry& ConditionLedger::entry_of(const PodReference& pod) {
    Entry& entry = pods_.try_emplace(pod.uid, jobs_.end()).first->second;
    entry.pod = pod;
    return entry;
}

void ConditionLedger::belongs_to(Entry& entry, const ObjectKey& job) {
    if (entry.job != jobs_.end() && entry.job->first == job) return;
    leave_job(entry);
    entry.job = jobs_.try_emplace(job, 0).first;
    ++entry.job->second;
}

void ConditionLedger::leave_job(Entry& entry) {
    if (entry.job == jobs_.end()) return;
    if (--entry.job->second == 0) jobs_.erase(entry.job);
    entry.job = jobs_.end();
}

void ConditionLedger::unschedule(Entry& entry) {
    line_.remove(entry.pod.uid);
    entry.wanted.reset();
}

void ConditionLedger::schedule(Entry& entry, Text condition, Time due) {
    entry.wanted = std::move(condition);
    line_.add(entry.job->first, entry.pod.uid, due);
}

void ConditionLedger::observed(const PodReference& pod, std::int64_t generation,
                               bool stored_unscheduled, PodCondition stored, Instant since) {
    if (!stored_unscheduled && !pods_.contains(pod.uid)) return;  // nothing to store
    if (!pods_.contains(pod.uid) && pods_.size() >= settings_.pods_max) return;
    Entry& entry = entry_of(pod);
    entry.generation = generation;
    entry.stored_unscheduled = stored_unscheduled;
    if (!entry.stored || *entry.stored != stored) {
        entry.stored = std::make_shared<const PodCondition>(std::move(stored));
    }
    entry.since = since;
    entry.is_confirmed = true;
}

void ConditionLedger::want(const ObjectKey& job, const PodReference& pod, const Text& condition,
                           Time now) {
    if (!pods_.contains(pod.uid) && pods_.size() >= settings_.pods_max) {
        ++dropped_;
        return;
    }
    Entry& entry = entry_of(pod);
    belongs_to(entry, job);
    const bool same_text =
        entry.stored && (entry.stored == condition || *entry.stored == *condition);
    if (entry.stored_unscheduled && same_text) return unschedule(entry);
    if (entry.wanted) {
        entry.wanted = condition;  // the newest text, at the time that was planned
        return;
    }
    const bool same_reason =
        entry.stored_unscheduled && entry.stored && entry.stored->reason == condition->reason;
    Time due = now + settings_.hold_down;
    if (same_reason && entry.written_at != Time{}) {
        due = std::max(due, entry.written_at + settings_.same_reason_again.of(entry.job->second));
    }
    schedule(entry, condition, due);
}

void ConditionLedger::forget(const std::string& uid) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    unschedule(found->second);
    leave_job(found->second);
    pods_.erase(found);
}

std::optional<ConditionLedger::Write> ConditionLedger::next(Time now) {
    const std::optional<std::string> uid = line_.pop(now);
    if (!uid) return std::nullopt;
    Entry& entry = pods_.at(*uid);
    const Instant since = entry.stored_unscheduled ? entry.since : Instant{};
    Write write{entry.pod, *entry.wanted, since, entry.generation};
    entry.stored_unscheduled = true;
    entry.is_confirmed = false;
    entry.since = since;
    entry.stored = std::exchange(entry.wanted, nullptr);
    entry.written_at = now;
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
    const bool has_landed = entry.is_confirmed && entry.stored_unscheduled && entry.stored &&
                            *entry.stored == write.condition;
    if (has_landed) return;
    const auto pause = pause_after(++entry.failures, settings_.retry_first, settings_.retry_cap);
    // The stored condition is not known to be the wanted one.
    entry.stored_unscheduled = entry.since.happened();
    entry.stored.reset();
    Text newest =
        entry.wanted ? entry.wanted : std::make_shared<const PodCondition>(write.condition);
    schedule(entry, std::move(newest), now + pause);
}

StatusWriter::StatusWriter(aio::Loop& loop, Client& client, WriteRate rate,
                           ConditionLedger::Settings settings, RefusalNotice::Say on_refusal)
    : PacedWriter(loop),
      client_(client),
      ledger_(settings),
      budget_(rate),
      refusals_(std::move(on_refusal)) {}

void StatusWriter::observed(const PodReference& pod, std::int64_t generation,
                            bool stored_unscheduled, PodCondition stored, Instant since) {
    ledger_.observed(pod, generation, stored_unscheduled, std::move(stored), since);
}

void StatusWriter::want(const ReportPending& report) {
    auto condition = condition_for(report.explanation);
    if (!condition) return;
    const auto text = std::make_shared<const PodCondition>(std::move(*condition));
    for (const PodReference& pod : report.pods) {
        ledger_.want(report.job, pod, text, aio::Clock::now());
    }
    wake();
}

StatusWriter::Time StatusWriter::next_at(Time now) const {
    return std::max(ledger_.next_at(), budget_.ready_at(now));
}

aio::Task<void> StatusWriter::write_next(Time now, Epoch epoch) {
    if (!budget_.take_token(now)) co_return;
    auto order = ledger_.next(now);
    if (order) co_await write(std::move(*order), epoch);
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
        ledger_.written(order);
        co_return;
    }
    refusals_.record(answer.error(), aio::Clock::now());
    // 422 may mean another incarnation under its name, or an admission policy that may be removed:
    // the watch reports the removal of the old pod, which ends the attempts.
    if (answer.error().http_status == 404) {
        ledger_.forget(order.pod.uid);
    } else {
        ledger_.failed(order, aio::Clock::now());
    }
}

}  // namespace gpuctl::k8s
