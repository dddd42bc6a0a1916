// Small worlds with few GPUs and cores, full of GPU and CPU-only jobs, and one job of a queue with
// a GPU guarantee, checked against every subset of running jobs: pods are evicted if and only if
// some allowed subset makes room, and each of them is needed.

#include <gtest/gtest.h>

#include "scheduler/base/rng.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

class CpuOnlyWorld {
public:
    explicit CpuOnlyWorld(std::uint64_t seed) : rng_(seed) {
        Policy policy;
        policy.pods_reserved_per_node = 0;
        PoolPolicy pool;
        pool.name = "default";
        guaranteed_ = rng_.between(0, 4);
        dev_guarantee_ = rng_.between(0, 4);
        pool.queues = {{"prod", 0, 1, whole_gpus(guaranteed_), std::nullopt},
                       {"dev", 0, 1, whole_gpus(dev_guarantee_), std::nullopt}};
        policy.pools = {pool};
        world_.set(policy);
        for (std::int64_t i = rng_.between(1, 3); i > 0; --i) {
            NodeFacts facts = node("n" + std::to_string(i), rng_.between(1, 3));
            facts.allocatable.cpu = CpuMilli{rng_.between(2, 8) * 1'000};
            world_.add(facts);
        }
        for (int i = 0; i < 6; ++i) add_work("w" + std::to_string(i));
        before_ = free_now();
        for (const auto& [uid, pod] : world_.pods) held_ += gpus_total(pod.request).value() / 1'000;
        PodFacts own = pod("own", "own", rng_.between(1, 2));
        own.queue = "prod";
        own.priority = 90;
        own.request.cpu = CpuMilli{rng_.between(1, 5) * 1'000};
        ask_ = own.request;
        world_.add(own);
        world_.plan();
    }

    [[nodiscard]] unsigned subsets() const { return 1U << units_.size(); }
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
    // True if the request is within the guarantee of its queue, and the other queue keeps its own
    // guarantee.
    [[nodiscard]] bool is_allowed(unsigned chosen) const {
        if (gpus_total(ask_).value() / 1'000 > guaranteed_) return false;
        std::int64_t gpus = 0;
        for (std::size_t i = 0; i < units_.size(); ++i) {
            if (chosen >> i & 1U) gpus += units_[i].gpus;
        }
        return gpus == 0 || held_ - gpus >= dev_guarantee_;
    }
    [[nodiscard]] bool fits_without(unsigned chosen) const {
        std::map<std::string, Free> free = before_;
        for (std::size_t i = 0; i < units_.size(); ++i) {
            if ((chosen >> i & 1U) == 0) continue;
            for (const std::string& uid : units_[i].pods) {
                const PodFacts& pod = world_.pods.at(uid);
                free.at(pod.node).subtract(pod.request, -1);
            }
        }
        return std::any_of(free.begin(), free.end(), [this](const auto& one) {
            return one.second.gpus >= gpus_total(ask_).value() &&
                   one.second.cpu >= ask_.cpu.value();
        });
    }
    void expect_each_is_needed(unsigned chosen) const {
        EXPECT_TRUE(fits_without(chosen)) << "they are evicted in vain";
        for (unsigned fewer = (chosen - 1) & chosen; chosen != 0; fewer = (fewer - 1) & chosen) {
            EXPECT_FALSE(fits_without(fewer)) << "fewer evictions would do";
            if (fewer == 0) break;
        }
    }
    [[nodiscard]] bool evicts_cpu_only_pods(unsigned chosen) const {
        for (std::size_t i = 0; i < units_.size(); ++i) {
            if ((chosen >> i & 1U) != 0 && units_[i].gpus == 0) return true;
        }
        return false;
    }

private:
    struct Free {
        std::int64_t gpus = 0;
        std::int64_t cpu = 0;
        void subtract(const Resources& what, std::int64_t times) {
            gpus -= gpus_total(what).value() * times;
            cpu -= what.cpu.value() * times;
        }
    };
    struct Unit {  // evicted together
        std::vector<std::string> pods;
        std::int64_t gpus = 0;
    };
    [[nodiscard]] std::map<std::string, Free> free_now() const {
        std::map<std::string, Free> free;
        for (const auto& [name, facts] : world_.nodes) free[name].subtract(facts.allocatable, -1);
        for (const auto& [uid, pod] : world_.pods) free.at(pod.node).subtract(pod.request, 1);
        return free;
    }
    void add_work(const std::string& name) {
        const int ranks = rng_.chance(1, 4) ? 2 : 1;
        const std::int64_t gpus = rng_.chance(1, 2) ? 0 : rng_.between(1, 2);
        const CpuMilli cpu{rng_.between(1, 4) * 1'000};
        const bool is_protected = rng_.chance(1, 5);
        std::vector<PodFacts> pods = gang(name, ranks, gpus);
        for (PodFacts& pod : pods) {
            pod.queue = "dev";
            pod.request.cpu = cpu;
            pod.preemptible = !is_protected;
            pod.preempts = false;
        }
        world_.now = world_.now + Duration{rng_.between(1, 10'000)};
        world_.add(pods);
        world_.run();
        Unit unit;
        for (const PodFacts& pod : pods) {
            PodFacts& facts = world_.pods.at(pod.uid);
            if (facts.node.empty()) continue;
            facts.phase = PodPhase::running;
            facts.started_at = world_.now;
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
    std::map<std::string, Free> before_;
    Resources ask_;
    std::int64_t guaranteed_ = 0;
    std::int64_t dev_guarantee_ = 0;
    std::int64_t held_ = 0;
};

TEST(CpuOnlyPods, are_evicted_for_a_guarantee_exactly_when_some_subset_makes_room) {
    int stopped = 0;
    int without_gpus = 0;
    int missed = 0;
    for (std::uint64_t seed = 1; seed <= 1'500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const CpuOnlyWorld world{seed};
        const unsigned chosen = world.stopped();
        bool helps = false;
        for (unsigned some = 1; some < world.subsets() && !world.fits_without(0); ++some) {
            helps = helps || (world.is_allowed(some) && world.fits_without(some));
        }
        if (chosen == 0) {
            // If all units may be evicted together, no solution is missed.
            ASSERT_FALSE(helps && world.is_allowed(world.subsets() - 1));
            missed += helps ? 1 : 0;
            continue;
        }
        ++stopped;
        without_gpus += world.evicts_cpu_only_pods(chosen) ? 1 : 0;
        ASSERT_TRUE(helps);
        EXPECT_TRUE(world.is_allowed(chosen));
        world.expect_each_is_needed(chosen);
        if (HasFailure()) return;
    }
    EXPECT_GT(stopped, 100);
    EXPECT_GT(without_gpus, 50);
    // The engine searches for a subset and does not try all subsets.
    EXPECT_LE(missed, stopped / 10);
}

}  // namespace
}  // namespace gpuctl::test
