// Fractions of GPUs in small worlds, against brute force: a pod is placed exactly if some device
// has room for it, a gang exactly if there is an assignment to devices; and the tournament over
// nodes agrees with computing the cost of every node.

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "scheduler/base/rng.hpp"
#include "scheduler/plan/allocate/placer.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

PodFacts asking(const std::string& uid, const std::string& job, std::int64_t milli,
                std::int64_t cores = 1) {
    PodFacts out = pod(uid, job, 0);
    out.request = room(0, cores, 1, 1);
    if (milli > 0) out.request.gpus = {{kGpu, GpuMilli{milli}}};
    return out;
}

// The free amount of each device of each node. Whole GPUs in use are left out: the engine does not
// state which devices they are, and it does not matter.
using Devices = std::vector<std::vector<std::int64_t>>;

Devices devices_of(const EngineWorld& world, const std::set<std::string>& gone = {}) {
    Devices out;
    for (const auto& [name, facts] : world.nodes) {
        std::int64_t untouched = whole_gpus_floor(gpus_total(facts.allocatable));
        std::map<std::int32_t, std::int64_t> open;
        for (const auto& [uid, other] : world.pods) {
            const bool holds = world.node_of(uid) == name && !gone.contains(uid);
            if (!holds || other.request.gpus.empty()) continue;
            const GpuMilli amount = other.request.gpus[0].amount;
            if (is_part_of_gpu(amount)) {
                const auto [device, is_new] = open.try_emplace(world.device_of(uid), 1000);
                if (is_new) --untouched;
                device->second -= amount.value();
            } else {
                untouched -= whole_gpus_floor(amount);
            }
        }
        std::vector<std::int64_t>& free = out.emplace_back();
        for (const auto& [number, rest] : open) free.push_back(rest);
        free.insert(free.end(), static_cast<std::size_t>(untouched), 1000);
    }
    return out;
}

bool can_place(Devices& nodes, const std::vector<std::int64_t>& ranks, std::size_t next = 0) {
    if (next == ranks.size()) return true;
    const std::int64_t milli = ranks[next];
    for (auto& free : nodes) {
        if (milli >= 1000) {
            auto whole = free;
            std::int64_t left = milli / 1000;
            for (auto& rest : whole) {
                if (left > 0 && rest == 1000) rest = 0, --left;
            }
            if (left > 0) continue;
            std::swap(free, whole);
            const bool found = can_place(nodes, ranks, next + 1);
            std::swap(free, whole);
            if (found) return true;
            continue;
        }
        for (auto& rest : free) {
            if (rest < milli) continue;
            rest -= milli;
            const bool found = can_place(nodes, ranks, next + 1);
            rest += milli;
            if (found) return true;
        }
    }
    return false;
}

// Random starts and ends of fractions and whole GPUs, as single pods and gangs of up to four.
TEST(Parts, are_placed_exactly_when_some_assignment_to_devices_exists) {
    constexpr std::array<std::int64_t, 9> sizes = {100, 250, 300, 400, 500, 600, 700, 1000, 2000};
    int placed = 0;
    int refused = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Rng rng{seed};
        EngineWorld world;
        const std::int64_t nodes = rng.between(1, 3);
        for (std::int64_t i = 0; i < nodes; ++i) {
            world.add(node("n" + std::to_string(i), rng.between(0, 3)));
        }
        std::vector<std::vector<std::string>> running;
        for (int step = 0; step < 14; ++step) {
            if (!running.empty() && rng.chance(1, 3)) {
                const std::size_t gone = rng.below(running.size());
                for (const std::string& uid : running[gone]) world.remove_pod(uid);
                running.erase(running.begin() + static_cast<std::ptrdiff_t>(gone));
                world.run();
                continue;
            }
            const std::string job = "j" + std::to_string(step);
            std::vector<std::int64_t> ranks;
            for (std::int64_t i = rng.chance(1, 2) ? 1 : rng.between(2, 4); i > 0; --i) {
                ranks.push_back(sizes[rng.below(sizes.size())]);
            }
            Devices devices = devices_of(world);
            const bool possible = can_place(devices, ranks);
            std::vector<std::string> uids;
            for (std::size_t i = 0; i < ranks.size(); ++i) {
                PodFacts one = asking(job + "-" + std::to_string(i), job, ranks[i]);
                one.rank = static_cast<std::int32_t>(i);
                one.gang = ranks.size() > 1;
                one.gang_min = one.gang ? static_cast<std::int32_t>(ranks.size()) : 0;
                uids.push_back(one.uid);
                world.add(one);
            }
            world.run();
            for (const std::string& uid : uids) {
                ASSERT_EQ(!world.node_of(uid).empty(), possible)
                    << "seed " << seed << " step " << step << " " << uid;
            }
            if (possible) {
                running.push_back(uids);
                ++placed;
            } else {
                for (const std::string& uid : uids) world.remove_pod(uid);
                world.run();
                ++refused;
            }
        }
    }
    EXPECT_GT(placed, 1'000);
    EXPECT_GT(refused, 300);
}

