// Small worlds with fragmented free GPUs, against every set of running jobs and every way to place
// them again: moves are proposed if and only if a solution exists, with the fewest jobs, then the
// least lost work (docs/adr/0023). Each proposal is carried out in the world itself, with its own
// arithmetic (I15).

#include <gtest/gtest.h>

#include <numeric>

#include "property/can_place.hpp"
#include "scheduler/base/rng.hpp"
#include "scheduler/plan/preempt/move_search.hpp"
#include "scheduler/whatif/remedies.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

using whatif::ChangeKind;
using whatif::MovedJob;
using whatif::Remedy;

constexpr std::int64_t kMsPerHour = 3'600'000;

struct Work {
    std::vector<std::string> pods;
    Ranks gpus;
    std::int64_t cost = 0;  // of all its pods, in GPU-milliseconds
    bool may_move = false;
};

class FragmentedWorld {
public:
    explicit FragmentedWorld(std::uint64_t seed) : rng_(seed) {
        Policy policy;
        policy.pods_reserved_per_node = 0;
        world.set(policy);
        const std::int64_t nodes = rng_.between(2, 4);
        for (std::int64_t i = 0; i < nodes; ++i) {
            world.add(node("n" + std::to_string(i), rng_.between(2, 6)));
        }
        for (int i = 0; i < 9; ++i) add_work("w" + std::to_string(i));
        for (int i = 0; i < 9; ++i) {
            if (rng_.chance(2, 5)) end_work("w" + std::to_string(i));
        }
        std::vector<PodFacts> own = gang("own", static_cast<int>(rng_.between(1, 2)), 0);
        const std::int64_t each = rng_.between(2, 5);
        for (PodFacts& pod : own) {
            pod.request = room(each, 1, 1, 1);
            pod.preempts = false;
            ask.push_back(each);
        }
        world.add(own);
        world.run();
    }

    [[nodiscard]] const ClusterState& state() const { return world.engine.state(); }
    [[nodiscard]] bool waits() const { return world.node_of("own-0").empty(); }
    [[nodiscard]] std::vector<PodId> own_pods() const {
        Readiness ready;
        state().waiting.read_readiness(state().jobs.find_job({"team-a", "own"}), ready);
        return ready.pods;
    }

    // The fewest jobs whose move helps, and the smallest price of such a set; none: no set helps.
    struct Best {
        std::size_t jobs = 0;
        std::int64_t cost = 0;
    };
    [[nodiscard]] std::optional<Best> by_brute_force() const {
        std::vector<const Work*> movable;
        for (const auto& [name, one] : work) {
            if (one.may_move) movable.push_back(&one);
        }
        std::optional<Best> best;
        for (unsigned chosen = 1; chosen < 1U << movable.size(); ++chosen) {
            Best here;
            std::vector<std::int64_t> free = free_now();
            Ranks all = ask;
            for (std::size_t i = 0; i < movable.size(); ++i) {
                if ((chosen >> i & 1U) == 0) continue;
                ++here.jobs;
                here.cost += movable[i]->cost;
                for (std::size_t pod = 0; pod < movable[i]->pods.size(); ++pod) {
                    free[index_of(world.node_of(movable[i]->pods[pod]))] += movable[i]->gpus[pod];
                    all.push_back(movable[i]->gpus[pod]);
                }
            }
            const bool is_better =
                !best || std::pair{here.jobs, here.cost} < std::pair{best->jobs, best->cost};
            if (is_better && can_place(free, all)) best = here;
        }
        return best;
    }
    [[nodiscard]] std::vector<std::int64_t> free_now() const {
        std::vector<std::int64_t> free;
        for (const auto& [name, facts] : world.nodes) {
            free.push_back(gpus_total(facts.allocatable).value() / kGpuMilliPerGpu);
        }
        for (const auto& [uid, pod] : world.pods) {
            if (pod.node.empty()) continue;
            free[index_of(pod.node)] -= gpus_total(pod.request).value() / kGpuMilliPerGpu;
        }
        return free;
    }

    // Stops the jobs together, expects the waiting job to start, and starts the stopped jobs again
    // one after another.
    void carry_out(const std::vector<MovedJob>& moves) {
        std::map<std::string, std::vector<PodFacts>> stopped;
        for (const MovedJob& job : moves) {
            for (const std::string& uid : work.at(job.key.name).pods) {
                stopped[job.key.name].push_back(world.pods.at(uid));
                world.remove_pod(uid);
            }
        }
        world.run();
        ASSERT_FALSE(waits()) << "they were stopped in vain";
        for (const MovedJob& job : moves) {
            for (PodFacts pod : stopped[job.key.name]) {
                pod.uid += "/again";
                pod.node.clear();
                pod.phase = PodPhase::pending;
                pod.started_at = Instant{};
                world.add(pod);
            }
            world.run();
            for (const whatif::MovedPod& pod : job.pods) {
                EXPECT_EQ(world.node_of(pod.name + "/again"), pod.to) << pod.name;
            }
        }
        EXPECT_FALSE(waits());
    }

