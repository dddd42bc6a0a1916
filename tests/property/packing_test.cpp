// Pod slots in small worlds, against brute force: no pod makes a GPU unusable (idle on a node
// without free pod slots) if a node accepts the pod on which it makes fewer GPUs unusable.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "scheduler/base/rng.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

struct Left {
    std::int64_t gpus = 0;
    std::int64_t slots = 0;
    std::int64_t cores = 0;
    [[nodiscard]] std::int64_t unusable() const {
        return std::max<std::int64_t>(gpus - std::max<std::int64_t>(slots, 0), 0);
    }
};

class SmallWorld {
public:
    explicit SmallWorld(std::uint64_t seed) : rng_(seed) {
        Policy policy;
        policy.pods_reserved_per_node = rng_.between(0, 2);
        reserved_ = policy.pods_reserved_per_node;
        world_.set(policy);
        for (std::int64_t i = rng_.between(2, 5); i > 0; --i) {
            NodeFacts facts = node("n" + std::to_string(i), rng_.between(0, 4));
            facts.allocatable.pods = rng_.between(3, 9);
            facts.allocatable.cpu = CpuMilli{1'000 * rng_.between(4, 16)};
            world_.add(facts);
            remaining_[facts.name] = {whole_gpus_floor(gpus_total(facts.allocatable)),
                                      facts.allocatable.pods - reserved_,
                                      facts.allocatable.cpu.value() / 1'000};
        }
    }
    void run(int pods) {
        for (int i = 0; i < pods; ++i) {
            const std::int64_t gpus = rng_.chance(1, 4) ? rng_.between(1, 2) : 0;
            place("p" + std::to_string(i), gpus, rng_.between(1, 3));
            if (testing::Test::HasFailure()) return;
        }
    }
    std::int64_t stranded = 0;  // by a pod for which there was no better node

private:
    static Left after(Left left, std::int64_t gpus, std::int64_t cores) {
        return {left.gpus - gpus, left.slots - 1, left.cores - cores};
    }
    void place(const std::string& uid, std::int64_t gpus, std::int64_t cores) {
        PodFacts facts = pod(uid, "job-of-" + uid, gpus);
        facts.request.cpu = CpuMilli{cores * 1'000};
        facts.request.memory = Bytes{1};
        world_.add(facts);
        world_.run();
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (const auto& [name, left] : remaining_) {
            const Left then = after(left, gpus, cores);
            if (then.gpus < 0 || then.slots < 0 || then.cores < 0) continue;
            least = std::min(least, then.unusable() - left.unusable());
        }
        const std::string chosen = world_.node_of(uid);
        const bool fits = least != std::numeric_limits<std::int64_t>::max();
        ASSERT_EQ(!chosen.empty(), fits) << uid;
        if (!fits) return world_.remove_pod(uid);
        Left& left = remaining_.at(chosen);
        const Left then = after(left, gpus, cores);
        EXPECT_EQ(then.unusable() - left.unusable(), least)
            << uid << " with " << gpus << " GPUs on " << chosen << ": " << then.gpus
            << " GPUs idle, " << then.slots << " pod slots left";
        if (least > 0) ++stranded;
        left = then;
    }
    Rng rng_;
    std::int64_t reserved_ = 0;
    EngineWorld world_;
    std::map<std::string, Left> remaining_;
};

TEST(Packing, no_pod_makes_a_gpu_unusable_while_another_node_would_take_it) {
    std::int64_t stranded = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        SmallWorld world{seed};
        world.run(24);
        stranded += world.stranded;
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(stranded, 100) << "worlds so roomy prove nothing";
}

}  // namespace
}  // namespace gpuctl::test
