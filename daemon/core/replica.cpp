#include "daemon/core/replica.hpp"

#include <atomic>
#include <utility>

#include "daemon/core/fingerprint.hpp"
#include "daemon/diagnostics/log.hpp"
#include "scheduler/base/check.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::core {
namespace {

using metrics::Metric;

// A post per turn would cost the loop more than the inputs in it.
constexpr std::size_t kInputsPerPost = 256;

Error stopping() { return make_error(ErrorCode::ShuttingDown, "gpuctld is stopping"); }

Error other_state(const journal::JournalPlace& place) {
    return make_error(ErrorCode::JournalDamaged,
                      "copy the state from the journal in " + place.directory +
                          ": its inputs, replayed, give another state than the one in memory");
}

bool is_small(const Engine& engine, std::size_t most) {
    const ClusterState& state = engine.state();
    const std::size_t objects = state.jobs.jobs_by_key().size() + state.pods.pods_by_key().size() +
                                state.nodes.nodes_by_name().size();
    return objects <= most;
}

}  // namespace

struct Replica::Copy {
    // Set by the loop, read by the worker between two inputs.
    std::atomic<bool> is_to_stop{false};

    // Owned by the loop.
    std::uint64_t bytes_handed_over = 0;  // and not taken yet

    // Owned by the worker.
    std::optional<Engine> engine;
    Sequence next{};
    std::optional<Error> failure;
    EffectList effects;  // the loop's engine had the same, and they were carried out

    void apply(const std::vector<Input>& inputs) {
        if (failure || is_to_stop.load(std::memory_order_relaxed)) return;
        for (const Input& input : inputs) {
            GPUCTL_CHECK(input.sequence == next, "inputs reach the replica in order, each once");
            effects.clear();
            engine->step(input, effects);
            next = Sequence{static_cast<std::uint64_t>(next) + 1};
        }
    }
    // Why it cannot be queried; nullopt: it has taken every input before `wanted`.
    [[nodiscard]] std::optional<Error> obstacle(Sequence wanted) const {
        if (failure) return failure;
        if (is_to_stop.load(std::memory_order_relaxed)) return stopping();
        GPUCTL_CHECK(next == wanted, "a query sees every input before it, and none after it");
        return std::nullopt;
    }
};

struct Replica::Question {
    explicit Question(aio::Loop& loop) : answered(loop) {}
    std::optional<Result<void>> outcome;
    aio::Signal answered;
    std::atomic<bool> is_given_up{false};
};

Replica::Replica(aio::Loop& loop, journal::JournalPlace place, ReplicaSettings settings,
                 metrics::Recorder& recorder)
    : loop_(loop),
      place_(std::move(place)),
      settings_(settings),
      recorder_(recorder),
      ended_(loop),
      tasks_(loop) {}

Replica::~Replica() {
    *alive_ = false;
    if (copy_) copy_->is_to_stop = true;
}

void Replica::post_back(std::function<void()> work) {
    loop_.post([alive = alive_, work = std::move(work)] {
        if (*alive) work();
    });
}

void Replica::feed(std::vector<Input> inputs, std::uint64_t bytes) {
    if (!copy_ || inputs.empty()) return;
    backlog_inputs_ += inputs.size();
    backlog_bytes_ += bytes;
    backlog_.push_back(std::make_shared<const std::vector<Input>>(std::move(inputs)));
    if (backlog_bytes_ + copy_->bytes_handed_over > settings_.waiting_bytes_max) {
        // Pending queries are still answered; the next one starts again, from the files.
        recorder_.counter(Metric::replica_behind).add();
        log::info("copy of the state dropped: it fell too far behind",
                  {{"bytes", backlog_bytes_ + copy_->bytes_handed_over}});
        return end_copy(Hurry::no);
    }
    if (last_query_at_ && backlog_inputs_ >= kInputsPerPost) hand_over();
}

