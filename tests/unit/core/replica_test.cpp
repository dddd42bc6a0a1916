// A second engine on another thread: queries see exactly the state that the loop had, whatever that
// state contains and whatever happens to the replica.

#include "daemon/core/replica.hpp"

#include <atomic>
#include <thread>

#include "scheduler/base/rng.hpp"
#include "unit/core/core_fixture.hpp"

namespace gpuctl::core {
namespace {

ReplicaSettings of_files() {
    ReplicaSettings settings;
    settings.copied_at_once_max = 0;
    return settings;
}

// An engine with its journal and its replica, driven as the loop drives them.
struct Asking {
    explicit Asking(ReplicaSettings settings = {}) {
        auto opened = journal::Journal::open(loop, journal::real_disk(), folder.settings(), found);
        EXPECT_TRUE(opened.has_value());
        journal = std::move(*opened);
        replica = std::make_unique<Replica>(loop, journal->place(), settings, recorder);
    }

    void feed_inputs(const std::vector<Input>& inputs, std::size_t begin, std::size_t end) {
        const std::uint64_t before = journal->figures().bytes;
        std::vector<Input> batch{inputs.begin() + static_cast<std::ptrdiff_t>(begin),
                                 inputs.begin() + static_cast<std::ptrdiff_t>(end)};
        for (const Input& input : batch) EXPECT_TRUE(journal->append(input).has_value());
        EXPECT_TRUE(journal->flush().has_value());
        for (const Input& input : batch) {
            effects.clear();
            engine.step(input, effects);
            next = Sequence{static_cast<std::uint64_t>(input.sequence) + 1};
        }
        replica->feed(std::move(batch), journal->figures().bytes - before);
    }

    aio::Task<Result<std::uint64_t>> ask_hash(aio::Deadline deadline = soon()) {
        const auto hash = std::make_shared<std::uint64_t>(0);
        Replica::Work read = [hash](const Engine& copy) { *hash = copy.state_hash(); };
        Result<void> answered = co_await replica->query(engine, next, std::move(read), deadline);
        if (!answered) co_return answered.error();
        co_return *hash;
    }

    aio::Task<Result<void>> compact() {
        const auto rolled = std::make_shared<std::optional<Result<void>>>();
        journal->roll([rolled](Result<void> done) { *rolled = done; });
        while (!*rolled) co_await aio::sleep_until(aio::Deadline::in(std::chrono::milliseconds{1}));
        if (!**rolled) co_return **rolled;
        const auto written = std::make_shared<std::optional<Result<void>>>();
        replica->compact(engine, next, [written](Result<void> done) { *written = done; });
        while (!*written)
            co_await aio::sleep_until(aio::Deadline::in(std::chrono::milliseconds{1}));
        co_return **written;
    }

    aio::Task<void> end() {
        const bool ended = co_await replica->stop(soon());
        EXPECT_TRUE(ended);
    }

    Folder folder;
    aio::Loop loop;
    metrics::Recorder recorder;
    journal::Recovered found;
    std::unique_ptr<journal::Journal> journal;
    Engine engine;
    EffectList effects;
    Sequence next{1};
    std::unique_ptr<Replica> replica;
};

// Queries at random times of a random simulation, sometimes after a snapshot, or after the replica
// was dropped.
aio::Task<void> run_random(Asking& world, std::uint64_t seed) {
    const std::vector<Input> inputs = random_inputs(seed);
    Rng rng{seed};
    int asked = 0;
    for (std::size_t at = 0; at < inputs.size();) {
        const std::size_t end = std::min<std::size_t>(at + 1 + rng.below(60), inputs.size());
        world.feed_inputs(inputs, at, end);
        at = end;
        if (rng.below(25) == 0) {
            Result<void> written = co_await world.compact();
            EXPECT_TRUE(written.has_value()) << written.error().message;
        }
        if (rng.below(2) != 0) continue;
        Result<std::uint64_t> hash = co_await world.ask_hash();
        EXPECT_TRUE(hash.has_value()) << hash.error().message;
        EXPECT_EQ(hash ? *hash : 0, world.engine.state_hash()) << "seed " << seed;
        ++asked;
    }
    EXPECT_GT(asked, 3) << "seed " << seed;
    co_await world.end();
}

TEST(Replica, answers_with_the_state_of_the_loop_at_the_query_in_random_simulations) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        Asking world;
        run_to_end(world.loop, run_random(world, seed));
        EXPECT_GT(world.recorder.counter(metrics::Metric::loop_exports).value(), 0u);
    }
}

