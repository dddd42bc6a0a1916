// A recorded embedded run, replayed under a virtual clock, gives the same state; and a restart from
// the journal continues the run.

#include <algorithm>
#include <deque>
#include <filesystem>

#include "daemon/core/engine_loop.hpp"
#include "daemon/journal/disk.hpp"
#include "daemon/journal/journal.hpp"
#include "scheduler/base/archive.hpp"
#include "unit/embedded/embedded_fixture.hpp"

namespace gpuctl::embedded {
namespace {

// The daemon without its network: journal, engine loop and embedded cluster, connected as in
// gpuctld.
struct Daemon {
    Daemon(aio::Loop& loop_, const std::string& folder) : loop(loop_) {
        journal::JournalSettings settings;
        settings.directory = folder;
        settings.mode = "embedded";
        auto opened = journal::Journal::open(loop, journal::real_disk(), settings, recovered);
        EXPECT_TRUE(opened.has_value()) << opened.error().message;
        journal = std::move(*opened);
        EmbeddedSettings embedded = quick_settings();
        embedded.cluster_id = recovered.cluster_id;
        cluster =
            std::make_unique<EmbeddedCluster>(loop, embedded, sim::read_world(recovered.engine),
                                              [this](const Call& call) { calls.push_back(call); });
        engine = std::make_unique<core::EngineLoop>(loop, *journal, std::move(recovered.engine),
                                                    recovered.next_sequence,
                                                    core::EngineLoopSettings{}, recorder);
        engine->start(*cluster);
        engine->change_policy(policy());
        cluster->start(*engine);
    }
    static Policy policy() {
        Policy policy;
        policy.pools.push_back({"training", "", {}, {}});
        return policy;
    }
    std::optional<JobView> job(const std::string& name) const {
        Result<JobView> found = find_job(engine->state(), "team-a", name);
        if (!found) return std::nullopt;
        return *found;
    }
    bool is(const std::string& name, const std::string& status) const {
        const std::optional<JobView> found = job(name);
        return found && found->status == status;
    }

    aio::Loop& loop;
    metrics::Recorder recorder;
    journal::Recovered recovered;
    std::unique_ptr<journal::Journal> journal;
    std::vector<Call> calls;
    std::unique_ptr<EmbeddedCluster> cluster;
    std::unique_ptr<core::EngineLoop> engine;
};

aio::Task<void> submit(core::EngineLoop& engine, JobRecord job, int& acknowledged) {
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{30});
    Result<void> done = co_await engine.submit(std::move(job), deadline);
    EXPECT_TRUE(done.has_value()) << done.error().message;
    ++acknowledged;
}

aio::Task<void> remove_job(core::EngineLoop& engine, ObjectKey key, int& acknowledged) {
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{30});
    Result<void> done = co_await engine.remove(std::move(key), false, deadline);
    EXPECT_TRUE(done.has_value()) << done.error().message;
    ++acknowledged;
}

aio::Task<void> end(Daemon& daemon, bool& ended) {
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{30});
    const bool cluster = co_await daemon.cluster->stop(deadline);
    const bool engine = co_await daemon.engine->stop(deadline);
    EXPECT_TRUE(cluster && engine);
    ended = true;
}

class RecordedRunTest : public EmbeddedTest {
protected:
    RecordedRunTest() {
        std::string pattern = testing::TempDir() + "gpuctl-embedded-XXXXXX";
        root = ::mkdtemp(pattern.data());
    }
    ~RecordedRunTest() override { std::filesystem::remove_all(root); }

    void submit_and_wait(Daemon& daemon, const JobRecord& job) {
        int acknowledged = 0;
        tasks.spawn("submit", submit(*daemon.engine, job, acknowledged));
        ASSERT_TRUE(turn_until([&] { return acknowledged == 1; }));
    }
    void stop_all(Daemon& daemon) {
        bool ended = false;
        tasks.spawn("end", end(daemon, ended));
        ASSERT_TRUE(turn_until([&] { return ended; }));
    }
    // The files that a kill -9 at this time would leave.
    std::string crash_image(const std::string& name) {
        std::filesystem::copy(root + "/live", root + "/" + name);
        return root + "/" + name;
    }
    bool ready(Daemon& daemon) {
        return turn_until([&] { return !daemon.engine->refusal().has_value(); });
    }

