#include <sstream>

#include "unit/embedded/embedded_fixture.hpp"

namespace gpuctl::embedded {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

struct Reading {
    std::string text;
    std::optional<Error> failed;
    int timeouts = 0;
    bool ended = false;
};

aio::Task<void> read_log(ports::LogSource& source, ports::LogRequest request, Reading& reading) {
    const aio::Deadline opening = aio::Deadline::in(std::chrono::seconds{10});
    Result<std::unique_ptr<ports::LogStream>> stream = co_await source.open(request, opening);
    if (!stream) {
        reading.failed = stream.error();
        reading.ended = true;
        co_return;
    }
    for (;;) {
        const aio::Deadline slice = aio::Deadline::in(std::chrono::milliseconds{30});
        Result<bool> more = co_await (*stream)->read_some(reading.text, slice);
        if (!more && more.error().code == ErrorCode::Timeout) {
            ++reading.timeouts;
            continue;
        }
        if (!more) reading.failed = more.error();
        if (!more || !*more) break;
    }
    reading.ended = true;
}

class EmbeddedLogsTest : public EmbeddedTest {
protected:
    EmbeddedLogsTest() { cluster.start(sink); }
    ~EmbeddedLogsTest() override { stop(cluster); }

    PodFacts run(const JobRecord& job) {
        cluster.carry_out(CreateWorkload{EffectId{1}, Epoch{1}, job});
        EXPECT_TRUE(turn_until([&] { return sink.pods.size() == 1; }));
        const PodFacts pod = sink.pods.begin()->second;
        cluster.carry_out(BindPod{EffectId{2}, Epoch{1}, {pod.key, pod.uid}, "train-0", 1, {}});
        EXPECT_TRUE(turn_until([&] { return pod_now().phase == PodPhase::running; }));
        return pod_now();
    }
    const PodFacts& pod_now() { return sink.pods.begin()->second; }
    Reading read(ports::LogRequest request) {
        Reading reading;
        tasks.spawn("read", read_log(cluster.logs(), std::move(request), reading));
        EXPECT_TRUE(turn_until([&] { return reading.ended; }));
        return reading;
    }
    static ports::LogRequest of(const PodFacts& pod, bool follow) {
        ports::LogRequest request;
        request.pod = pod.key;
        request.uid = pod.uid;
        request.follow = follow;
        return request;
    }

