// Lives of small pools that stop long work for short: every job gets through, and no job that was
// stopped stops its stopper unless it has become shorter meanwhile.

#include <gtest/gtest.h>

#include <map>

#include "scheduler/base/rng.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

constexpr Duration kRestart{2'000};

// Jobs of one pod each, whose users know how long they take; what they have done they keep.
class ShortWorld {
public:
    explicit ShortWorld(std::uint64_t seed, PreemptionPolicy by = {PreemptionMode::shortest})
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

    void live() {
        for (int moment = 0; moment < 400 && (arrived_ < kJobs || !left_.empty()); ++moment) {
            if (arrived_ < kJobs && rng_.chance(2, 3)) arrive();
            settle();
            pass(Duration{rng_.between(1'000, 200'000)});
            settle();
        }
        EXPECT_TRUE(left_.empty()) << left_.size() << " jobs never get through";
    }
    [[nodiscard]] int stops() const { return stops_; }

private:
    static constexpr int kJobs = 7;

    void arrive() {
        const std::string name = "j" + std::to_string(arrived_++);
        came_[name] = world_.now;
        gpus_[name] = rng_.between(1, 4);
        whole_[name] = left_[name] = Duration{rng_.between(1'000, 2'000'000)};
        show(name);
    }
    void show(const std::string& name) {
        PodFacts facts = pod(name + "/" + std::to_string(++lives_), name, gpus_[name]);
        facts.key.name = name;
        facts.created_at = came_[name];  // whoever makes it again says when the job came
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
            stop_all();
        }
        ADD_FAILURE() << "jobs stop each other without end";
    }
    void begin(PodFacts& facts) {
        if (facts.node.empty() || facts.started_at.happened()) return;
        facts.phase = PodPhase::running;
        facts.started_at = world_.now;
        world_.show(facts.uid);
    }
    void stop_all() {
        const auto asked = world_.evictions;
        for (const auto& [uid, eviction] : asked) {
            const std::string victim = eviction.job.name;
            const std::string stopper = eviction.beneficiary.name;
            const Duration ran = world_.now - world_.pods.at(uid).started_at;
            left_[victim] = left_[victim] - std::max(ran - kRestart, Duration{});
            const auto before = stopped_.find({victim, stopper});
            const bool is_turned = before != stopped_.end();
            const bool may_turn = is_turned && by_.mode == PreemptionMode::shortest &&
                                  (by_.makespan_percent > 0 || left_[stopper] < before->second);
            EXPECT_TRUE(!is_turned || may_turn)
                << victim << " is stopped for " << stopper << ", which it had stopped";
            stopped_[{stopper, victim}] = left_[victim];
            ++stops_;
            EXPECT_TRUE(by_ != PreemptionPolicy{PreemptionMode::shortest} ||
                        left_[stopper] < left_[victim] * 5)
                << "with 4 GPUs to 1 at the most";
            world_.answer_eviction(uid);
            world_.remove_pod(uid);
            uids_.erase(victim);
            show(victim);
        }
    }
    void pass(Duration most) {
        // No further than to the next end: nobody runs longer than it has to.
        for (const auto& [name, uid] : uids_) {
            const PodFacts& facts = world_.pods.at(uid);
            if (!facts.started_at.happened()) continue;
            const Duration ran = world_.now - facts.started_at;
            most = std::min(most, left_[name] + kRestart - ran);
        }
        world_.now = world_.now + std::max(most, Duration{1});
        world_.send(WokeUp{});
        const auto known = uids_;
        for (const auto& [name, uid] : known) {
            PodFacts& facts = world_.pods.at(uid);
            if (!facts.started_at.happened()) continue;
            if (world_.now - facts.started_at < left_[name] + kRestart) continue;
            facts.phase = PodPhase::succeeded;
            facts.finished_at = world_.now;
            world_.show(uid);
            world_.remove_pod(uid);
            uids_.erase(name);
            left_.erase(name);
        }
    }

    EngineWorld world_;
    Rng rng_;
    PreemptionPolicy by_;
    std::int64_t nodes_ = 0;
    int arrived_ = 0;
    int lives_ = 0;
    std::map<std::string, Instant> came_;
    std::map<std::string, std::int64_t> gpus_;
    std::map<std::string, Duration> whole_;
    std::map<std::string, Duration> left_;  // of those that are not through
    std::map<std::string, std::string> uids_;
    // What was left of the victim, by stopper and victim.
    std::map<std::pair<std::string, std::string>, Duration> stopped_;
    int stops_ = 0;
};

TEST(Shorter, gets_everybody_through_and_nobody_stops_his_stopper) {
    int stops = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        ShortWorld world{seed};
        world.live();
        stops += world.stops();
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(stops, 300);
}

TEST(Shorter, where_work_is_due_nobody_ever_stops_his_stopper) {
    int stops = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        ShortWorld world{seed, {PreemptionMode::due}};
        world.live();
        stops += world.stops();
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(stops, 100);
}

// A stop and a start make the work of all more: that alone must not turn the order, moment by
// moment, for ever.
TEST(Shorter, long_jobs_that_begin_in_time_come_to_rest_and_everybody_gets_through) {
    int stops = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        PreemptionPolicy by{PreemptionMode::shortest};
        by.makespan_percent = 50 + static_cast<std::int32_t>(seed % 4) * 25;
        ShortWorld world{seed, by};
        world.live();
        stops += world.stops();
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(stops, 100);
}

}  // namespace
}  // namespace gpuctl::test