void Replica::hand_over() {
    if (backlog_.empty()) return;
    copy_->bytes_handed_over += backlog_bytes_;
    worker_->post([copy = copy_, loop = &loop_, batches = std::exchange(backlog_, {}),
                   bytes = std::exchange(backlog_bytes_, 0)] {
        for (const auto& batch : batches) copy->apply(*batch);
        loop->post([copy, bytes] { copy->bytes_handed_over -= bytes; });
    });
    backlog_inputs_ = 0;
}

// From the files where the state is large: those have every input before `next`, since a turn
// flushes before it applies, and queries run between turns.
Result<void> Replica::begin_copy(const Engine& original, Sequence next) {
    const bool from_files = !is_small(original, settings_.copied_at_once_max);
    if (from_files && broken_) return *broken_;
    if (failure_ && aio::Clock::now() < build_again_at_) return *failure_;
    if (!worker_) worker_ = std::make_unique<aio::Worker>("replica");
    copy_ = std::make_shared<Copy>();
    recorder_.gauge(Metric::replica).set(1);
    std::string state;
    if (!from_files) {
        state = original.export_state();
        recorder_.counter(Metric::loop_exports).add();
    }
    worker_->post([this, copy = copy_, alive = alive_, loop = &loop_, place = place_, next,
                   from_files, wanted = fingerprint(original), state = std::move(state)]() mutable {
        const aio::Clock::time_point began = aio::Clock::now();
        Result<Engine> built = from_files ? journal::rebuild_engine(place, next, copy->is_to_stop)
                                          : Engine::import_state(std::exchange(state, {}));
        Result<void> outcome;
        if (!built) {
            outcome = built.error();
        } else if (fingerprint(*built) != wanted) {
            outcome = other_state(place);
        } else {
            copy->engine = std::move(*built);
            copy->next = next;
        }
        if (!outcome) copy->failure = outcome.error();
        loop->post([this, alive, copy, outcome, from_files, took = aio::Clock::now() - began] {
            if (*alive) record_build(copy, outcome, from_files, took);
        });
    });
    return {};
}

void Replica::record_build(const std::shared_ptr<Copy>& copy, const Result<void>& built,
                           bool from_files, aio::Clock::duration took) {
    const char* const source = from_files ? "journal" : "state";
    if (!built) return copy_failed(copy, built.error());
    recorder_.histogram(Metric::replica_build, {source})
        .observe(std::chrono::duration<double>(took).count());
    failure_.reset();
}

void Replica::copy_failed(const std::shared_ptr<Copy>& copy, const Error& error) {
    if (error.code == ErrorCode::ShuttingDown) return;
    recorder_.counter(Metric::replica_failures).add();
    log::warn("the state could not be copied", {{"err", error.message}});
    failure_ = error;
    build_again_at_ = aio::Clock::now() + settings_.pause_after_failure;
    if (copy_ == copy) end_copy(Hurry::yes);
    if (error.code == ErrorCode::JournalDamaged && on_damage_) on_damage_();
}

void Replica::end_copy(Hurry hurry) {
    if (!copy_) return;
    if (hurry == Hurry::yes) copy_->is_to_stop = true;
    backlog_.clear();
    backlog_inputs_ = backlog_bytes_ = 0;
    last_query_at_.reset();
    recorder_.gauge(Metric::replica).set(0);
    // The engine is destroyed on the thread that created it: its memory belongs to that thread, and
    // freeing it takes a while.
    worker_->post([this, copy = std::exchange(copy_, nullptr), alive = alive_, loop = &loop_] {
        copy->engine.reset();
        loop->post([this, alive] {
            if (!*alive || copy_) return;
            worker_.reset();
            ended_.notify_all();
        });
    });
}