    EngineWorld world;
    std::map<std::string, Work> work;  // running jobs by name
    Ranks ask;                         // GPUs of each rank that waits

private:
    [[nodiscard]] std::size_t index_of(const std::string& name) const {
        return static_cast<std::size_t>(std::distance(world.nodes.begin(), world.nodes.find(name)));
    }
    void add_work(const std::string& name) {
        const std::int64_t ranks = rng_.chance(1, 3) ? 2 : 1;
        const std::int64_t gpus = rng_.between(1, 3);
        const bool is_protected = rng_.chance(1, 6);
        std::vector<PodFacts> pods = gang(name, static_cast<int>(ranks), gpus);
        for (PodFacts& pod : pods) {
            pod.preemptible = !is_protected;
            pod.preempts = false;
        }
        world.now = world.now + Duration{rng_.between(1, kMsPerHour)};
        world.add(pods);
        world.run();
        Work& one = work[name];
        one.may_move = !is_protected;
        for (PodFacts& pod : pods) {
            PodFacts& facts = world.pods.at(pod.uid);
            if (facts.node.empty()) continue;
            facts.phase = PodPhase::running;
            facts.started_at = world.now;
            facts.restart_cost = Duration{rng_.between(0, kMsPerHour)};
            world.show(facts.uid);
            one.pods.push_back(facts.uid);
            one.gpus.push_back(gpus);
        }
        if (!one.pods.empty()) return;
        for (const PodFacts& pod : pods) world.remove_pod(pod.uid);
        work.erase(name);
    }
    void end_work(const std::string& name) {
        const auto found = work.find(name);
        if (found == work.end()) return;
        for (const std::string& uid : found->second.pods) world.remove_pod(uid);
        work.erase(found);
    }

    Rng rng_;
};

void cost_all(FragmentedWorld& world) {
    for (auto& [name, one] : world.work) {
        for (std::size_t i = 0; i < one.pods.size(); ++i) {
            const PodFacts& pod = world.world.pods.at(one.pods[i]);
            const Duration lost = world.world.now - pod.started_at + pod.restart_cost;
            one.cost += lost.ms() * one.gpus[i];
        }
    }
}

TEST(Moves, are_found_exactly_when_some_set_of_jobs_has_other_places_and_the_fewest_and_cheapest) {
    int found = 0;
    int of_several = 0;
    int useless = 0;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        FragmentedWorld world{seed};
        if (!world.waits()) continue;
        cost_all(world);
        const std::optional<FragmentedWorld::Best> best = world.by_brute_force();
        MoveSearch search{world.state(), world.state().jobs.find_job({"team-a", "own"}),
                          world.own_pods()};
        std::optional<FragmentedWorld::Best> proposed;
        search.find([&](const MovePlan& plan) {
            proposed = FragmentedWorld::Best{plan.moved.size(), 0};
            for (const EvictionUnit* unit : plan.moved) proposed->cost += unit->cost_gpu_ms;
            return true;
        });
        ASSERT_EQ(proposed.has_value(), best.has_value());
        if (!best) {
            ++useless;
            continue;
        }
        EXPECT_EQ(proposed->jobs, best->jobs);
        EXPECT_EQ(proposed->cost, best->cost);
        ++found;
        of_several += best->jobs > 1 ? 1 : 0;
        if (HasFailure()) return;
    }
    EXPECT_GT(found, 150);
    EXPECT_GT(of_several, 25);
    EXPECT_GT(useless, 150);
}

TEST(Moves, I15_proposed_moves_let_the_job_start_and_moved_pods_land_where_proposed) {
    int proposed = 0;
    int missed = 0;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        FragmentedWorld world{seed};
        if (!world.waits()) continue;
        const auto remedies = whatif::find_remedies(world.world.engine.export_state(),
                                                    {"team-a", "own"}, world.world.now);
        ASSERT_TRUE(remedies.has_value());
        const auto move =
            std::find_if(remedies->found.begin(), remedies->found.end(),
                         [](const Remedy& one) { return one.kind == ChangeKind::jobs_move; });
        const std::optional<FragmentedWorld::Best> best = world.by_brute_force();
        if (move == remedies->found.end()) {
            missed += best ? 1 : 0;
            continue;
        }
        ++proposed;
        ASSERT_TRUE(best.has_value());
        EXPECT_EQ(move->amount, static_cast<std::int64_t>(move->moves.size()));
        EXPECT_GE(move->moves.size(), best->jobs);
        world.carry_out(move->moves);
        if (HasFailure()) return;
    }
    EXPECT_GT(proposed, 150);
    // The engine chooses the new places, and the last job may find none.
    EXPECT_LE(missed, proposed / 20);
}

}  // namespace
}  // namespace gpuctl::test