    MemorySink sink;
    EmbeddedCluster cluster{loop, quick_settings(), {}};
};

TEST_F(EmbeddedLogsTest, a_followed_log_comes_line_by_line_and_ends_with_the_container) {
    const PodFacts pod = run(make_job("llm", JobKind::training, 1, 8, "training"));
    const Reading followed = read(of(pod, true));
    EXPECT_FALSE(followed.failed);
    EXPECT_EQ(pod_now().phase, PodPhase::succeeded);
    const Reading whole = read(of(pod, false));
    EXPECT_EQ(followed.text, whole.text);
    const std::vector<std::string> lines = lines_of(whole.text);
    ASSERT_EQ(lines.size(), 2u + 20u + 1u);  // preface, a step each 10 ms of 200, farewell
    EXPECT_NE(lines[2].find("step 1/20 loss"), std::string::npos);
    EXPECT_NE(lines.back().find(" done"), std::string::npos);
}

TEST_F(EmbeddedLogsTest, tail_and_since_choose_the_lines_a_kubelet_would) {
    const PodFacts pod = run(make_job("llm", JobKind::training, 1, 8, "training"));
    ASSERT_TRUE(turn_until([&] { return pod_now().phase == PodPhase::succeeded; }));
    const std::vector<std::string> all = lines_of(read(of(pod, false)).text);
    ports::LogRequest request = of(pod, false);
    request.tail_lines = 5;
    EXPECT_EQ(lines_of(read(request).text), std::vector<std::string>(all.end() - 5, all.end()));
    request.tail_lines = 0;
    EXPECT_EQ(read(request).text, "");
    request.tail_lines = std::nullopt;
    request.since_time = all[10].substr(0, 19) + "Z";
    const std::vector<std::string> since = lines_of(read(request).text);
    ASSERT_FALSE(since.empty());
    EXPECT_EQ(since.front().substr(0, 19), all[10].substr(0, 19));
    EXPECT_EQ(since.back(), all.back());
    const auto first = std::find(all.begin(), all.end(), since.front());
    if (first != all.begin()) {
        EXPECT_LT((first - 1)->substr(0, 19), all[10].substr(0, 19));
    }
    request.since_time = "2999-01-01T00:00:00Z";
    EXPECT_EQ(read(request).text, "");
}

TEST_F(EmbeddedLogsTest, silence_is_a_timeout_that_leaves_the_stream_usable) {
    JobRecord job = make_job("llm", JobKind::training, 1, 8, "training");
    job.spec.environment.push_back({"GPUCTL_SIM_LOG_INTERVAL", "150ms", ""});
    job.spec.environment.push_back({"GPUCTL_SIM_RUN_TIME", "400ms", ""});
    const Reading followed = read(of(run(job), true));
    EXPECT_GT(followed.timeouts, 0);
    EXPECT_EQ(lines_of(followed.text).size(), 2u + 2u + 1u);
}

TEST_F(EmbeddedLogsTest, a_progress_bar_comes_as_it_is_drawn) {
    JobRecord job = make_job("llm", JobKind::training, 1, 8, "training");
    job.spec.environment.push_back({"GPUCTL_SIM_PROGRESS_BAR", "300ms", ""});
    job.spec.environment.push_back({"GPUCTL_SIM_LOG_INTERVAL", "50ms", ""});
    job.spec.environment.push_back({"GPUCTL_SIM_RUN_TIME", "500ms", ""});
    const PodFacts pod = run(job);
    Reading reading;
    tasks.spawn("read", read_log(cluster.logs(), of(pod, true), reading));
    ASSERT_TRUE(turn_until([&] { return reading.text.find("%|") != std::string::npos; }));
    EXPECT_EQ(reading.text.find("6/6"), std::string::npos) << "long before it is done";
    const Reading now = read(of(pod, false));
    EXPECT_NE(now.text.find("%|"), std::string::npos) << "what there is of it";
    EXPECT_FALSE(now.text.ends_with('\n'));
    ASSERT_TRUE(turn_until([&] { return reading.ended; }));
    EXPECT_EQ(reading.text, read(of(pod, false)).text) << "the same bytes in pieces and whole";
    const std::vector<std::string> lines = lines_of(reading.text);
    ASSERT_EQ(lines.size(), 2u + 1u + 4u + 1u);
    EXPECT_EQ(std::count(lines[2].begin(), lines[2].end(), '\r'), 5);
    ports::LogRequest tail = of(pod, false);
    tail.tail_lines = 6;
    EXPECT_EQ(lines_of(read(tail).text).front(), lines[2]);
}

TEST_F(EmbeddedLogsTest, unreadable_logs_have_distinct_errors) {
    cluster.carry_out(CreateWorkload{EffectId{1}, Epoch{1},
                                     make_job("lab", JobKind::notebook, 1, 1, "training")});
    ASSERT_TRUE(turn_until([&] { return sink.pods.size() == 1; }));
    const PodFacts pod = pod_now();
    EXPECT_EQ(read(of(pod, false)).failed->code, ErrorCode::BadRequest);
    PodFacts other = pod;
    other.uid = "an earlier incarnation";
    EXPECT_EQ(read(of(other, false)).failed->code, ErrorCode::NotFound);
    ports::LogRequest request = of(pod, false);
    request.container = "sidecar";
    EXPECT_EQ(read(request).failed->code, ErrorCode::NotFound);
    request.container = "main";
    cluster.carry_out(BindPod{EffectId{2}, Epoch{1}, {pod.key, pod.uid}, "train-0", 1, {}});
    ASSERT_TRUE(turn_until([&] { return pod_now().phase == PodPhase::running; }));
    EXPECT_FALSE(read(request).failed);
    cluster.disturb(sim::NodeLost{"train-0"});
    EXPECT_EQ(read(request).failed->code, ErrorCode::Unreachable);
}

TEST_F(EmbeddedLogsTest, a_followed_log_ends_when_its_pod_is_deleted) {
    const PodFacts pod = run(make_job("web", JobKind::inference, 1, 1, "training"));
    Reading reading;
    tasks.spawn("read", read_log(cluster.logs(), of(pod, true), reading));
    ASSERT_TRUE(turn_until([&] { return lines_of(reading.text).size() > 5; }));
    EXPECT_FALSE(reading.ended);
    cluster.carry_out(
        DeleteWorkload{EffectId{3}, Epoch{1}, {"team-a", "web"}, JobKind::inference, true});
    ASSERT_TRUE(turn_until([&] { return reading.ended; }));
    EXPECT_FALSE(reading.failed);
}

}  // namespace
}  // namespace gpuctl::embedded
