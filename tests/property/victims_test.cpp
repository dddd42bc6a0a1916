// Small worlds full of preemptible jobs and one more job, checked against every subset of running
// jobs: pods are evicted if and only if some allowed subset makes room, and each of them is needed.

#include <gtest/gtest.h>

#include "property/can_place.hpp"
#include "scheduler/base/rng.hpp"
#include "scheduler/plan/commit.hpp"
#include "scheduler/plan/preempt/eviction_search.hpp"
#include "scheduler/plan/preempt/preempt.hpp"
#include "scheduler/state/image/image.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

// Pods that are evicted together.
struct Unit {
    std::vector<std::string> pods;
    std::int64_t gpus = 0;
};

// Up to three nodes, jobs of queue "dev" (some in gangs, some not preemptible), and then one job of
// the queue `preemptor`.
class SmallWorld {
public:
    explicit SmallWorld(std::uint64_t seed) : rng_(seed) {}

    void build(const std::string& preemptor) {
        prepare(preemptor, rng_.between(1, 3));
        world_.plan();
    }

    // Builds the world with the pods of that job, which no Plan has tried yet.
    void prepare(const std::string& preemptor, std::int64_t ranks) {
        Policy policy;
        policy.pods_reserved_per_node = 0;
        PoolPolicy pool;
        pool.name = "default";
        const std::int64_t nodes = rng_.between(1, 3);
        guaranteed_ = rng_.between(0, 6);
        dev_guarantee_ = rng_.between(0, 6);
        pool.queues = {{"prod", 0, 1, whole_gpus(guaranteed_), std::nullopt},
                       {"dev", 0, 1, whole_gpus(dev_guarantee_), std::nullopt}};
        policy.pools = {pool};
        world_.set(policy);
        for (std::int64_t i = 0; i < nodes; ++i) {
            world_.add(node("n" + std::to_string(i), rng_.between(1, 4)));
        }
        for (int i = 0; i < 6; ++i) add_work("w" + std::to_string(i));
        std::vector<PodFacts> own = gang("own", static_cast<int>(ranks), 0);
        for (PodFacts& pod : own) {
            pod.queue = preemptor;
            pod.priority = 90;
            pod.request = room(rng_.between(1, 3), 1, 1, 1);
            ask_.push_back(pod.request.gpus.front().amount.value() / 1000);
            asked_ += ask_.back();
        }
        before_ = free_now();
        held_ = held_by_dev();
        world_.add(own);
    }
    [[nodiscard]] const ClusterState& state() const { return world_.engine.state(); }

    [[nodiscard]] std::int64_t held_by_dev() const {
        std::int64_t sum = 0;
        for (const auto& [uid, pod] : world_.pods) {
            if (pod.queue == "dev" && !pod.node.empty()) sum += gpus_total(pod.request).value();
        }
        return sum / 1000;
    }
    [[nodiscard]] std::vector<std::int64_t> free_now() const {
        std::vector<std::int64_t> free;
        for (const auto& [name, facts] : world_.nodes) {
            std::int64_t left = gpus_total(facts.allocatable).value();
            for (const auto& [uid, pod] : world_.pods) {
                if (pod.node == name) left -= gpus_total(pod.request).value();
            }
            free.push_back(left / 1000);
        }
        return free;
    }
    // True if the job fits when these units are gone.
    [[nodiscard]] bool fits_without(unsigned chosen) const {
        std::vector<std::int64_t> free = before_;
        for (std::size_t i = 0; i < units_.size(); ++i) {
            if ((chosen >> i & 1U) == 0) continue;
            for (const std::string& uid : units_[i].pods) {
                const PodFacts& pod = world_.pods.at(uid);
                const auto at = std::distance(world_.nodes.begin(), world_.nodes.find(pod.node));
                free[static_cast<std::size_t>(at)] += gpus_total(pod.request).value() / 1000;
            }
        }
        return can_place(free, ask_);
    }
    [[nodiscard]] std::int64_t gpus_of(unsigned chosen) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < units_.size(); ++i) {
            if (chosen >> i & 1U) sum += units_[i].gpus;
        }
        return sum;
    }
    // The units that are being evicted; each must be complete.
    [[nodiscard]] unsigned stopped() const {
        unsigned chosen = 0;
        std::size_t pods = 0;
        for (std::size_t i = 0; i < units_.size(); ++i) {
            std::size_t of_unit = 0;
            for (const std::string& uid : units_[i].pods) of_unit += world_.evictions.count(uid);
            EXPECT_TRUE(of_unit == 0 || of_unit == units_[i].pods.size())
                << "only a part of a unit is evicted";
            if (of_unit > 0) chosen |= 1U << i;
            pods += of_unit;
        }
        EXPECT_EQ(pods, world_.evictions.size()) << "a pod is evicted that may not be";
        return chosen;
    }
    [[nodiscard]] bool is_reclaimable(unsigned chosen) const {
        return asked_ <= guaranteed_ && held_ - gpus_of(chosen) >= dev_guarantee_;
    }
    void expect_each_is_needed(unsigned chosen) const {
        EXPECT_TRUE(fits_without(chosen)) << "they are evicted in vain";
        for (unsigned fewer = (chosen - 1) & chosen; chosen != 0; fewer = (fewer - 1) & chosen) {
            EXPECT_FALSE(fits_without(fewer)) << "fewer evictions would do";
            if (fewer == 0) break;
        }
    }
    [[nodiscard]] unsigned subsets() const { return 1U << units_.size(); }
    [[nodiscard]] bool fits_at_once() const { return fits_without(0); }

