// Snapshots and new segments while the loop continues, and the length of its turns.

#include "daemon/core/engine_loop.hpp"

#include <functional>

#include "daemon/embedded/embedded_cluster.hpp"
#include "unit/core/core_fixture.hpp"

namespace gpuctl::core {
namespace {

using metrics::Metric;

embedded::EmbeddedSettings cluster_settings() {
    embedded::EmbeddedSettings settings;
    embedded::NodeGroup group;
    group.name = "node";
    group.count = 4;
    group.gpus = 8;
    settings.nodes = {group};
    settings.cluster.image_pull = Duration{2};
    settings.cluster.container_start = Duration{2};
    settings.cluster.training_run_time = Duration{20};
    settings.cluster.container_stop_max = Duration{5};
    return settings;
}

JobRecord job(int number) {
    JobRecord record;
    record.uid = "uid-" + std::to_string(number);
    record.spec.key = {"default", "job-" + std::to_string(number)};
    record.spec.image = "repo/image:1";
    record.spec.cpu = CpuMilli{1'000};
    record.spec.memory = Bytes{1 << 30};
    record.submitted_at = Instant{aio::Loop::wall_ms()};
    return record;
}

// The loop on a real journal and the simulated cluster.
struct Running {
    explicit Running(std::size_t segment_bytes_max, std::uint64_t snapshot_every,
                     std::chrono::microseconds batch_time = std::chrono::milliseconds{4}) {
        journal::JournalSettings wanted = folder.settings();
        wanted.segment_bytes_max = segment_bytes_max;
        journal::Recovered found;
        auto opened = journal::Journal::open(loop, journal::real_disk(), wanted, found);
        EXPECT_TRUE(opened.has_value());
        journal = std::move(*opened);
        EngineLoopSettings settings;
        settings.snapshot_every_inputs = snapshot_every;
        settings.batch_time = batch_time;
        settings.replica.copied_at_once_max = 0;
        settings.replica.pause_after_failure = std::chrono::milliseconds{1};
        cluster =
            std::make_unique<embedded::EmbeddedCluster>(loop, cluster_settings(), sim::World{});
        engine =
            std::make_unique<EngineLoop>(loop, *journal, Engine{}, Sequence{1}, settings, recorder);
    }

    aio::Task<void> start() {
        engine->start(*cluster);
        engine->change_policy(Policy{});
        cluster->start(*engine);
        while (engine->refusal()) co_await engine->changed().wait(soon());
    }

    aio::Task<void> submit(int first, int count) {
        for (int i = first; i < first + count; ++i) {
            Result<void> stored = co_await engine->submit(job(i), soon());
            EXPECT_TRUE(stored.has_value()) << stored.error().message;
        }
    }

    aio::Task<bool> until(std::function<bool()> condition) {
        const aio::Deadline deadline = soon();
        while (!condition() && !deadline.passed()) {
            co_await aio::sleep_until(aio::Deadline::in(std::chrono::milliseconds{2}));
        }
        co_return condition();
    }

    // A start from the folder restores what was in memory.
    aio::Task<void> end() {
        const bool cluster_ended = co_await cluster->stop(soon());
        engine->stop_intake();
        const bool drained = co_await engine->drain(soon());
        const bool ended = co_await engine->stop(soon());
        EXPECT_TRUE(cluster_ended && drained && ended);
        EXPECT_TRUE(journal->close().has_value());
        journal::Recovered found;
        const auto again =
            journal::Journal::open(loop, journal::real_disk(), folder.settings(), found);
        EXPECT_TRUE(again.has_value()) << again.error().message;
        EXPECT_EQ(found.engine.state_hash(), engine->engine().state_hash());
    }

    std::uint64_t snapshots(const char* result) {
        return recorder.counter(Metric::journal_snapshots, {result}).value();
    }

    Folder folder;
    aio::Loop loop;
    metrics::Recorder recorder;
    std::unique_ptr<journal::Journal> journal;
    std::unique_ptr<embedded::EmbeddedCluster> cluster;
    std::unique_ptr<EngineLoop> engine;
};

std::uint64_t hash_of(const Engine& engine) { return engine.state_hash(); }

aio::Task<void> submit_and_query(Running& world) {
    co_await world.start();
    for (int round = 0; round < 6; ++round) {
        co_await world.submit(10 * round, 10);
        // The copy of the next query includes the answered request.
        std::function<bool(const Engine&)> has_last = [round](const Engine& copy) {
            const ObjectKey key{"default", "job-" + std::to_string(10 * round + 9)};
            return copy.state().jobs.find_job(key).exists();
        };
        Result<QueryResult<bool>> asked = co_await world.engine->query(std::move(has_last), soon());
        EXPECT_TRUE(asked && asked->value);
        std::function<std::uint64_t(const Engine&)> read = hash_of;
        const std::uint64_t wanted = world.engine->engine().state_hash();
        Result<QueryResult<std::uint64_t>> hash =
            co_await world.engine->query(std::move(read), soon());
        EXPECT_TRUE(hash && hash->value == wanted);
    }
    const bool written = co_await world.until([&] { return world.snapshots("ok") >= 2; });
    EXPECT_TRUE(written);
    EXPECT_EQ(world.snapshots("failed"), 0u);
    EXPECT_EQ(world.recorder.counter(Metric::loop_exports).value(), 0u);
    EXPECT_FALSE(world.engine->broken());
    co_await world.end();
}

TEST(EngineJournal, snapshots_are_written_while_the_loop_runs_and_restore_its_state) {
    Running world{64u << 20, 100};
    run_to_end(world.loop, submit_and_query(world));
    EXPECT_GE(world.folder.files("snapshot-").size(), 1u);
}

TEST(EngineJournal, many_small_segments_are_rolled_between_turns) {
    Running world{4'000, 150};
    run_to_end(world.loop, submit_and_query(world));
}

aio::Task<void> damage_and_go_on(Running& world) {
    co_await world.start();
    co_await world.submit(0, 20);
    const bool rolled =
        co_await world.until([&] { return world.folder.files("journal-").size() > 2; });
    EXPECT_TRUE(rolled);
    damage(world.folder.files("journal-").front());
    co_await world.submit(20, 60);
    const bool rescued = co_await world.until([&] { return world.snapshots("rescued") == 1; });
    EXPECT_TRUE(rescued) << "the state in memory replaces damaged files";
    EXPECT_EQ(world.recorder.counter(Metric::loop_exports).value(), 1u);
    EXPECT_FALSE(world.engine->broken());
    co_await world.submit(80, 5);
    co_await world.end();
}

aio::Task<void> offer_at_once(Running& world) {
    co_await world.start();
    const metrics::Histogram& batches = world.recorder.histogram(Metric::batch);
    const double before = batches.sum();
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(world.engine->offer(WokeUp{}));
    const bool drained = co_await world.engine->drain(soon());
    EXPECT_TRUE(drained);
    EXPECT_GE(batches.sum() - before, 500);
    const std::span<const double> bounds = batches.upper_bounds();
    const auto sixteen = std::find(bounds.begin(), bounds.end(), 16) - bounds.begin();
    std::uint64_t longer = 0;
    for (auto i = static_cast<std::size_t>(sixteen) + 1; i < batches.counts().size(); ++i) {
        longer += batches.counts()[i];
    }
    EXPECT_EQ(longer, 0u) << "a turn took more than it has time for";
    co_await world.end();
}

TEST(EngineJournal, a_turn_takes_few_inputs_when_they_take_longer_than_it_may) {
    Running world{64u << 20, 1'000'000, std::chrono::microseconds{0}};
    run_to_end(world.loop, offer_at_once(world));
}

TEST(EngineJournal, files_found_damaged_are_replaced_by_what_is_in_memory) {
    Running world{4'000, 300};
    run_to_end(world.loop, damage_and_go_on(world));
}

aio::Task<void> ask_of_damaged(Running& world) {
    co_await world.start();
    co_await world.submit(0, 20);
    const bool rolled =
        co_await world.until([&] { return world.folder.files("journal-").size() > 2; });
    EXPECT_TRUE(rolled);
    damage(world.folder.files("journal-").front());
    std::function<std::uint64_t(const Engine&)> read = hash_of;
    Result<QueryResult<std::uint64_t>> first = co_await world.engine->query(read, soon());
    EXPECT_EQ(code_of(first), ErrorCode::JournalDamaged);
    const bool rescued = co_await world.until([&] { return world.snapshots("rescued") == 1; });
    EXPECT_TRUE(rescued);
    co_await aio::sleep_until(aio::Deadline::in(std::chrono::milliseconds{5}));
    const std::uint64_t wanted = world.engine->engine().state_hash();
    Result<QueryResult<std::uint64_t>> second = co_await world.engine->query(read, soon());
    EXPECT_TRUE(second && second->value == wanted);
    co_await world.end();
}

TEST(EngineJournal, a_query_that_finds_damaged_files_has_them_replaced) {
    Running world{4'000, 1'000'000};
    run_to_end(world.loop, ask_of_damaged(world));
}

}  // namespace
}  // namespace gpuctl::core
