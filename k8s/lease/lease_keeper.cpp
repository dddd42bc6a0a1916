#include "k8s/lease/lease_keeper.hpp"

#include "aio/loop.hpp"
#include "aio/signal.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

std::int64_t wall_us() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
}

}  // namespace

struct LeaseKeeper::Parts {
    aio::Loop& loop;
    Client& client;
    LeaseSettings settings;
    LeaseMachine machine;
    OnChange on_change;
    Rng rng;
    std::string collection;
    std::string path;
    bool reported_leading = false;
    Epoch reported_epoch{};
    bool released = false;
    aio::Signal round_over;
    View view;

    Parts(aio::Loop& on, Client& with, LeaseSettings how, OnChange report, std::uint64_t seed)
        : loop(on),
          client(with),
          settings(how),
          machine(how),
          on_change(std::move(report)),
          rng(seed),
          collection("/apis/coordination.k8s.io/v1/namespaces/" +
                     net::percent_encode(settings.namespace_name) + "/leases"),
          path(collection + "/" + net::percent_encode(settings.name)),
          round_over(on) {}

    void report_change();
    [[nodiscard]] aio::Deadline answer_deadline() const;
    [[nodiscard]] aio::Clock::time_point next_round(aio::Clock::time_point now);
    [[nodiscard]] ApiCall call_of(const LeaseMachine::Step& step) const;
    static aio::Task<bool> holder_is_dead(std::shared_ptr<Parts> parts, std::string identity);
    void failed(std::string why, aio::Clock::time_point now);
    void succeeded();
    LeaseMachine::Step handle_answer(const LeaseMachine::Step& sent,
                                     const ApiResult<ApiResponse>& answer,
                                     aio::Clock::time_point sent_at);
};

void LeaseKeeper::Parts::report_change() {
    machine.expire(aio::Clock::now());
    const bool leading = machine.leading();
    if (leading == reported_leading && (!leading || machine.epoch() == reported_epoch)) return;
    if (reported_leading) on_change(false, reported_epoch);  // also between two adjacent terms
    reported_leading = leading;
    if (!leading) return;
    reported_epoch = machine.epoch();
    ++view.terms;
    on_change(true, reported_epoch);
}

// An answer after the end of the term is useless.
aio::Deadline LeaseKeeper::Parts::answer_deadline() const {
    aio::Deadline deadline = aio::Deadline::in(settings.write_timeout());
    if (machine.leading()) {
        deadline = aio::Deadline::earlier(
            deadline, aio::Deadline{machine.renewed_at() + settings.renew_deadline});
    }
    return deadline;
}

aio::Clock::time_point LeaseKeeper::Parts::next_round(aio::Clock::time_point now) {
    if (machine.leading()) {
        return std::min(now + settings.retry_period,
                        machine.renewed_at() + settings.renew_deadline);
    }
    // Candidates retry every 1 to 2.2 retry periods, never in step with each other.
    const std::int64_t spread = settings.retry_period.count() * 12 / 10;
    return now + settings.retry_period + std::chrono::milliseconds{rng.between(0, spread)};
}

ApiCall LeaseKeeper::Parts::call_of(const LeaseMachine::Step& step) const {
    ApiCall call;
    call.lane = Lane::lease;
    call.path = step.send == LeaseMachine::Send::create ? collection : path;
    switch (step.send) {
        case LeaseMachine::Send::create:
            call.method = "POST";
            break;
        case LeaseMachine::Send::update:
            call.method = "PUT";
            break;
        default:
            return call;
    }
    call.body = lease_body(settings, step.record);
    return call;
}

// Reads the holder's pod, on another connection than the lease's. If that fails the holder counts
// as alive.
aio::Task<bool> LeaseKeeper::Parts::holder_is_dead(std::shared_ptr<Parts> parts,
                                                   std::string identity) {
    const std::optional<LeaseHolder> holder = parse_lease_holder(identity);
    if (!holder) co_return false;
    const aio::Deadline deadline = parts->answer_deadline();
    const ApiResult<ApiResponse> answer =
        co_await parts->client.get(pod_path(holder->pod), deadline);
    co_return is_provably_dead(*holder, parse_lease_holder(parts->settings.identity), answer,
                               is_running);
}

void LeaseKeeper::Parts::failed(std::string why, aio::Clock::time_point now) {
    ++view.failures;
    view.last_error = std::move(why);
    if (!view.failing_since) view.failing_since = now;
}

void LeaseKeeper::Parts::succeeded() {
    view.last_error.clear();
    view.failing_since.reset();
}

