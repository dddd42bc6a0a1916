#include "sim/log_script.hpp"

#include "unit/sim/sim_world.hpp"

namespace gpuctl::sim {
namespace {

TEST(SimLogs, timestamps_are_rfc_3339) {
    EXPECT_EQ(format_timestamp(Instant{0}, 0), "1970-01-01T00:00:00.000000000Z");
    EXPECT_EQ(format_timestamp(Instant{1'709'210'096'789}, 42), "2024-02-29T12:34:56.789000042Z");
    EXPECT_EQ(format_timestamp(Instant{4'102'444'799'999}, 0), "2099-12-31T23:59:59.999000000Z");
}

struct Running {
    explicit Running(JobRecord wanted) : job(std::move(wanted)) {
        world.create(job);
        world.bind(world.only_pod(), "node-0");
        world.run_for(Duration{4'000});
    }
    LogScript log() { return *world.cluster.log_of(world.only_pod().key); }
    JobRecord job;
    SimWorld world;
};

TEST(SimLogs, any_window_of_lines_is_the_same_whenever_it_is_read) {
    JobRecord job = make_job("llm", JobKind::training, 1, 8);
    job.spec.run_time_expected = Duration{20'000};
    Running running{job};
    const LogScript early = running.log();
    const std::int64_t count = early.lines_until(running.world.now);
    ASSERT_GE(count, 3);
    std::vector<std::string> lines;
    for (std::int64_t i = 0; i < count; ++i) lines.push_back(early.line(i));
    running.world.run_for(Duration{60'000});
    const LogScript late = running.log();
    EXPECT_TRUE(late.ended());
    for (std::int64_t i = 0; i < count; ++i) {
        EXPECT_EQ(late.line(i), lines[static_cast<std::size_t>(i)]);
    }
    const std::int64_t all = late.lines_until(running.world.now);
    EXPECT_EQ(all, late.lines_until(running.world.now + Duration{1'000'000}));
    EXPECT_NE(late.line(all - 1).find("done"), std::string::npos);
    EXPECT_NE(late.line(all - 2).find("step 20/20 loss "), std::string::npos);
    EXPECT_EQ(lines[0].substr(0, 4), "2023");
    EXPECT_EQ(lines[0].back(), '\n');
}

TEST(SimLogs, a_burst_has_many_lines_at_once_each_with_its_own_timestamp) {
    JobRecord job = make_job("llm", JobKind::training, 1, 8);
    set_environment(job, "GPUCTL_SIM_LOG_BURST", "100");
    set_environment(job, "GPUCTL_SIM_LOG_INTERVAL", "10ms");
    Running running{job};
    const LogScript log = running.log();
    const Instant start = running.world.only_pod().started_at;
    EXPECT_EQ(log.lines_until(start + Duration{1'000}) - log.lines_until(start), 10'000);
    for (std::int64_t i = 1; i < 1'000; ++i) {
        EXPECT_LT(log.line(i - 1).substr(0, 30), log.line(i).substr(0, 30));
    }
}

TEST(SimLogs, a_progress_bar_is_one_line_that_is_written_in_pieces) {
    JobRecord job = make_job("llm", JobKind::training, 1, 8);
    job.spec.run_time_expected = Duration{20'000};
    set_environment(job, "GPUCTL_SIM_PROGRESS_BAR", "5s");
    set_environment(job, "GPUCTL_SIM_LOG_INTERVAL", "100ms");
    Running running{job};
    const LogScript log = running.log();
    const Instant start = running.world.only_pod().started_at;
    EXPECT_EQ(log.pieces_until(start), 0);
    EXPECT_EQ(log.lines_until(start + Duration{4'999}), 2) << "the preface";
    EXPECT_EQ(log.pieces_until(start + Duration{4'999}), 49);
    EXPECT_EQ(log.lines_until(start + Duration{5'000}), 3);
    EXPECT_EQ(log.pieces_until(start + Duration{5'000}), 0) << "it has its end";
    EXPECT_EQ(log.lines_until(start + Duration{5'100}), 4);
    std::string pieces;
    for (std::int64_t i = 0; i < log.pieces_of(2); ++i) {
        EXPECT_EQ(log.time_of_piece(i), start + Duration{100} * (i + 1));
        pieces += log.piece(i);
    }
    EXPECT_EQ(log.line(2), pieces + "\n");
    EXPECT_NE(pieces.find("Z   2%|"), std::string::npos) << pieces.substr(0, 60);
    EXPECT_NE(pieces.find("\r 50%|##########          | 25/50"), std::string::npos);
    EXPECT_TRUE(pieces.ends_with("\r100%|####################| 50/50"));
    EXPECT_NE(log.line(3).find("step 1/"), std::string::npos);
    EXPECT_LT(log.line(2).substr(0, 30), log.line(3).substr(0, 30)) << "a line has its first time";
    running.world.run_for(Duration{60'000});
    const LogScript late = running.log();
    for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(late.line(i), log.line(i));
    const std::int64_t all = late.lines_until(running.world.now);
    EXPECT_EQ(all, 2 + 1 + 150 + 1);
    EXPECT_NE(late.line(all - 1).find("done"), std::string::npos);
}

TEST(SimLogs, a_container_may_end_before_its_bar_does_and_a_bar_has_a_bound) {
    JobRecord job = make_job("llm", JobKind::training, 1, 8);
    set_environment(job, "GPUCTL_SIM_RUN_TIME", "1s");
    set_environment(job, "GPUCTL_SIM_PROGRESS_BAR", "1h");
    set_environment(job, "GPUCTL_SIM_LOG_INTERVAL", "1ms");
    Running running{job};
    running.world.run_for(Duration{60'000});
    const LogScript log = running.log();
    EXPECT_EQ(log.lines_until(running.world.now), 4);
    EXPECT_LT(log.pieces_of(2), 10);
    EXPECT_TRUE(log.line(2).ends_with("/10000\n")) << log.line(2);
    EXPECT_NE(log.line(3).find("done"), std::string::npos);
    EXPECT_EQ(log.pieces_until(running.world.now), 0);
}

TEST(SimLogs, there_is_no_log_before_the_container_starts) {
    SimWorld world;
    world.create(make_job("llm", JobKind::training, 1, 8));
    EXPECT_FALSE(world.cluster.log_of(world.only_pod().key).has_value());
    EXPECT_FALSE(world.cluster.log_of({"team-a", "no job"}).has_value());
}

TEST(SimLogs, values_that_are_not_understood_are_reported_in_the_log) {
    JobRecord job = make_job("llm", JobKind::training, 1, 8);
    set_environment(job, "GPUCTL_SIM_RUN_TIME", "soon");
    set_environment(job, "GPUCTL_SIM_OUTCOME", "maybe");
    set_environment(job, "GPUCTL_SIM_LOG_BURST", "-1");
    Running running{job};
    const LogScript log = running.log();
    EXPECT_NE(log.line(2).find("GPUCTL_SIM_RUN_TIME=soon is ignored"), std::string::npos);
    EXPECT_NE(log.line(3).find("GPUCTL_SIM_OUTCOME=maybe is ignored"), std::string::npos);
    EXPECT_NE(log.line(4).find("GPUCTL_SIM_LOG_BURST=-1 is ignored"), std::string::npos);
}

TEST(SimSteering, the_environment_overrides_the_command_which_overrides_the_expected_run_time) {
    JobRecord job = make_job("llm", JobKind::training, 1, 8);
    EXPECT_EQ(steering_of(job.spec, {}).run_time, Settings{}.training_run_time);
    job.spec.run_time_expected = Duration{7'000};
    EXPECT_EQ(steering_of(job.spec, {}).run_time, Duration{7'000});
    job.spec.command = {"sleep", "5"};
    EXPECT_EQ(steering_of(job.spec, {}).run_time, Duration{5'000});
    set_environment(job, "GPUCTL_SIM_RUN_TIME", "250ms");
    EXPECT_EQ(steering_of(job.spec, {}).run_time, Duration{250});
    job.spec.kind = JobKind::inference;
    job.spec.environment.clear();
    job.spec.command.clear();
    EXPECT_EQ(steering_of(job.spec, {}).run_time, std::nullopt);
}

}  // namespace
}  // namespace gpuctl::sim