TEST(Replica, made_from_files_answers_with_that_state_and_the_loop_exports_nothing) {
    for (std::uint64_t seed = 5; seed <= 8; ++seed) {
        Asking world{of_files()};
        run_to_end(world.loop, run_random(world, seed));
        EXPECT_EQ(world.recorder.counter(metrics::Metric::loop_exports).value(), 0u);
    }
}

TEST(Replica, that_is_dropped_repeatedly_answers_with_that_state) {
    for (std::uint64_t seed = 9; seed <= 12; ++seed) {
        ReplicaSettings settings = of_files();
        settings.waiting_bytes_max = 20'000;  // a few hundred inputs
        Asking world{settings};
        run_to_end(world.loop, run_random(world, seed));
        EXPECT_GT(world.recorder.counter(metrics::Metric::replica_behind).value(), 0u);
    }
}

aio::Task<void> ask_and_wait(Asking& world) {
    const std::vector<Input> inputs = random_inputs(20);
    world.feed_inputs(inputs, 0, 100);
    Result<std::uint64_t> hash = co_await world.ask_hash();
    EXPECT_TRUE(hash.has_value());
    EXPECT_TRUE(world.replica->is_there());
    while (world.replica->is_there()) {
        co_await aio::sleep_until(aio::Deadline::in(std::chrono::milliseconds{5}));
    }
    world.feed_inputs(inputs, 100, 200);
    hash = co_await world.ask_hash();
    EXPECT_TRUE(hash && *hash == world.engine.state_hash());
    co_await world.end();
}

TEST(Replica, is_dropped_when_it_is_idle_and_created_again_for_the_next_query) {
    ReplicaSettings settings = of_files();
    settings.kept_unasked = std::chrono::milliseconds{40};
    Asking world{settings};
    run_to_end(world.loop, ask_and_wait(world));
}

aio::Task<void> compact_unasked(Asking& world) {
    const std::vector<Input> inputs = random_inputs(21);
    world.feed_inputs(inputs, 0, 200);
    Result<void> written = co_await world.compact();
    EXPECT_TRUE(written.has_value());
    EXPECT_FALSE(world.replica->is_there()) << "a snapshot alone keeps no second engine";
    EXPECT_EQ(world.folder.files("snapshot-").size(), 1u);
    EXPECT_EQ(world.folder.files("journal-").size(), 1u) << "what it replaces is past";
    co_await world.end();
    world.journal.reset();
    world.replica.reset();
    journal::Recovered found;
    const auto again =
        journal::Journal::open(world.loop, journal::real_disk(), world.folder.settings(), found);
    EXPECT_TRUE(again.has_value());
    EXPECT_EQ(found.inputs_replayed, 0u);
    EXPECT_EQ(found.engine.state_hash(), world.engine.state_hash());
}

TEST(Replica, made_for_a_snapshot_is_dropped_after_it) {
    Asking world{of_files()};
    run_to_end(world.loop, compact_unasked(world));
}

aio::Task<void> ask_of_damaged_files(Asking& world) {
    const std::vector<Input> inputs = random_inputs(22);
    world.feed_inputs(inputs, 0, 200);
    Result<void> written = co_await world.compact();  // so that a segment is not the last
    EXPECT_TRUE(written.has_value());
    world.feed_inputs(inputs, 200, 300);
    damage(world.folder.files("snapshot-").front());
    int reports = 0;
    world.replica->on_damage([&reports] { ++reports; });
    Result<std::uint64_t> hash = co_await world.ask_hash();
    EXPECT_FALSE(hash.has_value());
    EXPECT_EQ(code_of(hash), ErrorCode::JournalDamaged);
    EXPECT_EQ(reports, 1);
    EXPECT_FALSE(world.replica->is_there());
    // The state in memory replaces the files.
    EXPECT_TRUE(world.journal->write_snapshot(world.engine, world.next).has_value());
    co_await aio::sleep_until(aio::Deadline::in(std::chrono::milliseconds{25}));
    hash = co_await world.ask_hash();
    EXPECT_TRUE(hash && *hash == world.engine.state_hash());
    co_await world.end();
}