// Passes one answer to the machine and returns the next request.
LeaseMachine::Step LeaseKeeper::Parts::handle_answer(const LeaseMachine::Step& sent,
                                                     const ApiResult<ApiResponse>& answer,
                                                     aio::Clock::time_point sent_at) {
    const auto now = aio::Clock::now();
    const bool read = sent.send == LeaseMachine::Send::read;
    if (!answer) {
        if (read && answer.error().code == ErrorCode::NotFound) {
            return machine.on_read(std::nullopt, now, wall_us());
        }
        const ErrorCode code = answer.error().code;
        if (code != ErrorCode::Conflict) failed(answer.error().message, now);
        // The Lease was deleted: read at once, as after a foreign edit.
        const bool is_another = code == ErrorCode::Conflict || code == ErrorCode::NotFound;
        if (!read) return machine.on_write_failed(is_another, now);
        machine.on_read_failed(now);
        return {};
    }
    Result<LeaseRecord> record = parse_lease(answer->body);
    if (!record) {
        failed(record.error().message, now);
        if (!read) return machine.on_write_failed(false, now);
        machine.on_read_failed(now);
        return {};
    }
    if (read) {
        // A successful read does not prove that writes work: only a follower needs no more.
        const LeaseMachine::Step next = machine.on_read(std::move(*record), now, wall_us());
        const bool follows =
            next.send == LeaseMachine::Send::nothing || next.send == LeaseMachine::Send::ask;
        if (follows) succeeded();
        return next;
    }
    machine.on_written(std::move(*record), sent_at, now);
    ++view.renewals;
    succeeded();
    return {};
}

LeaseKeeper::LeaseKeeper(aio::Loop& loop, Client& client, LeaseSettings settings,
                         OnChange on_change, std::uint64_t seed)
    : parts_(
          std::make_shared<Parts>(loop, client, std::move(settings), std::move(on_change), seed)) {}
LeaseKeeper::~LeaseKeeper() = default;

aio::Task<void> LeaseKeeper::run() {
    const auto parts = parts_;
    while (!parts->released) {
        LeaseMachine::Step step = parts->machine.begin(aio::Clock::now(), wall_us());
        parts->report_change();
        while (step.send != LeaseMachine::Send::nothing && !parts->released) {
            if (step.send == LeaseMachine::Send::ask) {
                const bool dead = co_await Parts::holder_is_dead(parts, step.record.holder);
                if (parts->released) break;
                step = parts->machine.on_asked(dead, aio::Clock::now(), wall_us());
                continue;
            }
            const auto sent_at = aio::Clock::now();
            ApiCall call = parts->call_of(step);
            const aio::Deadline deadline = parts->answer_deadline();
            ApiResult<ApiResponse> answer = co_await parts->client.call(std::move(call), deadline);
            if (parts->released) break;  // an answer to an earlier request does not matter
            step = parts->handle_answer(step, answer, sent_at);
            parts->report_change();
        }
        ++parts->view.rounds;
        parts->round_over.notify_all();
        const bool slept =
            co_await aio::sleep_until(aio::Deadline{parts->next_round(aio::Clock::now())});
        if (!slept) co_return;
    }
}

aio::Task<Result<void>> LeaseKeeper::release(aio::Deadline deadline) {
    const auto parts = parts_;
    parts->released = true;
    std::optional<LeaseRecord> record = parts->machine.release(aio::Clock::now(), wall_us());
    parts->report_change();
    if (!record) co_return Result<void>{};
    for (bool second_try = false;; second_try = true) {
        ApiCall write = parts->call_of({LeaseMachine::Send::update, *record});
        ApiResult<ApiResponse> answer = co_await parts->client.call(std::move(write), deadline);
        if (answer) co_return Result<void>{};
        if (answer.error().code != ErrorCode::Conflict || second_try) {
            co_return while_doing("release the lease", Error{answer.error()});
        }
        // A renewal of ours may have been in flight: use its resourceVersion, if we still hold the
        // lease.
        ApiCall read = parts->call_of({LeaseMachine::Send::read, {}});
        ApiResult<ApiResponse> now = co_await parts->client.call(std::move(read), deadline);
        if (!now) co_return while_doing("release the lease", Error{now.error()});
        Result<LeaseRecord> stored = parse_lease(now->body);
        if (!stored) co_return while_doing("release the lease", stored.error());
        if (stored->holder != parts->settings.identity) co_return Result<void>{};
        record->resource_version = stored->resource_version;
    }
}

bool LeaseKeeper::may_write(Epoch epoch) const {
    return !parts_->released && parts_->machine.epoch() == epoch &&
           parts_->machine.may_write(aio::Clock::now());
}

aio::Clock::time_point LeaseKeeper::writes_from() const { return parts_->machine.writes_from(); }

LeaseMachine::Before LeaseKeeper::before() const { return parts_->machine.before(); }

aio::Task<bool> LeaseKeeper::first_round(aio::Deadline deadline) {
    const auto parts = parts_;
    while (parts->view.rounds == 0 && !deadline.passed()) {
        const bool notified = co_await parts->round_over.wait(deadline);
        if (!notified) break;
    }
    co_return parts->view.rounds > 0;
}

void LeaseKeeper::write_at_once() { parts_->machine.write_at_once(); }

LeaseKeeper::View LeaseKeeper::view() const {
    View view = parts_->view;
    parts_->machine.expire(aio::Clock::now());
    view.leading = parts_->machine.leading();
    view.epoch = parts_->machine.epoch();
    view.identity = parts_->settings.identity;
    view.holder = parts_->machine.holder();
    view.renewed_at = parts_->machine.renewed_at();
    return view;
}

}  // namespace gpuctl::k8s
