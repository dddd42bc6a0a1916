// Submits, changes and deletions, and when each is answered.

#include <utility>

#include "daemon/core/engine_waiter.hpp"
#include "daemon/diagnostics/log.hpp"
#include "scheduler/state/workloads/check_change.hpp"
#include "wording/change_refusal.hpp"

namespace gpuctl::core {

void EngineLoop::request_sync(std::vector<std::shared_ptr<Waiter>> waiters) {
    const auto started = aio::Clock::now();
    journal_.sync([this, alive = alive_, started, waiters = std::move(waiters)](Result<void> done) {
        if (!*alive) return;
        notify(&ports::EngineObserver::on_synced, aio::Clock::now() - started);
        for (const auto& waiter : waiters) {
            if (!done) {
                waiter->answer(done.error());
                continue;
            }
            waiter->on_disk = true;
            waiter->answer_if_complete();
        }
        if (!done) break_down(done.error());
    });
}

void EngineLoop::settle(const WorkloadOutcome& outcome) {
    const auto found = awaiting_workload_.find(to_string(outcome.key));
    if (found == awaiting_workload_.end() || (!outcome.done && outcome.retryable)) return;
    const std::shared_ptr<Waiter> waiter = found->second;
    awaiting_workload_.erase(found);
    if (outcome.done) {
        waiter->in_cluster = true;
        waiter->answer_if_complete();
        return;
    }
    if (waiter->is_change) {
        waiter->answer(make_error(outcome.code, "change job " + to_string(outcome.key) +
                                                    ": the cluster refused it, and the job is as "
                                                    "before: " +
                                                    outcome.message));
        return;
    }
    waiter->answer(make_error(outcome.code, "create job " + to_string(outcome.key) +
                                                ": the cluster refused it: " + outcome.message));
    // The client gets "not found", so no request is stored.
    mailbox_.push_back({JobDeleteRequested{outcome.key, false}, nullptr});
    schedule_turn();
}

std::optional<Error> EngineLoop::refusal() const {
    if (broken_) return broken_;
    if (intake_stopped_) {
        return make_error(ErrorCode::ShuttingDown, "gpuctld is stopping and accepts no more work");
    }
    if (!synced_) {
        return make_error(ErrorCode::ClusterUnavailable,
                          "the first lists of the cluster are not complete yet; retry soon");
    }
    if (!leading_) {
        return make_error(
            ErrorCode::NotLeader,
            "this gpuctld is not the leader: another one is, or it is just taking over "
            "(/readyz?verbose shows which); retry, or send the request to the leader");
    }
    return std::nullopt;
}

aio::Task<Result<void>> EngineLoop::submit(JobRecord job, aio::Deadline deadline) {
    if (std::optional<Error> refused = refusal()) co_return *refused;
    const ObjectKey key = job.spec.key;
    if (arriving_.contains(key)) {
        co_return make_error(ErrorCode::JobExists,
                             "job " + to_string(key) + " was sent before and is being stored");
    }
    Item item{JobSubmitted{std::move(job)}, std::make_shared<Waiter>(loop_)};
    item.waiter->key = key;
    item.waiter->needs_workload = settings_.wait_for_workload;
    if (mailbox_.size() < settings_.queue_max) {
        arriving_.insert(key);
        if (settings_.wait_for_workload) awaiting_workload_[to_string(key)] = item.waiter;
    }
    Result<void> outcome = co_await enqueue(std::move(item), deadline);
    co_return outcome;
}

aio::Task<Result<void>> EngineLoop::remove(ObjectKey key, bool force, aio::Deadline deadline) {
    if (std::optional<Error> refused = refusal()) co_return *refused;
    Item item{JobDeleteRequested{key, force}, std::make_shared<Waiter>(loop_)};
    item.waiter->key = key;
    Result<void> outcome = co_await enqueue(std::move(item), deadline);
    co_return outcome;
}

aio::Task<Result<void>> EngineLoop::change_objects(Policy policy, PolicyObjectsChanged objects,
                                                   std::string what, aio::Deadline deadline) {
    if (std::optional<Error> refused = refusal()) co_return *refused;
    if (mailbox_.size() + 1 >= settings_.queue_max) {  // both or none
        notify(&ports::EngineObserver::on_turned_away);
        co_return make_error(ErrorCode::TooManyRequests,
                             "too many inputs wait for the scheduler; retry in a second");
    }
    change_policy(std::move(policy));
    Item item{std::move(objects), std::make_shared<Waiter>(loop_)};
    item.waiter->what = std::move(what);
    Result<void> outcome = co_await enqueue(std::move(item), deadline);
    co_return outcome;
}

aio::Task<Result<void>> EngineLoop::change(JobUpdated change, aio::Deadline deadline) {
    if (std::optional<Error> refused = refusal()) co_return *refused;
    const ObjectKey key = change.key;
    if (changing_.contains(key) || awaiting_workload_.contains(to_string(key))) {
        co_return make_error(ErrorCode::Conflict, "change job " + to_string(key) +
                                                      ": another change of it is not carried out "
                                                      "yet; repeat it shortly");
    }
    Item item{std::move(change), std::make_shared<Waiter>(loop_)};
    item.waiter->key = key;
    item.waiter->is_change = true;
    item.waiter->needs_workload = true;
    if (mailbox_.size() < settings_.queue_max) {
        changing_.emplace(key, item.waiter);
        awaiting_workload_[to_string(key)] = item.waiter;
    }
    Result<void> outcome = co_await enqueue(std::move(item), deadline);
    co_return outcome;
}

// Inputs before it may have changed the job since the request was checked: the engine ignores a
// change that it does not accept.
void EngineLoop::check_change(const JobUpdated& change) {
    const auto found = changing_.find(change.key);
    if (found == changing_.end()) return;
    const ChangeRefusal refused = gpuctl::check_change(engine_.state(), change);
    if (refused.is_accepted()) return;
    awaiting_workload_.erase(to_string(change.key));
    found->second->answer(wording::error_of(change, refused));
    changing_.erase(found);
}

// A change that concerns only the engine has no outcome.
void EngineLoop::note_applied(const JobUpdated& change) {
    const auto found = changing_.find(change.key);
    if (found == changing_.end()) return;
    const std::shared_ptr<Waiter> waiter = found->second;
    changing_.erase(found);
    const JobId id = engine_.state().jobs.find_job(change.key);
    const bool is_open = id.exists() && (engine_.state().job(id).workload.due ||
                                         engine_.state().job(id).workload.in_flight);
    if (is_open) return;
    awaiting_workload_.erase(to_string(change.key));
    waiter->in_cluster = true;
    waiter->answer_if_complete();
}

aio::Task<Result<void>> EngineLoop::enqueue(Item item, aio::Deadline deadline) {
    if (mailbox_.size() >= settings_.queue_max) {
        notify(&ports::EngineObserver::on_turned_away);
        co_return make_error(ErrorCode::TooManyRequests,
                             std::to_string(settings_.queue_max) +
                                 " inputs wait for the scheduler, the most that "
                                 "expert.journal.queueMax allows; retry in a second");
    }
    const std::shared_ptr<Waiter> waiter = item.waiter;
    mailbox_.push_back(std::move(item));
    ++waiters_open_;
    schedule_turn();
    while (!waiter->outcome) {
        const bool notified = co_await waiter->answered.wait(deadline);
        if (!notified && !waiter->outcome) break;
    }
    --waiters_open_;
    if (waiter->outcome) co_return *waiter->outcome;
    const auto found = awaiting_workload_.find(to_string(waiter->key));
    if (found != awaiting_workload_.end() && found->second == waiter)
        awaiting_workload_.erase(found);
    if (const auto open = changing_.find(waiter->key);
        open != changing_.end() && open->second == waiter)
        changing_.erase(open);
    if (!waiter->what.empty()) {
        co_return make_error(ErrorCode::UnknownOutcome,
                             waiter->what +
                                 " was not confirmed in time; check before you send it "
                                 "again");
    }
    co_return make_error(
        ErrorCode::UnknownOutcome,
        "job " + to_string(waiter->key) +
            (waiter->on_disk ? " is stored, but the cluster has not confirmed it in "
                               "time; gpuctld keeps trying; check with `gpuctl get jobs` before "
                               "sending it again"
                             : " was not confirmed in time; check with `gpuctl get jobs` before "
                               "sending it again"));
}

}  // namespace gpuctl::core