TEST(Replica, of_damaged_files_says_so_and_works_again_once_a_snapshot_replaced_them) {
    ReplicaSettings settings = of_files();
    settings.pause_after_failure = std::chrono::milliseconds{20};
    Asking world{settings};
    run_to_end(world.loop, ask_of_damaged_files(world));
}

aio::Task<void> ask_again_at_once(Asking& world) {
    const std::vector<Input> inputs = random_inputs(23);
    world.feed_inputs(inputs, 0, 100);
    std::filesystem::remove(world.folder.files("journal-").front());
    int reports = 0;
    world.replica->on_damage([&reports] { ++reports; });
    for (int i = 0; i < 3; ++i) {
        Result<std::uint64_t> hash = co_await world.ask_hash();
        EXPECT_FALSE(hash.has_value());
        EXPECT_NE(code_of(hash), ErrorCode::ShuttingDown);
    }
    EXPECT_EQ(world.recorder.counter(metrics::Metric::replica_failures).value(), 1u)
        << "the files are not read again and again";
    co_await world.end();
}

TEST(Replica, that_cannot_be_created_is_not_retried_at_once) {
    Asking world{of_files()};
    run_to_end(world.loop, ask_again_at_once(world));
}

aio::Task<void> compact_something_else(Asking& world) {
    const std::vector<Input> inputs = random_inputs(24);
    world.feed_inputs(inputs, 0, 200);
    // The loop's engine made a decision that no input explains: its memory is corrupt, or a
    // decision does not depend on the inputs alone.
    Engine other;
    EffectList effects;
    for (std::size_t i = 0; i < 100; ++i) other.step(inputs[i], effects);
    world.engine = std::move(other);
    Result<void> written = co_await world.compact();
    EXPECT_FALSE(written.has_value());
    EXPECT_EQ(code_of(written), ErrorCode::JournalDamaged);
    EXPECT_TRUE(world.folder.files("snapshot-").empty());
    co_await world.end();
}

TEST(Replica, whose_decisions_differ_from_the_loop_writes_no_snapshot) {
    Asking world{of_files()};
    run_to_end(world.loop, compact_something_else(world));
}

// Keeps the worker busy from the time it gets there until it is released.
struct Gate {
    std::atomic<bool> was_reached{false};
    std::atomic<bool> is_open{false};
    Replica::Work work() {
        return [this](const Engine&) {
            was_reached = true;
            while (!is_open) std::this_thread::yield();
        };
    }
};

aio::Task<void> until_reached(Gate& gate) {
    const aio::Deadline patience = soon();
    while (!gate.was_reached && !patience.passed()) {
        co_await aio::sleep_until(aio::Deadline::in(std::chrono::milliseconds{1}));
    }
    EXPECT_TRUE(gate.was_reached) << "the worker did not start the query";
}

aio::Task<void> ask_while_busy(Asking& world) {
    const std::vector<Input> inputs = random_inputs(25);
    world.feed_inputs(inputs, 0, 100);
    Gate gate;
    // A query whose deadline passes before its turn is dropped: retry with more time until one is
    // in progress when its deadline passes.
    for (std::chrono::milliseconds time{20}; !gate.was_reached; time *= 2) {
        const aio::Deadline brief = aio::Deadline::in(time);
        Result<void> first =
            co_await world.replica->query(world.engine, world.next, gate.work(), brief);
        EXPECT_EQ(code_of(first), ErrorCode::Timeout);
    }
    world.feed_inputs(inputs, 100, 120);
    const aio::Deadline also_brief = aio::Deadline::in(std::chrono::milliseconds{20});
    Result<std::uint64_t> second = co_await world.ask_hash(also_brief);
    EXPECT_EQ(code_of(second), ErrorCode::Timeout);
    gate.is_open = true;
    Result<std::uint64_t> third = co_await world.ask_hash();
    EXPECT_TRUE(third && *third == world.engine.state_hash());
    co_await world.end();
}

