// All small worlds (up to three nodes, three jobs in every order) against a planner that tries
// every assignment. The first job in order is placed if and only if there is an assignment.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "property/can_place.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

std::vector<std::int64_t> free_now(const EngineWorld& world) {
    std::vector<std::int64_t> free;
    for (const NodeView& one : list_nodes(world.engine.state())) {
        const auto amount = [](const Resources& of) { return gpus_total(of).value() / 1000; };
        free.push_back(amount(one.facts.allocatable) - amount(one.used));
    }
    return free;
}

TEST(Exhaustive, a_gang_is_placed_exactly_when_some_assignment_exists) {
    const std::vector<Ranks> shapes = {{1}, {2}, {3}, {2, 2}, {1, 3}, {3, 2, 1}, {2, 2, 2}};
    int worlds = 0;
    int placed = 0;
    for (int a = 0; a <= 4; ++a) {
        for (int b = a; b <= 4; ++b) {
            for (int c = b; c <= 4; ++c) {
                for (std::size_t x = 0; x < shapes.size(); ++x) {
                    for (std::size_t y = 0; y < shapes.size(); ++y) {
                        const std::size_t z = (x + 2 * y) % shapes.size();
                        EngineWorld world;
                        world.verify_steps = false;
                        const int sizes[] = {a, b, c};
                        for (int i = 0; i < 3; ++i) {
                            world.add(node("n" + std::to_string(i), sizes[i]));
                        }
                        const Ranks* jobs[] = {&shapes[x], &shapes[y], &shapes[z]};
                        for (int job = 0; job < 3; ++job) {
                            const std::string name = "g" + std::to_string(job);
                            std::vector<PodFacts> all =
                                gang(name, static_cast<int>(jobs[job]->size()), 0);
                            for (std::size_t rank = 0; rank < all.size(); ++rank) {
                                all[rank].request = room((*jobs[job])[rank], 1, 1, 1);
                                all[rank].created_at = Instant{1000 + job};
                                world.add(all[rank]);
                            }
                            std::vector<std::int64_t> free = free_now(world);
                            const bool possible = can_place(free, *jobs[job]);
                            world.plan();
                            const bool was_placed = !world.node_of(name + "-0").empty();
                            ASSERT_EQ(was_placed, possible) << "nodes " << a << b << c << " jobs "
                                                            << x << y << z << " #" << job;
                            for (std::size_t rank = 0; rank < all.size(); ++rank) {
                                ASSERT_EQ(world.node_of(all[rank].uid).empty(), !was_placed);
                            }
                            placed += was_placed ? 1 : 0;
                        }
                        ++worlds;
                    }
                }
            }
        }
    }
    EXPECT_GT(worlds, 1'500);
    EXPECT_GT(placed, worlds / 2);
}

// Tests all orders of the same three jobs: the first job that fits is never refused.
TEST(Exhaustive, every_order_of_three_jobs_serves_the_first_that_fits) {
    std::vector<Ranks> jobs = {{2, 2}, {3}, {1, 1, 1}};
    std::sort(jobs.begin(), jobs.end());
    do {
        for (int a = 0; a <= 4; ++a) {
            for (int b = 0; b <= 4; ++b) {
                EngineWorld world;
                world.add(node("a", a));
                world.add(node("b", b));
                for (std::size_t job = 0; job < jobs.size(); ++job) {
                    const std::string name = "g" + std::to_string(job);
                    std::vector<PodFacts> all =
                        gang(name, static_cast<int>(jobs[job].size()), jobs[job].front());
                    for (PodFacts& one : all)
                        one.created_at = Instant{1000 + static_cast<int>(job)};
                    world.add(all);
                }
                world.plan();  // all jobs at once this time
                std::vector<std::int64_t> free = {a, b};
                bool earlier_placed = false;
                for (std::size_t job = 0; job < jobs.size(); ++job) {
                    const bool was_placed =
                        !world.node_of("g" + std::to_string(job) + "-0").empty();
                    if (!earlier_placed) {
                        ASSERT_EQ(was_placed, can_place(free, jobs[job]));
                    }
                    earlier_placed = earlier_placed || was_placed;
                }
            }
        }
    } while (std::next_permutation(jobs.begin(), jobs.end()));
}

}  // namespace
}  // namespace gpuctl::test