    std::string root;
};

// Only clock readings, users' requests and Plan inputs are taken from the record. Cluster events
// come from a second virtual cluster, its effects from a second engine.
class Replay {
public:
    Replay(const EmbeddedSettings& settings, std::vector<Call> calls)
        : cluster_(settings.cluster), calls_(calls.begin(), calls.end()) {
        const Instant start = calls_.front().now;
        calls_.pop_front();
        cluster_.restore({}, make_nodes(settings.nodes, settings.cluster.label_prefix), start);
        cluster_.announce({}, events_);
        events_.push_back(LeadershipChanged{true, Epoch{static_cast<std::uint64_t>(start.ms())}});
    }

    void replay_input(const Input& recorded) {
        Input input = recorded;
        if (is_from_cluster(recorded.event)) {
            while (next_event_ == events_.size() && !calls_.empty()) make_next_call();
            ASSERT_LT(next_event_, events_.size()) << "the cluster has nothing more to say";
            input.event = events_[next_event_++];
            ASSERT_EQ(to_archive(input.event), to_archive(recorded.event))
                << "input " << static_cast<std::uint64_t>(recorded.sequence);
        }
        engine_.step(input, effects_);
    }
    void finish() {
        while (!calls_.empty()) make_next_call();
    }
    [[nodiscard]] std::uint64_t engine_hash() const { return engine_.state_hash(); }
    [[nodiscard]] std::uint64_t cluster_hash() const { return cluster_.state_hash(); }

private:
    static bool is_from_cluster(const Event& event) {
        return !std::holds_alternative<JobSubmitted>(event) &&
               !std::holds_alternative<JobDeleteRequested>(event) &&
               !std::holds_alternative<PolicyChanged>(event) &&
               !std::holds_alternative<WokeUp>(event) && !std::holds_alternative<Plan>(event);
    }
    void make_next_call() {
        const Call call = calls_.front();
        calls_.pop_front();
        if (const auto* input = std::get_if<sim::SimInput>(&call.what)) {
            cluster_.apply(*input, call.now, events_);
        } else if (const auto* effect = std::get_if<Effect>(&call.what)) {
            while (next_effect_ < effects_.size() &&
                   std::holds_alternative<WakeAt>(effects_[next_effect_])) {
                ++next_effect_;  // the engine loop keeps that time itself
            }
            ASSERT_LT(next_effect_, effects_.size()) << "an effect that was not recorded";
            ASSERT_EQ(to_archive(effects_[next_effect_]), to_archive(*effect));
            cluster_.carry_out(effects_[next_effect_++], call.now, events_);
        } else {
            cluster_.advance(call.now, events_);
        }
    }

    sim::Cluster cluster_;
    std::deque<Call> calls_;
    Engine engine_;
    EffectList effects_;
    std::size_t next_effect_ = 0;
    std::vector<Event> events_;
    std::size_t next_event_ = 0;
};