TEST(Replica, a_query_ends_at_its_deadline_and_the_next_one_is_answered) {
    Asking world;
    run_to_end(world.loop, ask_while_busy(world));
}

aio::Task<void> ask_one(Asking& world, int& refused, int& answered) {
    const Result<std::uint64_t> hash = co_await world.ask_hash();
    if (hash) ++answered;
    if (!hash && hash.error().code == ErrorCode::TooManyRequests) ++refused;
}

aio::Task<void> ask_too_much(Asking& world) {
    const std::vector<Input> inputs = random_inputs(26);
    world.feed_inputs(inputs, 0, 50);
    int refused = 0;
    int answered = 0;
    aio::TaskGroup group{world.loop};
    for (int i = 0; i < 5; ++i) group.spawn("question", ask_one(world, refused, answered));
    const bool joined = co_await group.join(soon());
    EXPECT_TRUE(joined);
    EXPECT_EQ(refused, 2);
    EXPECT_EQ(answered, 3);
    co_await world.end();
}

TEST(Replica, accepts_a_bounded_number_of_queries_and_refuses_the_rest) {
    ReplicaSettings settings;
    settings.questions_max = 3;
    Asking world{settings};
    run_to_end(world.loop, ask_too_much(world));
}

aio::Task<void> keep_result(Asking& world, Replica::Work work, std::optional<Result<void>>& out) {
    Result<void> result =
        co_await world.replica->query(world.engine, world.next, std::move(work), soon());
    out = result;
}

aio::Task<void> stop_while_asked(Asking& world) {
    const std::vector<Input> inputs = random_inputs(27);
    world.feed_inputs(inputs, 0, 100);
    Gate gate;
    std::optional<Result<void>> busy;
    std::optional<Result<void>> behind;
    bool ran = false;
    aio::TaskGroup group{world.loop};
    group.spawn("busy", keep_result(world, gate.work(), busy));
    Replica::Work set_ran = [&ran](const Engine&) { ran = true; };
    group.spawn("behind", keep_result(world, set_ran, behind));
    co_await until_reached(gate);
    const aio::Deadline too_brief = aio::Deadline::in(std::chrono::milliseconds{10});
    const bool ended_at_once = co_await world.replica->stop(too_brief);
    EXPECT_FALSE(ended_at_once) << "the worker is busy";
    gate.is_open = true;
    const bool ended = co_await world.replica->stop(soon());
    EXPECT_TRUE(ended);
    const bool joined = co_await group.join(soon());
    EXPECT_TRUE(joined);
    EXPECT_TRUE(busy && *busy);
    EXPECT_TRUE(behind && !*behind && behind->error().code == ErrorCode::ShuttingDown);
    EXPECT_FALSE(ran);
    Result<std::uint64_t> late = co_await world.ask_hash();
    EXPECT_EQ(code_of(late), ErrorCode::ShuttingDown);
}

TEST(Replica, stopping_answers_waiting_queries_and_reports_whether_the_worker_ended) {
    Asking world;
    run_to_end(world.loop, stop_while_asked(world));
}

aio::Task<void> ask_behind_a_broken_journal(Asking& world) {
    const std::vector<Input> inputs = random_inputs(28);
    world.feed_inputs(inputs, 0, 100);
    world.replica->journal_broke(make_error(ErrorCode::JournalFailed, "no space left on device"));
    Result<std::uint64_t> hash = co_await world.ask_hash();
    EXPECT_EQ(code_of(hash), ErrorCode::JournalFailed)
        << "the files may end before what is in memory";
    co_await world.end();
}

TEST(Replica, a_large_state_cannot_be_queried_after_the_journal_failed) {
    Asking world{of_files()};
    run_to_end(world.loop, ask_behind_a_broken_journal(world));
}

}  // namespace
}  // namespace gpuctl::core
