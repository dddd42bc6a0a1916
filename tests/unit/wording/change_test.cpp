// What-if in English: a change, and what it would do.

#include <gtest/gtest.h>

#include "wording/wording.hpp"

namespace gpuctl {
namespace {

using fact::LimitRule;
using fact::LimitUnit;

std::string words(ChangeFact change) { return wording::sentence(ChangeEffect{std::move(change)}); }

change::RaisedLimit of_queue(LimitRule rule, LimitUnit unit, std::int64_t to, std::int64_t from) {
    return {{.queue = "dev", .tenant = "", .pool = ""}, rule, unit, "", to, from};
}

change::RaisedLimit of_tenant(LimitRule rule, LimitUnit unit, std::int64_t to, std::int64_t from,
                              const char* pool) {
    return {{.queue = "", .tenant = "team-a", .pool = pool}, rule, unit, "", to, from};
}

TEST(Changes, by_the_owner_of_the_job) {
    EXPECT_EQ(words(change::FewerGpus{"nvidia.com/gpu", whole_gpus(1), 2, false}),
              "it would start now with 1 GPU per pod instead of 2");
    EXPECT_EQ(words(change::FewerRanks{1, 4}), "it would start now with 1 rank instead of 4");
    EXPECT_EQ(words(change::OtherQueue{"free"}), "it would start now in queue free");
    EXPECT_EQ(words(change::ShorterRunTime{Duration::seconds(100'800), {}, true}),
              "it would start now with maxRunTime 1d4h (it has none)");
    EXPECT_EQ(words(change::ShorterRunTime{Duration::seconds(7'200), Duration{28'805'000}, true}),
              "it would start now with maxRunTime 2h instead of 8h5s");
    EXPECT_EQ(words(change::ShorterRunTime{Duration::seconds(60), Duration::seconds(3'600), false}),
              "it would start now with activeDeadlineSeconds 60 instead of 3600");
    EXPECT_EQ(words(change::ShorterRunTime{Duration::seconds(60), {}, false}),
              "it would start now with activeDeadlineSeconds 60 (its pods have none)");
}

TEST(Changes, each_limit_has_its_name_and_its_unit) {
    const auto only = [](change::RaisedLimit limit) {
        return words(change::HigherLimits{{std::move(limit)}}).substr(18);
    };
    change::RaisedLimit model = of_queue(LimitRule::maximum, LimitUnit::gpus, 8'000, 4'000);
    model.model = "A100";
    EXPECT_EQ(only(model), "the maximum of queue dev of A100 were 8 GPUs instead of 4");
    EXPECT_EQ(only(of_queue(LimitRule::guarantee_and_borrowing, LimitUnit::gpus, 1'000, 0)),
              "the guarantee and borrowing limit of queue dev together were 1 GPU instead of 0");
    EXPECT_EQ(only(of_queue(LimitRule::gpus_per_job, LimitUnit::gpus, 8'000, 4'000)),
              "maxGpuPerJob of queue dev were 8 instead of 4");
    EXPECT_EQ(only(of_queue(LimitRule::maximum, LimitUnit::gpu_time, kGpuTimePerGpuHour * 40, 0)),
              "the budget of queue dev were 40 GPU-hours instead of 0");
    EXPECT_EQ(only(of_tenant(LimitRule::tenant_maximum, LimitUnit::cpu, 64'000, 32'000, "")),
              "the maximum of namespace team-a were 64 CPU instead of 32");
    EXPECT_EQ(only(of_tenant(LimitRule::pool_quota, LimitUnit::gpus, 8'000, 4'000, "gpu")),
              "the quota of namespace team-a in pool gpu were 8 GPUs instead of 4");
    EXPECT_EQ(
        only(of_tenant(LimitRule::maximum, LimitUnit::gpu_time, kGpuTimePerGpuHour, 0, "gpu")),
        "the budget of namespace team-a in pool gpu were 1 GPU-hours instead of 0");
}

TEST(Changes, of_two_the_limit_comes_first) {
    const auto maximum = of_queue(LimitRule::maximum, LimitUnit::gpus, 8'000, 4'000);
    EXPECT_EQ(words(change::JobEnds{{maximum}, {"team-a", "small"}, whole_gpus(1)}),
              "it would start if the maximum of queue dev were 8 GPUs instead of 4, and "
              "team-a/small (1 GPU) ended");
    EXPECT_EQ(words(change::MoreNodes{{maximum}, 1, "a", TopologyLevel::none}),
              "it would start if the maximum of queue dev were 8 GPUs instead of 4, and there were "
              "1 more node like a");
    EXPECT_EQ(words(change::MoreNodes{{}, 2, "a", TopologyLevel::nvlink}),
              "it would start with 2 more nodes like a, in its NVLink island");
}

TEST(Changes, jobs_that_move_and_the_work_that_they_lose) {
    const change::Move one{{"team-a", "x"}, whole_gpus(1), {"a", "b"}, {"c"}};
    EXPECT_EQ(words(change::JobsMove{{one, one}, 0}),
              "it would start now if 2 jobs moved: team-a/x (1 GPU) from a, b to c; team-a/x (1 "
              "GPU) from a, b to c; no work would be lost; gpuctl moves no job by itself");
    EXPECT_NE(words(change::JobsMove{{one}, 1}).find("1 GPU-minute of work would be repeated"),
              std::string::npos);
}

TEST(Changes, jobs_that_are_preempted_are_named_up_to_a_number) {
    ChangeEffect effect{change::OtherPool{"other"}};
    effect.preempts = {{{"team-a", "low"}, whole_gpus(4)},
                       {{"team-a", "wide"}, whole_gpus(1), true, true}};
    effect.preempts_total = 2;
    EXPECT_EQ(wording::sentence(effect),
              "it would start now in pool other, and that would preempt team-a/low (4 GPUs), "
              "team-a/wide (up to 1 GPU of the job)");
    effect.preempts_total = 5;
    EXPECT_TRUE(wording::sentence(effect).ends_with(" and 3 more"));
}

std::string said(refusal::LimitTooLow low) {
    low.pods = 2;
    low.each = 4'000;
    low.most = 6'000;
    return wording::error_of({ErrorCode::QuotaExceeded, std::move(low)}).message;
}

TEST(Refusals, name_the_holder_of_the_limit) {
    const std::string begin = "the job requests 2 pods of 4 GPUs; ";
    refusal::LimitTooLow low;
    EXPECT_EQ(said(low), begin + "a namespace may hold at most 6");
    low.holder.pool = "gpu";
    low.reserved = whole_gpus(2);
    EXPECT_EQ(said(low),
              begin + "jobs outside the reserve of 2 GPUs of pool gpu may hold at most 6");
    low.is_lending = true;
    low.holder.queue = "x";
    low.reserved_of = whole_gpus(8);
    EXPECT_EQ(said(low), begin +
                             "queue x, outside the 2 of 8 GPUs that queues of pool gpu do not "
                             "lend, may hold at most 6");
    refusal::LimitTooLow per_job;
    per_job.is_per_job = true;
    per_job.holder = {.queue = "dev", .tenant = "", .pool = "gpu"};
    per_job.model = "A100";
    EXPECT_EQ(said(per_job),
              begin + "a job of queue dev of pool gpu may hold at most 6 of model A100");
    per_job = {};
    per_job.unit = LimitUnit::cpu;
    per_job.holder = {.queue = "", .tenant = "team-a", .pool = "gpu"};
    EXPECT_EQ(said(per_job),
              "the job requests 2 pods of 4 CPU; namespace team-a in pool gpu may hold at most 6 "
              "CPU");
}

TEST(Refusals, of_a_topology_name_what_must_be_together_and_apart) {
    Resources each;
    each.cpu = CpuMilli{1'000};
    each.memory = Bytes{1 << 30};
    refusal::TopologyTooNarrow narrow{
        {4, each}, TopologyLevel::host, TopologyLevel::rack, "r1", "gpu", 2};
    EXPECT_EQ(wording::error_of({ErrorCode::NeverFits, narrow}).message,
              "the job requests 4 ranks of 1 CPU, 1Gi memory each, no two in one host, within one "
              "rack; rack r1 has most room; pool gpu has room for 2 even when empty");
    narrow = {{1, each}, TopologyLevel::none, TopologyLevel::rack, "", "gpu", 0};
    EXPECT_EQ(wording::error_of({ErrorCode::NeverFits, narrow}).message,
              "the job requests 1 CPU, 1Gi memory, within one rack; pool gpu has no such node even "
              "when empty");
    EXPECT_EQ(wording::error_of(
                  {ErrorCode::NeverFits, refusal::NoGpuModel{{1, each}, "gpu", {}, {}, "1g.10gb"}})
                  .message,
              "the job requests 1 CPU, 1Gi memory; no node of pool gpu has whole GPUs; existing "
              "models: none; to use a MIG slice, request gpu: \"1(mig-1g.10gb)\"");
}

}  // namespace
}  // namespace gpuctl