TEST_F(RecordedRunTest, a_run_in_real_time_replays_under_a_virtual_clock_to_the_same_state) {
    Daemon daemon{loop, root + "/live"};
    ASSERT_TRUE(ready(daemon));
    submit_and_wait(daemon, make_job("llm", JobKind::training, 2, 8, "training"));
    submit_and_wait(daemon, make_job("later", JobKind::training, 1, 8, "training"));
    submit_and_wait(daemon, make_job("lab", JobKind::notebook, 1, 1));
    submit_and_wait(daemon, make_job("web", JobKind::inference, 2, 1));
    ASSERT_TRUE(turn_until([&] { return daemon.is("llm", "Running"); }));
    daemon.cluster->disturb(sim::ContainerKilled{{"team-a", "lab-0"}, "OOMKilled"});
    ASSERT_TRUE(turn_until([&] { return daemon.is("llm", "Succeeded"); }));
    // On a busy machine it may come before the other job's ranks are complete, and be over by now.
    ASSERT_TRUE(turn_until(
        [&] { return daemon.is("later", "Running") || daemon.is("later", "Succeeded"); }));
    daemon.cluster->disturb(sim::NodeLost{"plain-0"});
    daemon.cluster->disturb(sim::NodeReturns{"plain-0"});
    int acknowledged = 0;
    tasks.spawn("delete", remove_job(*daemon.engine, {"team-a", "web"}, acknowledged));
    ASSERT_TRUE(turn_until([&] { return acknowledged == 1 && !daemon.job("web"); }));

    const std::string image = crash_image("record");
    const std::uint64_t engine_hash = daemon.engine->engine().state_hash();
    const std::uint64_t cluster_hash = daemon.cluster->virtual_cluster().state_hash();
    const std::vector<Call> calls = daemon.calls;
    const auto inputs = journal::read_inputs(image);
    ASSERT_TRUE(inputs.has_value());
    EXPECT_GT(inputs->size(), 60u);

    Replay replay{quick_settings(), calls};
    for (const Input& input : *inputs) {
        replay.replay_input(input);
        if (testing::Test::HasFatalFailure()) break;
    }
    replay.finish();
    EXPECT_EQ(replay.engine_hash(), engine_hash);
    EXPECT_EQ(replay.cluster_hash(), cluster_hash);

    const auto report = journal::replay(image);
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->state_hash, engine_hash);
    stop_all(daemon);
}

TEST_F(RecordedRunTest, after_a_crash_pods_and_logs_continue) {
    std::string image;
    PodFacts before;
    std::vector<std::string> lines;
    JobRecord job = make_job("llm", JobKind::training, 1, 8, "training");
    job.spec.run_time_expected = Duration{3'600'000};
    {
        Daemon daemon{loop, root + "/live"};
        ASSERT_TRUE(ready(daemon));
        submit_and_wait(daemon, job);
        submit_and_wait(daemon, make_job("huge", JobKind::training, 1, 8, "nowhere"));
        ASSERT_TRUE(turn_until([&] { return daemon.is("llm", "Running"); }));
        before = daemon.job("llm")->pods.front().facts;
        const auto log = daemon.cluster->virtual_cluster().log_of(before.key);
        for (std::int64_t i = 0; i < 10; ++i) lines.push_back(log->line(i));
        image = crash_image("crashed");
        stop_all(daemon);
    }
    Daemon daemon{loop, image};
    ASSERT_TRUE(ready(daemon));
    ASSERT_TRUE(daemon.is("llm", "Running"));
    const PodFacts after = daemon.job("llm")->pods.front().facts;
    EXPECT_EQ(to_archive(after), to_archive(before));
    const auto log = daemon.cluster->virtual_cluster().log_of(before.key);
    ASSERT_TRUE(log.has_value());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(log->line(static_cast<std::int64_t>(i)), lines[i]);
    }
    EXPECT_TRUE(daemon.is("huge", "Pending"));
    EXPECT_EQ(daemon.cluster->virtual_cluster().pods_count(), 2u);
    stop_all(daemon);
}

TEST_F(RecordedRunTest, an_acknowledged_submit_survives_a_crash_right_behind_the_answer) {
    std::string image;
    {
        Daemon daemon{loop, root + "/live"};
        ASSERT_TRUE(ready(daemon));
        submit_and_wait(daemon, make_job("llm", JobKind::training, 2, 8, "training"));
        image = crash_image("crashed");
        stop_all(daemon);
    }
    Daemon daemon{loop, image};
    ASSERT_TRUE(ready(daemon));
    ASSERT_TRUE(turn_until([&] { return daemon.is("llm", "Succeeded"); }));
    EXPECT_EQ(daemon.cluster->virtual_cluster().figures().kubelet_rejections, 0u);
    stop_all(daemon);
}

}  // namespace
}  // namespace gpuctl::embedded