private:
    void add_work(const std::string& name) {
        const std::int64_t ranks = rng_.chance(1, 3) ? 2 : 1;
        const std::int64_t gpus = rng_.between(1, 3);
        const bool is_protected = rng_.chance(1, 5);
        std::vector<PodFacts> pods = gang(name, static_cast<int>(ranks), gpus);
        for (PodFacts& pod : pods) {
            pod.queue = "dev";
            pod.preemptible = !is_protected;
            pod.preempts = false;
            pod.priority = static_cast<std::int32_t>(rng_.between(1, 50));
        }
        world_.now = world_.now + Duration{rng_.between(1, 10'000)};
        world_.add(pods);
        world_.run();
        Unit unit;
        for (PodFacts& pod : pods) {
            PodFacts& facts = world_.pods.at(pod.uid);
            if (facts.node.empty()) continue;
            facts.phase = PodPhase::running;
            facts.started_at = world_.now;
            facts.restart_cost = Duration{rng_.between(0, 3'000)};
            facts.checkpoint_interval = Duration{rng_.between(0, 3'000)};
            world_.show(facts.uid);
            unit.pods.push_back(facts.uid);
            unit.gpus += gpus;
        }
        if (unit.pods.empty()) {  // no room for it
            for (const PodFacts& pod : pods) world_.remove_pod(pod.uid);
        } else if (!is_protected) {
            units_.push_back(unit);
        }
    }

    EngineWorld world_;
    Rng rng_;
    std::vector<Unit> units_;
    std::vector<std::int64_t> before_;
    Ranks ask_;
    std::int64_t asked_ = 0;
    std::int64_t guaranteed_ = 0;
    std::int64_t dev_guarantee_ = 0;
    std::int64_t held_ = 0;
};

TEST(Victims, are_evicted_exactly_when_some_subset_makes_room_and_each_is_needed) {
    int stopped = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        SmallWorld world{seed};
        world.build("dev");
        const unsigned chosen = world.stopped();
        const bool helps = !world.fits_at_once() && world.fits_without(world.subsets() - 1);
        ASSERT_EQ(chosen != 0, helps);
        if (chosen == 0) continue;
        ++stopped;
        world.expect_each_is_needed(chosen);
        if (HasFailure()) return;
    }
    EXPECT_GT(stopped, 100);
}

TEST(Victims, for_one_pod_are_the_same_whether_all_are_read_or_only_the_likeliest) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        SmallWorld world{seed};
        world.prepare("dev", 1);
        Result<std::unique_ptr<ClusterState>> made =
            ClusterState::from_image(world.state().image());
        ASSERT_TRUE(made.has_value());
        const std::unique_ptr<ClusterState> state = std::move(*made);
        EffectList effects;
        CyclePlan plan;
        Commit commit{*state, effects, plan};
        const Overlay overlay = commit.overlay();
        const PodId pod = state->pods.find_pod("own-0");
        const JobId id = state->pod(pod).job;
        Candidates all;
        find_candidates(
            *state, state->job(id).pool,
            [&](const JobRow& other) { return preempt::may_stop(state->job(id), other); }, all);
        Placer placer;
        EvictionSearch search{placer};
        EvictionPlan by_reading_all;
        EvictionPlan by_bounds;
        const bool helps = search.find(overlay, id, {pod}, all, nullptr, by_reading_all);
        ASSERT_EQ(search.find_of_lower_priority(overlay, id, pod, by_bounds), helps);
        if (!helps) continue;
        ++found;
        const auto lost = [](const EvictionPlan& plan) {
            std::int64_t sum = 0;
            for (const Victim& victim : plan.victims) sum += victim.lost_gpu_ms;
            return std::pair{sum, plan.victims.size()};
        };
        EXPECT_EQ(lost(by_bounds), lost(by_reading_all));
        EXPECT_EQ(by_bounds.round.front().node, by_reading_all.round.front().node);
        if (HasFailure()) return;
    }
    EXPECT_GT(found, 100);
}

TEST(Victims, are_reclaimed_only_from_borrowed_capacity) {
    int stopped = 0;
    int missed = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        SmallWorld world{seed};
        world.build("prod");
        const unsigned chosen = world.stopped();
        bool helps = false;
        for (unsigned some = 1; some < world.subsets() && !world.fits_at_once(); ++some) {
            helps = helps || (world.is_reclaimable(some) && world.fits_without(some));
        }
        if (chosen == 0) {
            // If all units may be evicted together, no solution is missed.
            const unsigned all = world.subsets() - 1;
            ASSERT_FALSE(helps && world.is_reclaimable(all));
            missed += helps ? 1 : 0;
            continue;
        }
        ++stopped;
        ASSERT_TRUE(helps);
        EXPECT_TRUE(world.is_reclaimable(chosen));
        world.expect_each_is_needed(chosen);
        if (HasFailure()) return;
    }
    EXPECT_GT(stopped, 30);
    // The engine searches for a subset and does not try all subsets.
    EXPECT_LE(missed, stopped / 10);
}

}  // namespace
}  // namespace gpuctl::test
