#pragma once
// An engine loop on a journal and a cluster that the test controls.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/engine_loop.hpp"

namespace gpuctl::core {

// The calls, in order: "append JobSubmitted", "flush", "sync", "effect CreateWorkload".
using Story = std::vector<std::string>;

class ScriptedJournal final : public journal::Journal {
public:
    explicit ScriptedJournal(Story& story) : story_(story) {}

    Result<void> append(const Input& input) override {
        const bool is_plan = std::holds_alternative<Plan>(input.event);
        if (append_fails || (plan_fails && is_plan) || appends_left == 0) {
            return make_error(ErrorCode::JournalFailed, "no space left on device");
        }
        --appends_left;
        inputs.push_back(input);
        story_.push_back("append " + std::to_string(input.event.index()));
        return {};
    }
    Result<void> flush() override {
        if (flush_fails || flushes_left == 0)
            return make_error(ErrorCode::JournalFailed, "no space left on device");
        --flushes_left;
        story_.push_back("flush");
        return {};
    }
    void sync(std::function<void(Result<void>)> done) override {
        story_.push_back("sync");
        waiting.push_back(std::move(done));
    }
    [[nodiscard]] bool is_segment_full() const override { return false; }
    void roll(std::function<void(Result<void>)> done) override { done({}); }
    Result<void> write_snapshot(const Engine&, Sequence) override {
        ++snapshots;
        return {};
    }
    [[nodiscard]] journal::JournalPlace place() const override { return {}; }
    Result<void> close() override { return {}; }
    [[nodiscard]] Figures figures() const override { return {}; }

    void finish_syncs(const Result<void>& result) {
        for (auto& done : std::exchange(waiting, {})) done(result);
    }

    std::vector<Input> inputs;
    std::vector<std::function<void(Result<void>)>> waiting;
    bool append_fails = false;
    int appends_left = -1;  // then they fail; negative: never
    bool plan_fails = false;
    bool flush_fails = false;
    int flushes_left = -1;  // then they fail; negative: never
    int snapshots = 0;

private:
    Story& story_;
};

class ScriptedCluster final : public ports::Cluster, public ports::LogSource {
public:
    explicit ScriptedCluster(Story& story) : story_(story) {}
    void start(ports::EventSink&) override {}
    void carry_out(const Effect& effect) override {
        story_.push_back("effect " + std::to_string(effect.index()));
        effects.push_back(effect);
        if (called) called(effect);
    }
    [[nodiscard]] std::vector<ports::HealthLine> health() const override { return {}; }
    [[nodiscard]] ports::LogSource& logs() override { return *this; }
    aio::Task<Result<std::unique_ptr<ports::LogStream>>> open(ports::LogRequest,
                                                              aio::Deadline) override {
        co_return make_error(ErrorCode::NotFound, "no logs here");
    }
    aio::Task<Result<std::string>> cluster_id(aio::Deadline) override { co_return "id"; }
    aio::Task<Result<void>> try_create(JobRecord, Epoch) override { co_return Result<void>{}; }
    aio::Task<Result<std::string>> controller_trouble(ObjectKey, aio::Deadline) override {
        co_return std::string{};
    }
    aio::Task<void> hand_over(aio::Deadline) override { co_return; }
    aio::Task<bool> stop(aio::Deadline) override { co_return true; }

    std::vector<Effect> effects;
    std::function<void(const Effect&)> called;  // called while the loop sends the effect

private:
    Story& story_;
};

inline constexpr std::size_t kSubmitted = 7;       // index of JobSubmitted in Event
inline constexpr std::size_t kCreateWorkload = 2;  // index of CreateWorkload in Effect
static_assert(std::is_same_v<std::variant_alternative_t<kSubmitted, Event>, JobSubmitted>);
static_assert(std::is_same_v<std::variant_alternative_t<kCreateWorkload, Effect>, CreateWorkload>);

struct World {
    using Body = aio::Task<void> (*)(World&);

    explicit World(EngineLoopSettings settings = {})
        : journal(story),
          cluster(story),
          engine(loop, journal, Engine{}, Sequence{1}, settings, recorder) {}

    void run(Body body) {
        tasks.spawn("test body", whole(body));
        const std::function<void()> quit = [&] {
            if (tasks.size() == 0) return loop.stop();
            loop.post(quit);
        };
        quit_when_idle = quit;
        loop.run();
    }

    aio::Task<void> whole(Body body) {
        engine.start(cluster);
        engine.change_policy(Policy{});
        EXPECT_TRUE(engine.offer(NodeObserved{node()}));
        EXPECT_TRUE(engine.offer(LeadershipChanged{true, Epoch{1}}));
        EXPECT_TRUE(engine.offer(CacheSynced{}));
        const bool ready = co_await until([this] { return engine.synced(); });
        EXPECT_TRUE(ready);
        story.clear();
        co_await body(*this);
        const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{10});
        co_await engine.stop(deadline);
        journal.finish_syncs(Result<void>{});
        loop.post(quit_when_idle);
    }

    static NodeFacts node() {
        NodeFacts facts;
        facts.name = "node-0";
        facts.pool = "default";
        facts.allocatable.cpu = CpuMilli{64'000};
        facts.allocatable.memory = Bytes{std::int64_t{512} << 30};
        facts.allocatable.pods = 110;
        return facts;
    }

    static JobRecord job(const std::string& name) {
        JobRecord record;
        record.uid = "uid-of-" + name;
        record.spec.key = {"default", name};
        record.spec.image = "repo/image:1";
        record.spec.cpu = CpuMilli{1'000};
        record.spec.memory = Bytes{1 << 30};
        return record;
    }

    aio::Task<bool> until(std::function<bool()> condition) {
        const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{20});
        while (!condition()) {
            if (deadline.passed()) co_return false;
            const aio::Deadline soon = aio::Deadline::in(std::chrono::milliseconds{1});
            co_await aio::sleep_until(soon);
        }
        co_return true;
    }

    // The answer to a submit, once there is one.
    aio::Task<void> submit(std::string name, std::shared_ptr<std::optional<Result<void>>> answer) {
        const aio::Deadline deadline = aio::Deadline::in(submit_deadline);
        Result<void> result = co_await engine.submit(job(name), deadline);
        *answer = result;
    }
    std::shared_ptr<std::optional<Result<void>>> start_submit(const std::string& name) {
        auto answer = std::make_shared<std::optional<Result<void>>>();
        tasks.spawn("submit " + name, submit(name, answer));
        return answer;
    }

    [[nodiscard]] std::ptrdiff_t place_of(const std::string& what) const {
        return std::find(story.begin(), story.end(), what) - story.begin();
    }
    [[nodiscard]] bool happened(const std::string& what) const {
        return place_of(what) != std::ssize(story);
    }

    aio::Loop loop;
    Story story;
    ScriptedJournal journal;
    ScriptedCluster cluster;
    metrics::Recorder recorder;
    EngineLoop engine;
    aio::TaskGroup tasks{loop};
    std::function<void()> quit_when_idle;
    std::chrono::milliseconds submit_deadline{20'000};
};

}  // namespace gpuctl::core
