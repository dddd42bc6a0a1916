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

// A post for each turn would cost the loop more than what is posted.
constexpr std::size_t kInputsPerPost = 256;

Error stopping() { return make_error(ErrorCode::ShuttingDown, "gpuctld is stopping"); }

Error other_state(const journal::JournalPlace& place) {
    return make_error(ErrorCode::JournalDamaged,
                      "copy the state from the journal in " + place.directory +
                          ": replayed, its inputs give another state than the one in memory");
}

bool is_small(const Engine& engine, std::size_t most) {
    const ClusterState& state = engine.state();
    const std::size_t objects =
        state.jobs_by_key().size() + state.pods_by_key().size() + state.nodes_by_name().size();
    return objects <= most;
}

}  // namespace

struct Replica::Life {
    // Set by the loop, looked at by the worker between two inputs.
    std::atomic<bool> is_to_stop{false};

    // The loop's.
    std::uint64_t bytes_handed_over = 0;  // and not taken yet

    // The worker's.
    std::optional<Engine> engine;
    Sequence next{};
    std::optional<Error> failure;
    EffectList effects;  // the loop's engine had the same, and they were carried out

    void take(const std::vector<Input>& inputs) {
        if (failure || is_to_stop.load(std::memory_order_relaxed)) return;
        for (const Input& input : inputs) {
            GPUCTL_CHECK(input.sequence == next, "inputs reach the replica in order, each once");
            effects.clear();
            engine->step(input, effects);
            next = Sequence{static_cast<std::uint64_t>(next) + 1};
        }
    }
    // Why nothing can be asked of it; nothing: it has taken every input before `wanted`.
    [[nodiscard]] std::optional<Error> obstacle(Sequence wanted) const {
        if (failure) return failure;
        if (is_to_stop.load(std::memory_order_relaxed)) return stopping();
        GPUCTL_CHECK(next == wanted, "a question finds every input before it, and none behind it");
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
    if (life_) life_->is_to_stop = true;
}

void Replica::post_back(std::function<void()> work) {
    loop_.post([alive = alive_, work = std::move(work)] {
        if (*alive) work();
    });
}

void Replica::feed(std::vector<Input> inputs, std::uint64_t bytes) {
    if (!life_ || inputs.empty()) return;
    backlog_inputs_ += inputs.size();
    backlog_bytes_ += bytes;
    backlog_.push_back(std::make_shared<const std::vector<Input>>(std::move(inputs)));
    if (backlog_bytes_ + life_->bytes_handed_over > settings_.waiting_bytes_max) {
        // What was asked is answered yet; the next question begins anew, from the files.
        recorder_.counter(Metric::replica_behind).add();
        log::info("copy of the state given up: it fell too far behind",
                  {{"bytes", backlog_bytes_ + life_->bytes_handed_over}});
        return end_life(Hurry::no);
    }
    if (asked_at_ && backlog_inputs_ >= kInputsPerPost) hand_over();
}

void Replica::hand_over() {
    if (backlog_.empty()) return;
    life_->bytes_handed_over += backlog_bytes_;
    worker_->post([life = life_, loop = &loop_, batches = std::exchange(backlog_, {}),
                   bytes = std::exchange(backlog_bytes_, 0)] {
        for (const auto& batch : batches) life->take(*batch);
        loop->post([life, bytes] { life->bytes_handed_over -= bytes; });
    });
    backlog_inputs_ = 0;
}

// Of the files where the state is large: those have every input before `next`, since a turn flushes
// before it applies, and questions come between turns.
Result<void> Replica::begin_life(const Engine& original, Sequence next) {
    const bool from_files = !is_small(original, settings_.copied_at_once_max);
    if (from_files && broken_) return *broken_;
    if (failure_ && aio::Clock::now() < build_again_at_) return *failure_;
    if (!worker_) worker_ = std::make_unique<aio::Worker>("replica");
    life_ = std::make_shared<Life>();
    recorder_.gauge(Metric::replica).set(1);
    std::string state;
    if (!from_files) {
        state = original.export_state();
        recorder_.counter(Metric::loop_exports).add();
    }
    worker_->post([this, life = life_, alive = alive_, loop = &loop_, place = place_, next,
                   from_files, wanted = fingerprint(original), state = std::move(state)]() mutable {
        const aio::Clock::time_point began = aio::Clock::now();
        Result<Engine> built = from_files ? journal::rebuild_engine(place, next, life->is_to_stop)
                                          : Engine::import_state(std::exchange(state, {}));
        Result<void> outcome;
        if (!built) {
            outcome = built.error();
        } else if (fingerprint(*built) != wanted) {
            outcome = other_state(place);
        } else {
            life->engine = std::move(*built);
            life->next = next;
        }
        if (!outcome) life->failure = outcome.error();
        loop->post([this, alive, life, outcome, from_files, took = aio::Clock::now() - began] {
            if (*alive) note_built(life, outcome, from_files, took);
        });
    });
    return {};
}

void Replica::note_built(const std::shared_ptr<Life>& life, const Result<void>& built,
                         bool from_files, aio::Clock::duration took) {
    const char* const source = from_files ? "journal" : "state";
    if (!built) return life_failed(life, built.error());
    recorder_.histogram(Metric::replica_build, {source})
        .observe(std::chrono::duration<double>(took).count());
    failure_.reset();
}

void Replica::life_failed(const std::shared_ptr<Life>& life, const Error& error) {
    if (error.code == ErrorCode::ShuttingDown) return;
    recorder_.counter(Metric::replica_failures).add();
    log::warn("the state could not be copied", {{"err", error.message}});
    failure_ = error;
    build_again_at_ = aio::Clock::now() + settings_.pause_after_failure;
    if (life_ == life) end_life(Hurry::yes);
    if (error.code == ErrorCode::JournalDamaged && on_damage_) on_damage_();
}

void Replica::end_life(Hurry hurry) {
    if (!life_) return;
    if (hurry == Hurry::yes) life_->is_to_stop = true;
    backlog_.clear();
    backlog_inputs_ = backlog_bytes_ = 0;
    asked_at_.reset();
    recorder_.gauge(Metric::replica).set(0);
    // The engine goes where it lived: its memory is that thread's, and to free it takes a while.
    worker_->post([this, life = std::exchange(life_, nullptr), alive = alive_, loop = &loop_] {
        life->engine.reset();
        loop->post([this, alive] {
            if (!*alive || life_) return;
            worker_.reset();
            ended_.notify_all();
        });
    });
}

aio::Task<Result<void>> Replica::ask(const Engine& original, Sequence next, Work work,
                                     aio::Deadline deadline) {
    if (stopped_) co_return stopping();
    if (questions_open_ >= settings_.questions_max) {
        co_return make_error(ErrorCode::TooManyRequests,
                             std::to_string(questions_open_) +
                                 " questions about the state wait already; ask again in a second");
    }
    if (!life_) {
        if (Result<void> begun = begin_life(original, next); !begun) co_return begun;
    }
    hand_over();
    const bool is_first = !asked_at_;
    asked_at_ = aio::Clock::now();
    if (is_first) tasks_.spawn("idleness of the replica", watch_for_idleness());
    const auto question = std::make_shared<Question>(loop_);
    worker_->post(
        [life = life_, loop = &loop_, next, work = std::move(work), asked = question]() mutable {
            Result<void> outcome;
            if (!asked->is_given_up.load(std::memory_order_relaxed)) {
                const std::optional<Error> obstacle = life->obstacle(next);
                if (obstacle) outcome = *obstacle;
                if (!obstacle) work(*life->engine);
            }
            // The question goes back with the answer: its signal is the loop's to destroy.
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
                         "the state could not be copied and asked in time; it is being copied now, "
                         "so ask again in a few seconds");
}

void Replica::compact(const Engine& original, Sequence next,
                      std::function<void(Result<void>)> done) {
    if (stopped_) return post_back([done = std::move(done)] { done(stopping()); });
    if (broken_) return post_back([done = std::move(done), why = *broken_] { done(why); });
    if (!life_) {
        Result<void> begun = begin_life(original, next);
        if (!begun) return post_back([done = std::move(done), begun] { done(begun); });
    }
    hand_over();
    ++compactions_open_;
    worker_->post([this, life = life_, alive = alive_, loop = &loop_, place = place_, next,
                   wanted = fingerprint(original), done = std::move(done)] {
        Result<void> outcome;
        const std::optional<Error> obstacle = life->obstacle(next);
        if (obstacle) {
            outcome = *obstacle;
        } else if (fingerprint(*life->engine) != wanted) {
            outcome = other_state(place);
            life->failure = outcome.error();
        } else {
            outcome = journal::compact(place, *life->engine, next);
        }
        loop->post([this, alive, life, outcome, done] {
            if (!*alive) return;
            --compactions_open_;
            const bool differs = !outcome && outcome.error().code == ErrorCode::JournalDamaged;
            if (differs && life_ == life) end_life(Hurry::yes);
            end_if_unasked();
            done(outcome);
        });
    });
}

void Replica::end_if_unasked() {
    if (!life_ || questions_open_ > 0 || compactions_open_ > 0) return;
    if (asked_at_ && aio::Clock::now() < *asked_at_ + settings_.kept_unasked) return;
    end_life(Hurry::yes);
}

aio::Task<void> Replica::watch_for_idleness() {
    const std::shared_ptr<Life> life = life_;
    while (life_ == life && asked_at_) {
        const aio::Clock::duration least = settings_.kept_unasked / 10;
        const aio::Deadline look_again{
            std::max(*asked_at_ + settings_.kept_unasked, aio::Clock::now() + least)};
        const bool slept = co_await aio::sleep_until(look_again);
        if (!slept) co_return;
        if (life_ == life) end_if_unasked();
    }
}

aio::Task<bool> Replica::stop(aio::Deadline deadline) {
    stopped_ = true;
    tasks_.cancel();
    end_life(Hurry::yes);
    while (worker_) {
        const bool notified = co_await ended_.wait(deadline);
        if (!notified && worker_) co_return false;
    }
    place_.lock.reset();
    const bool joined = co_await tasks_.join(deadline);
    co_return joined;
}

}  // namespace gpuctl::core
