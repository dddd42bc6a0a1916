#include "k8s/write/event_recorder.hpp"

#include <algorithm>

#include "aio/loop.hpp"
#include "net/http/http_types.hpp"
#include "scheduler/base/hash.hpp"
#include "wording/wording.hpp"

namespace gpuctl::k8s {

namespace {

std::string events_path(const std::string& namespace_name) {
    return "/apis/events.k8s.io/v1/namespaces/" + net::percent_encode(namespace_name) + "/events";
}

}  // namespace

EventRecorder::EventRecorder(aio::Loop& loop, Client& client, EventRecorderSettings settings)
    : PacedWriter(loop),
      client_(client),
      settings_(std::move(settings)),
      ledger_(settings_.ledger),
      line_(settings_.successes_rate.per_second > 0 ? settings_.successes_waiting_max : 0),
      failures_(settings_.failures ? settings_.failures_per_second : 0,
                settings_.failures_per_second),
      successes_(settings_.successes_rate),
      refusals_(settings_.on_refusal) {}

void EventRecorder::pending(const ReportPending& report) {
    if (!settings_.failures) return;
    ledger_.want(report, aio::Clock::now());
    wake();
}

void EventRecorder::started(const ReportStarted& report) {
    for (const PodReference& pod : report.pods) ledger_.forget(pod.uid);
    if (!settings_.successes) return;
    const Instant now{aio::Loop::wall_ms()};
    for (std::size_t at = 0; at < report.pods.size() && at < report.nodes.size(); ++at) {
        line_.add(report.job, {SuccessLine::Item::What::scheduled, report.pods[at],
                               report.nodes[at] + wording::text(report.notes), now});
    }
    wake();
}

// Written when the eviction has happened: a disruption budget may refuse the request again and
// again.
void EventRecorder::preempted(const EvictPod& eviction) {
    if (!settings_.successes) return;
    const bool is_drained = eviction.preemptor == ObjectKey{};
    line_.add(eviction.job,
              {is_drained ? SuccessLine::Item::What::drained : SuccessLine::Item::What::preempted,
               eviction.pod, wording::cause_text(eviction.why), Instant{aio::Loop::wall_ms()}});
    wake();
}

std::string EventRecorder::new_name(const PodReference& pod) {
    return event_name(pod, mix64(static_cast<std::uint64_t>(aio::Loop::wall_ms()) ^
                                 (settings_.seed << 20) ^ ++names_));
}

EventRecorder::Figures EventRecorder::figures() const {
    Figures figures = figures_;
    figures.dropped = line_.dropped() + ledger_.dropped();
    return figures;
}

EventRecorder::Time EventRecorder::next_at(Time now) const {
    const auto failure = std::max(ledger_.next_at(), failures_.ready_at());
    return line_.empty() ? failure : std::min(failure, successes_.ready_at(now));
}

aio::Task<void> EventRecorder::write_next(Time now, Epoch epoch) {
    if (!line_.empty() && successes_.take_token(now)) {
        std::optional<SuccessLine::Item> item = line_.pop();
        std::string name = new_name(item->pod);
        co_await post(item->event(), std::move(name), item->at, epoch);
        co_return;
    }
    if (ledger_.next_at() > now || !failures_.take_token(now)) co_return;
    auto order = ledger_.next(now);
    if (order) co_await write(std::move(*order), epoch);
}

void EventRecorder::count(const ApiResult<ApiResponse>& answer) {
    ++(answer ? figures_.written : figures_.failed);
    if (!answer) refusals_.record(answer.error(), aio::Clock::now());
}

aio::Task<EventRecorder::Posted> EventRecorder::post(EventNote event, std::string name, Instant at,
                                                     Epoch epoch) {
    ApiCall call;
    call.method = "POST";
    call.path = events_path(event.regarding.key.namespace_name);
    call.body = event_body(event, name, settings_.instance, at);
    call.fenced_by = epoch;
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    const ApiResult<ApiResponse> answer = co_await client_.call(std::move(call), deadline);
    count(answer);
    if (answer) co_return Posted::made;
    if (answer.error().is_namespace_terminating()) co_return Posted::never;
    const ErrorCode code = answer.error().code;
    const bool is_unclear = code == ErrorCode::UnknownOutcome || code == ErrorCode::Timeout;
    co_return is_unclear ? Posted::unknown : Posted::not_made;
}

aio::Task<void> EventRecorder::write(FailureLedger::Write order, Epoch epoch) {
    const PodReference& pod = order.event.regarding;
    if (order.series_name.empty()) {
        std::string name = new_name(pod);
        const Instant now{aio::Loop::wall_ms()};
        const Posted posted = co_await post(order.event, name, now, epoch);
        if (posted == Posted::made) ledger_.posted(pod.uid, std::move(name));
        if (posted == Posted::not_made) ledger_.failed(order, aio::Clock::now());
        if (posted == Posted::never) ledger_.forget(pod.uid);
        co_return;
    }
    ApiCall call;
    call.method = "PATCH";
    call.path = events_path(pod.key.namespace_name) + "/" + net::percent_encode(order.series_name);
    call.body = series_patch(order.count, Instant{aio::Loop::wall_ms()});
    call.content_type = kMergePatch;
    call.fenced_by = epoch;
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{5});
    const ApiResult<ApiResponse> answer = co_await client_.call(std::move(call), deadline);
    const bool is_gone = !answer && answer.error().http_status == 404;
    if (is_gone) {
        ledger_.lost(pod.uid, aio::Clock::now());
    } else {
        count(answer);
    }
}

}  // namespace gpuctl::k8s
