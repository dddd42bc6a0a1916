// Small pools with preemption by remaining time: every job finishes, and no job preempts its
// preemptor unless the job has less remaining work by then.

#include <gtest/gtest.h>

#include <map>

#include "scheduler/base/rng.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

constexpr Duration kRestart{2'000};

// Jobs of one pod each with known run times and kept progress.
class ShortestRemainingWorld {
public:
    explicit ShortestRemainingWorld(std::uint64_t seed,
                                    PreemptionPolicy by = {PreemptionMode::shortest})
        : rng_(seed), by_(by) {
        Policy policy;
        policy.pods_reserved_per_node = 0;
        policy.evictions_per_job_per_hour = 1'000;
        PoolPolicy pool;
        pool.name = "default";
        pool.order = QueueOrder::shortest;
        pool.backfill.head = HeadOfLine::step_aside;
        pool.backfill.patience = Duration::seconds(365LL * 24 * 3600);
        pool.preemption = by;
        pool.preemption.gpu_exponent_percent = static_cast<std::int32_t>(rng_.between(0, 100));
        QueuePolicy queue;
        queue.name = "default";
        queue.order = QueueOrder::shortest;
        pool.queues = {queue};
        policy.pools = {pool};
        world_.set(policy);
        nodes_ = rng_.between(1, 2);
        for (std::int64_t i = 0; i < nodes_; ++i) {
            world_.add(node("n" + std::to_string(i), 4));
        }
    }

    void run() {
        for (int step = 0; step < 400 && (arrived_ < kJobs || !remaining_.empty()); ++step) {
            if (arrived_ < kJobs && rng_.chance(2, 3)) arrive();
            settle();
            pass(Duration{rng_.between(1'000, 200'000)});
            settle();
        }
        EXPECT_TRUE(remaining_.empty()) << remaining_.size() << " jobs never finish";
    }
    [[nodiscard]] int preemptions() const { return preemptions_; }

private:
    static constexpr int kJobs = 7;

    void arrive() {
        const std::string name = "j" + std::to_string(arrived_++);
        came_[name] = world_.now;
        gpus_[name] = rng_.between(1, 4);
        whole_[name] = remaining_[name] = Duration{rng_.between(1'000, 2'000'000)};
        show(name);
    }
    void show(const std::string& name) {
        PodFacts facts = pod(name + "/" + std::to_string(++incarnations_), name, gpus_[name]);
        facts.key.name = name;
        facts.created_at = came_[name];  // a recreated pod has the job's submission time
        facts.preemptible = true;
        facts.checkpoint_interval = Duration{1};
        facts.restart_cost = kRestart;
        facts.run_time_expected = whole_[name];
        uids_[name] = facts.uid;
        world_.add(facts);
    }
    void settle() {
        for (int round = 0; round < 50; ++round) {
            world_.run();
            for (const auto& [name, uid] : uids_) begin(world_.pods.at(uid));
            if (world_.evictions.empty()) return;
            preempt_all();
        }
        ADD_FAILURE() << "jobs preempt each other without end";
    }
    void begin(PodFacts& facts) {
        if (facts.node.empty() || facts.started_at.happened()) return;
        facts.phase = PodPhase::running;
        facts.started_at = world_.now;
        world_.show(facts.uid);
    }
    void preempt_all() {
        const auto asked = world_.evictions;
        for (const auto& [uid, eviction] : asked) {
            const std::string victim = eviction.job.name;
            const std::string preemptor = eviction.preemptor.name;
            const Duration ran = world_.now - world_.pods.at(uid).started_at;
            remaining_[victim] = remaining_[victim] - std::max(ran - kRestart, Duration{});
            const auto before = remaining_at_preemption_.find({victim, preemptor});
            const bool is_reversed = before != remaining_at_preemption_.end();
            const bool may_reverse =
                is_reversed && by_.mode == PreemptionMode::shortest &&
                (by_.makespan_percent > 0 || remaining_[preemptor] < before->second);
            EXPECT_TRUE(!is_reversed || may_reverse)
                << victim << " is preempted for " << preemptor << ", which it had preempted";
            remaining_at_preemption_[{preemptor, victim}] = remaining_[victim];
            ++preemptions_;
            EXPECT_TRUE(by_ != PreemptionPolicy{PreemptionMode::shortest} ||
                        remaining_[preemptor] < remaining_[victim] * 5)
                << "with 4 GPUs to 1 at the most";
            world_.answer_eviction(uid);
            world_.remove_pod(uid);
            uids_.erase(victim);
            show(victim);
        }
    }
    void pass(Duration most) {
        // Advances to the next end at most, so that no job runs longer than needed.
        for (const auto& [name, uid] : uids_) {
            const PodFacts& facts = world_.pods.at(uid);
            if (!facts.started_at.happened()) continue;
            const Duration ran = world_.now - facts.started_at;
            most = std::min(most, remaining_[name] + kRestart - ran);
        }
        world_.now = world_.now + std::max(most, Duration{1});
        world_.send(WokeUp{});
        const auto known = uids_;
        for (const auto& [name, uid] : known) {
            PodFacts& facts = world_.pods.at(uid);
            if (!facts.started_at.happened()) continue;
            if (world_.now - facts.started_at < remaining_[name] + kRestart) continue;
            facts.phase = PodPhase::succeeded;
            facts.finished_at = world_.now;
            world_.show(uid);
            world_.remove_pod(uid);
            uids_.erase(name);
            remaining_.erase(name);
        }
    }

    EngineWorld world_;
    Rng rng_;
    PreemptionPolicy by_;
    std::int64_t nodes_ = 0;
    int arrived_ = 0;
    int incarnations_ = 0;
    std::map<std::string, Instant> came_;
    std::map<std::string, std::int64_t> gpus_;
    std::map<std::string, Duration> whole_;
    std::map<std::string, Duration> remaining_;  // of unfinished jobs
    std::map<std::string, std::string> uids_;
    // Remaining work of the victim, by preemptor and victim.
    std::map<std::pair<std::string, std::string>, Duration> remaining_at_preemption_;
    int preemptions_ = 0;
};

TEST(ShortestRemaining, every_job_finishes_and_none_preempts_its_preemptor) {
    int preemptions = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        ShortestRemainingWorld world{seed};
        world.run();
        preemptions += world.preemptions();
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(preemptions, 300);
}

TEST(ShortestRemaining, by_due_time_no_job_preempts_its_preemptor) {
    int preemptions = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        ShortestRemainingWorld world{seed, {PreemptionMode::due}};
        world.run();
        preemptions += world.preemptions();
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(preemptions, 100);
}

// Each preemption adds work. That alone must not reverse the order again and again.
TEST(ShortestRemaining, starting_long_jobs_in_time_settles_and_every_job_finishes) {
    int preemptions = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        PreemptionPolicy by{PreemptionMode::shortest};
        by.makespan_percent = 50 + static_cast<std::int32_t>(seed % 4) * 25;
        ShortestRemainingWorld world{seed, by};
        world.run();
        preemptions += world.preemptions();
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(preemptions, 100);
}

}  // namespace
}  // namespace gpuctl::test