aio::Task<Result<void>> Replica::query(const Engine& original, Sequence next, Work work,
                                       aio::Deadline deadline) {
    if (stopped_) co_return stopping();
    if (questions_open_ >= settings_.questions_max) {
        co_return make_error(ErrorCode::TooManyRequests,
                             std::to_string(questions_open_) +
                                 " questions about the state wait already; retry in a second");
    }
    if (!copy_) {
        if (Result<void> begun = begin_copy(original, next); !begun) co_return begun;
    }
    hand_over();
    const bool is_first = !last_query_at_;
    last_query_at_ = aio::Clock::now();
    if (is_first) tasks_.spawn("idleness of the replica", watch_for_idleness());
    const auto question = std::make_shared<Question>(loop_);
    worker_->post(
        [copy = copy_, loop = &loop_, next, work = std::move(work), asked = question]() mutable {
            Result<void> outcome;
            if (!asked->is_given_up.load(std::memory_order_relaxed)) {
                const std::optional<Error> obstacle = copy->obstacle(next);
                if (obstacle) outcome = *obstacle;
                if (!obstacle) work(*copy->engine);
            }
            // The query returns with the answer: its signal must be destroyed by the loop.
            loop->post([asked = std::move(asked), outcome = std::move(outcome)] {
                asked->outcome = outcome;
                asked->answered.notify_all();
            });
        });
    ++questions_open_;
    const std::string_view turn = aio::Turn::work();
    while (!question->outcome) {
        const bool notified = co_await question->answered.wait(deadline);
        if (!notified && !question->outcome) break;
    }
    aio::Turn::mark(turn);
    --questions_open_;
    if (question->outcome) co_return *question->outcome;
    question->is_given_up = true;
    co_return make_error(ErrorCode::Timeout,
                         "the state could not be copied and queried in time; it is being copied "
                         "now, so retry in a few seconds");
}

void Replica::compact(const Engine& original, Sequence next,
                      std::function<void(Result<void>)> done) {
    if (stopped_) return post_back([done = std::move(done)] { done(stopping()); });
    if (broken_) return post_back([done = std::move(done), why = *broken_] { done(why); });
    if (!copy_) {
        Result<void> begun = begin_copy(original, next);
        if (!begun) return post_back([done = std::move(done), begun] { done(begun); });
    }
    hand_over();
    ++compactions_open_;
    worker_->post([this, copy = copy_, alive = alive_, loop = &loop_, place = place_, next,
                   wanted = fingerprint(original), done = std::move(done)] {
        Result<void> outcome;
        const std::optional<Error> obstacle = copy->obstacle(next);
        if (obstacle) {
            outcome = *obstacle;
        } else if (fingerprint(*copy->engine) != wanted) {
            outcome = other_state(place);
            copy->failure = outcome.error();
        } else {
            outcome = journal::compact(place, *copy->engine, next);
        }
        loop->post([this, alive, copy, outcome, done] {
            if (!*alive) return;
            --compactions_open_;
            const bool differs = !outcome && outcome.error().code == ErrorCode::JournalDamaged;
            if (differs && copy_ == copy) end_copy(Hurry::yes);
            end_if_idle();
            done(outcome);
        });
    });
}

void Replica::end_if_idle() {
    if (!copy_ || questions_open_ > 0 || compactions_open_ > 0) return;
    if (last_query_at_ && aio::Clock::now() < *last_query_at_ + settings_.kept_unasked) return;
    end_copy(Hurry::yes);
}

aio::Task<void> Replica::watch_for_idleness() {
    const std::shared_ptr<Copy> copy = copy_;
    while (copy_ == copy && last_query_at_) {
        const aio::Clock::duration least = settings_.kept_unasked / 10;
        const aio::Deadline look_again{
            std::max(*last_query_at_ + settings_.kept_unasked, aio::Clock::now() + least)};
        const bool slept = co_await aio::sleep_until(look_again);
        if (!slept) co_return;
        if (copy_ == copy) end_if_idle();
    }
}

aio::Task<bool> Replica::stop(aio::Deadline deadline) {
    stopped_ = true;
    tasks_.cancel();
    end_copy(Hurry::yes);
    while (worker_) {
        const bool notified = co_await ended_.wait(deadline);
        if (!notified && worker_) co_return false;
    }
    place_.lock.reset();
    const bool joined = co_await tasks_.join(deadline);
    co_return joined;
}

}  // namespace gpuctl::core
