#include "k8s/event_recorder.hpp"

#include <algorithm>

#include "daemon/aio/loop.hpp"
#include "daemon/net/http_types.hpp"
#include "scheduler/base/hash.hpp"

namespace gpuctl::k8s {

namespace {

constexpr std::size_t kOutboxMax = 256;

std::string events_path(const std::string& namespace_name) {
    return "/apis/events.k8s.io/v1/namespaces/" + net::percent_encode(namespace_name) + "/events";
}

}  // namespace

EventRecorder::EventRecorder(aio::Loop& loop, Client& client, EventRecorderSettings settings)
    : client_(client),
      settings_(std::move(settings)),
      changed_(loop),
      ledger_(settings_.ledger),
      failures_(settings_.failures ? settings_.failures_per_second : 0,
                settings_.failures_per_second),
      successes_(settings_.successes ? settings_.successes_per_second : 0,
                 settings_.successes_per_second),
      refusals_(settings_.on_refusal) {}

void EventRecorder::pending(const ReportPending& report) {
    if (!settings_.failures) return;
    ledger_.want(report, aio::Clock::now());
    changed_.notify_all();
}

void EventRecorder::started(const ReportStarted& report) {
    ledger_.forget(report.job);
    if (!settings_.successes || report.pods.empty()) return;
    if (outbox_.size() >= kOutboxMax || !successes_.take(aio::Clock::now())) {
        ++figures_.dropped;
        return;
    }
    outbox_.push_back(started_note(report));
    changed_.notify_all();
}

// Once it happened; that it was asked is no news, a disruption budget may say no again and again.
void EventRecorder::preempted(const EvictPod& eviction) {
    if (!settings_.successes) return;
    if (outbox_.size() >= kOutboxMax || !successes_.take(aio::Clock::now())) {
        ++figures_.dropped;
        return;
    }
    outbox_.push_back(preempted_note(eviction));
    changed_.notify_all();
}

void EventRecorder::lead(std::optional<Epoch> epoch) {
    epoch_ = epoch;
    changed_.notify_all();
}

std::string EventRecorder::new_name(const PodReference& pod) {
    return event_name(pod, mix64(static_cast<std::uint64_t>(aio::Loop::wall_ms()) ^
                                 (settings_.seed << 20) ^ ++names_));
}

aio::Task<void> EventRecorder::run() {
    constexpr std::chrono::seconds longest_wait{60};
    for (;;) {
        const auto now = aio::Clock::now();
        if (epoch_ && !outbox_.empty()) {
            EventNote event = std::move(outbox_.front());
            outbox_.pop_front();
            std::string name = new_name(event.regarding);
            co_await post(std::move(event), std::move(name), *epoch_);
            continue;
        }
        const auto at = std::max(ledger_.next_at(), failures_.ready_at());
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
        if (!order || !failures_.take(now)) continue;
        co_await write(std::move(*order), *epoch_);
    }
}

void EventRecorder::count(const ApiResult<ApiResponse>& answer) {
    ++(answer ? figures_.written : figures_.failed);
    if (!answer) refusals_.note(answer.error(), aio::Clock::now());
}

aio::Task<std::optional<bool>> EventRecorder::post(EventNote event, std::string name, Epoch epoch) {
    ApiCall call;
    call.method = "POST";
    call.path = events_path(event.regarding.key.namespace_name);
    call.body = event_body(event, name, settings_.instance, Instant{aio::Loop::wall_ms()});
    call.fenced_by = epoch;
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    const ApiResult<ApiResponse> answer = co_await client_.call(std::move(call), deadline);
    count(answer);
    if (answer) co_return true;
    const ErrorCode code = answer.error().code;
    if (code == ErrorCode::UnknownOutcome || code == ErrorCode::Timeout) co_return std::nullopt;
    co_return false;
}

aio::Task<void> EventRecorder::write(FailureLedger::Write order, Epoch epoch) {
    if (order.count == 0) {
        std::string name = new_name(order.event.regarding);
        const std::optional<bool> made = co_await post(order.event, name, epoch);
        if (made && *made) ledger_.posted(order.job, std::move(name));
        if (made && !*made) ledger_.failed(order, aio::Clock::now());
        co_return;
    }
    if (order.series_name.empty()) co_return;  // the event itself never went out
    ApiCall call;
    call.method = "PATCH";
    call.path =
        events_path(order.job.namespace_name) + "/" + net::percent_encode(order.series_name);
    call.body = series_patch(order.count, Instant{aio::Loop::wall_ms()});
    call.content_type = kMergePatch;
    call.fenced_by = epoch;
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    const ApiResult<ApiResponse> answer = co_await client_.call(std::move(call), deadline);
    count(answer);
}

}  // namespace gpuctl::k8s