constexpr std::array<std::int64_t, 8> kSizes = {200, 300, 400, 500, 600, 700, 1000, 2000};

// Fills a small cluster with pods of lower priority; returns the preemptible ones.
std::vector<std::string> fill(EngineWorld& world, Rng& rng) {
    for (std::int64_t i = rng.between(1, 2); i > 0; --i) {
        world.add(node("n" + std::to_string(i), rng.between(1, 3)));
    }
    std::vector<std::string> willing;
    for (int i = 0; i < 9; ++i) {
        const std::string name = "w" + std::to_string(i);
        PodFacts work = asking(name, name, kSizes[rng.below(kSizes.size())]);
        work.preemptible = !rng.chance(1, 5);
        work.preempts = false;
        work.priority = static_cast<std::int32_t>(rng.between(1, 50));
        world.now = world.now + Duration{rng.between(1, 10'000)};
        world.add(work);
        world.run();
        if (world.node_of(name).empty()) {
            world.remove_pod(name);
            continue;
        }
        PodFacts& facts = world.pods.at(name);
        facts.phase = PodPhase::running;
        facts.started_at = world.now;
        world.show(name);
        if (work.preemptible) willing.push_back(name);
    }
    return willing;
}

std::vector<std::int64_t> ask_for_more(EngineWorld& world, Rng& rng) {
    std::vector<std::int64_t> ranks;
    const std::int64_t milli = kSizes[rng.below(kSizes.size())];
    for (std::int64_t i = rng.chance(1, 2) ? 1 : rng.between(2, 3); i > 0; --i) {
        ranks.push_back(milli);
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        PodFacts one = asking("own-" + std::to_string(i), "own", milli);
        one.rank = static_cast<std::int32_t>(i);
        one.gang = ranks.size() > 1;
        one.gang_min = one.gang ? static_cast<std::int32_t>(ranks.size()) : 0;
        one.priority = 90;
        world.add(one);
    }
    return ranks;
}

TEST(Parts, evict_exactly_when_some_subset_makes_room_and_each_is_needed) {
    int stopped = 0;
    int of_parts = 0;
    for (std::uint64_t seed = 1; seed <= 1'500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Rng rng{seed};
        EngineWorld world;
        const std::vector<std::string> willing = fill(world, rng);
        const Devices before = devices_of(world);
        const std::vector<std::int64_t> ranks = ask_for_more(world, rng);
        const auto fits_without = [&](const std::set<std::string>& gone) {
            Devices devices = gone.empty() ? before : devices_of(world, gone);
            return can_place(devices, ranks);
        };
        const std::set<std::string> all{willing.begin(), willing.end()};
        const bool fits_at_once = fits_without({});
        const bool helps = !fits_at_once && fits_without(all);
        world.plan();
        std::set<std::string> chosen;
        for (const auto& [uid, eviction] : world.evictions) chosen.insert(uid);
        ASSERT_EQ(!chosen.empty(), helps);
        if (chosen.empty()) continue;
        ++stopped;
        if (ranks.front() < 1000) ++of_parts;
        for (const std::string& uid : chosen) ASSERT_TRUE(all.contains(uid)) << uid;
        const std::vector<std::string> list{chosen.begin(), chosen.end()};
        const auto some = [&](unsigned bits) {
            std::set<std::string> out{"own-0", "own-1", "own-2"};  // nominated capacity is not held
            for (std::size_t i = 0; i < list.size(); ++i) {
                if (bits >> i & 1U) out.insert(list[i]);
            }
            return out;
        };
        const unsigned whole = (1U << list.size()) - 1;
        EXPECT_TRUE(fits_without(some(whole))) << "they are evicted in vain";
        for (unsigned fewer = 0; fewer < whole; ++fewer) {
            EXPECT_FALSE(fits_without(some(fewer))) << "fewer evictions would do";
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(stopped, 300);
    EXPECT_GT(of_parts, 100);
}

// Computing the cost of every node gives the same node, whatever changed before.
TEST(Parts, the_tournament_agrees_with_costing_every_node) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Rng rng{seed};
        EngineWorld world;
        world.verify_steps = false;
        for (int i = 0; i < 20; ++i) {
            NodeFacts facts = node("n" + std::to_string(i), rng.between(0, 8));
            facts.allocatable.cpu = CpuMilli{rng.between(4, 64) * 1000};
            world.add(facts);
        }
        constexpr std::array<std::int64_t, 5> sizes = {0, 300, 700, 1000, 2000};
        for (int i = 0; i < 5; ++i) {  // waiting pods of each shape
            PodFacts one = asking("ask" + std::to_string(i), "ask" + std::to_string(i),
                                  sizes[static_cast<std::size_t>(i)], 2);
            one.gated = true;
            world.add(one);
        }
        Placer reused;
        const ClusterState& state = world.engine.state();
        const PoolId pool = state.tree.find_pool("default");
        for (int step = 0; step < 40; ++step) {
            const std::string name = "p" + std::to_string(step);
            if (rng.chance(1, 4) && step > 0) {
                world.remove_pod("p" + std::to_string(rng.below(static_cast<std::uint64_t>(step))));
            } else if (rng.chance(1, 8)) {
                NodeFacts facts = world.nodes.at("n" + std::to_string(rng.below(20)));
                facts.unschedulable = !facts.unschedulable;
                world.add(facts);
            } else {
                world.add(asking(name, name, sizes[rng.below(5)], rng.between(1, 8)));
            }
            world.run();
            for (int i = 0; i < 5; ++i) {
                const ShapeId shape =
                    state.pod(state.pods.find_pod("ask" + std::to_string(i))).shape;
                Placer fresh;
                const Placer::Spot answer = reused.best(state, state.nodes.capacity(), pool, shape);
                const Placer::Spot expected =
                    fresh.best(state, state.nodes.capacity(), pool, shape);
                ASSERT_EQ(answer.node, expected.node) << "seed " << seed << " step " << step;
                ASSERT_EQ(answer.device, expected.device);
                if (!answer.node.exists()) continue;
                Fragmentation fragmentation;
                fragmentation.update_caches(state, state.nodes.capacity(), pool);
                const auto cost = [&](std::uint32_t slot) {
                    return fragmentation.cost(state.nodes.capacity(), pool, slot,
                                              state.pods.shapes().at(shape));
                };
                for (std::uint32_t slot = 0; slot < state.nodes.node_slots(); ++slot) {
                    if (!fresh.eligible(state, state.pods.shapes().at(shape)).contains(slot))
                        continue;
                    ASSERT_LE(cost(answer.node.value()), cost(slot));
                }
            }
        }
    }
}

}  // namespace
}  // namespace gpuctl::test
