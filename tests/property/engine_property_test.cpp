// Random event sequences against the bare engine. Invariants and independent arithmetic hold after
// every step (EngineWorld), the same inputs twice give the same hash, a restart from an image at
// any time changes nothing, and reported reasons are true.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "property/recount.hpp"
#include "scheduler/base/archive.hpp"
#include "scheduler/base/hash.hpp"
#include "scheduler/base/rng.hpp"
#include "scheduler/state/image/image.hpp"
#include "support/engine_world.hpp"
#include "support/image_difference.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

Policy two_queues() {
    Policy policy;
    policy.pods_reserved_per_node = 0;
    PoolPolicy pool;
    pool.name = "default";
    pool.queues = {{"prod", 10, 2, whole_gpus(4), whole_gpus(12)}, {"dev", 0, 1, {}, {}}};
    policy.pools = {pool};
    TenantPolicy tenant;
    tenant.name = "team-a";
    tenant.gpu_maximum = whole_gpus(20);
    policy.tenants = {tenant};
    return policy;
}

// Random events; all choices depend on `rng` and the facts of the world.
class RandomEvents {
public:
    RandomEvents(EngineWorld& world, std::uint64_t seed) : world_(world), rng_(seed) {}

    void happen() {
        world_.now = world_.now + Duration{rng_.between(1, 5'000)};
        switch (rng_.below(14)) {
            case 0:
            case 1:
                return observe_node();
            case 2:
                return lose_node();
            case 3:
            case 4:
            case 5:
                return new_job();
            case 6:
                return end_pod();
            case 7:
                return remove_pod();
            case 8:
                world_.send(WokeUp{});
                return;
            case 9:
                return lead();
            case 10:
                return change_policy();
            default:
                return answer();
        }
    }

private:
    std::string some_pod() {
        if (world_.pods.empty()) return "";
        auto found = world_.pods.begin();
        std::advance(found, static_cast<std::ptrdiff_t>(rng_.below(world_.pods.size())));
        return found->first;
    }
    void observe_node() {
        NodeFacts facts = node("n" + std::to_string(rng_.below(5)), rng_.between(0, 8));
        facts.unschedulable = rng_.chance(1, 8);
        if (rng_.chance(1, 8)) facts.pool = "other";
        if (rng_.chance(1, 6)) facts.labels["zone"] = "z1";
        world_.add(facts);
    }
    void lose_node() { world_.remove_node("n" + std::to_string(rng_.below(5))); }
    void new_job() {
        const std::string name = "j" + std::to_string(next_++);
        const int ranks = static_cast<int>(rng_.between(1, 4));
        std::vector<PodFacts> all = gang(name, ranks, rng_.between(0, 5));
        const bool is_gang = rng_.chance(1, 2);
        const bool controlled = rng_.chance(2, 3);
        const std::int32_t priority = static_cast<std::int32_t>(rng_.between(0, 2) * 500);
        const char* queues[] = {"", "prod", "dev", "nowhere"};
        const std::string queue = queues[rng_.below(rng_.chance(1, 6) ? 4 : 3)];
        const std::string space = rng_.chance(1, 2) ? "team-a" : "team-b";
        const bool zoned = rng_.chance(1, 6);
        for (PodFacts& one : all) {
            one.gang = is_gang;
            if (is_gang && rng_.chance(1, 12)) one.gang_min = 0;
            one.has_controller = controlled;
            one.priority = rng_.chance(1, 30) ? kSystemPriority : priority;
            one.queue = queue;
            one.key.namespace_name = space;
            one.gated = rng_.chance(1, 15);
            if (zoned) one.rules.node_selector = {{"zone", "z1"}};
            if (rng_.chance(1, 10)) one.request.cpu = CpuMilli{40'000};
            if (rng_.chance(1, 6)) one.request.memory = Bytes{std::int64_t{300} << 30};
            if (rng_.chance(1, 12)) {
                one.ours = false;
                one.node = "n" + std::to_string(rng_.below(5));
            }
        }
        world_.add(all);
    }
    void end_pod() {
        const std::string uid = some_pod();
        if (uid.empty() || world_.pods.at(uid).node.empty()) return;
        PodFacts& facts = world_.pods.at(uid);
        if (rng_.chance(1, 3)) {
            facts.terminating = true;
        } else {
            facts.phase = rng_.chance(1, 2) ? PodPhase::succeeded : PodPhase::failed;
        }
        world_.show(uid);
    }
    void remove_pod() {
        if (const std::string uid = some_pod(); !uid.empty()) world_.remove_pod(uid);
    }
    void lead() {
        const bool leading = rng_.chance(3, 4);
        world_.send(LeadershipChanged{leading, Epoch{++epoch_}});
    }
    void change_policy() {
        Policy policy = two_queues();
        if (rng_.chance(1, 2)) policy.pools.front().queues.front().maximum.reset();
        policy.plan_attempts_max = rng_.chance(1, 2) ? 2 : 10'000;
        world_.set(policy);
    }
    void answer() {
        if (rng_.chance(1, 2)) world_.plan();
        if (world_.pending.empty()) return;
        auto found = world_.pending.begin();
        std::advance(found, static_cast<std::ptrdiff_t>(rng_.below(world_.pending.size())));
        const std::string uid = found->first;
        if (!world_.pods.contains(uid)) return;
        const bool is_terminating = world_.pods.at(uid).terminating;
        switch (is_terminating ? 3 : rng_.below(10)) {
            case 0:
                return world_.answer(uid, BindResult::failed);
            case 1:
                return world_.answer(uid, BindResult::refused);
            default:
                world_.answer(uid, is_terminating ? BindResult::refused : BindResult::bound);
                if (rng_.chance(1, 2)) world_.show(uid);
        }
    }

    EngineWorld& world_;
    Rng rng_;
    int next_ = 0;
    std::uint64_t epoch_ = 1;
};

void start(EngineWorld& world) {
    world.set(two_queues());
    for (int i = 0; i < 3; ++i) world.add(node("n" + std::to_string(i), 4 + 2 * i));
}

std::uint64_t sent_hash(const EngineWorld& world) { return hash64(to_archive(world.effects)); }

TEST(EngineProperty, invariants_hold_and_reasons_count_right_after_every_step) {
    ASSERT_TRUE(rc::check("random events", [](std::uint64_t seed) {
        EngineWorld world;
        start(world);
        RandomEvents events{world, seed};
        for (int i = 0; i < 60; ++i) {
            events.happen();
            if (i % 10 != 9) continue;
            for (const JobView& job : list_jobs(world.engine.state(), {})) {
                recount(world, job.key.name, job.key.namespace_name);
            }
        }
        RC_ASSERT(!::testing::Test::HasFailure());
    }));
}

TEST(EngineProperty, the_same_inputs_give_the_same_state_and_effects) {
    ASSERT_TRUE(rc::check("twice the same", [](std::uint64_t seed) {
        EngineWorld one;
        EngineWorld two;
        for (EngineWorld* world : {&one, &two}) {
            world->verify_steps = false;
            start(*world);
            RandomEvents events{*world, seed};
            for (int i = 0; i < 60; ++i) events.happen();
        }
        RC_ASSERT(one.engine.state_hash() == two.engine.state_hash());
        RC_ASSERT(sent_hash(one) == sent_hash(two));
    }));
}

std::string difference(const EngineWorld& one, const EngineWorld& two) {
    std::string out;
    add_differences("image", one.engine.state().image(), two.engine.state().image(), out);
    return out;
}

TEST(EngineProperty, an_image_taken_at_any_point_has_the_same_future) {
    ASSERT_TRUE(rc::check("restart changes nothing", [](std::uint64_t seed, std::uint8_t when) {
        EngineWorld one;
        EngineWorld two;
        start(one);
        start(two);
        one.verify_steps = false;
        RandomEvents events_of_one{one, seed};
        RandomEvents events_of_two{two, seed};
        for (int i = 0; i < 60; ++i) {
            if (i == when % 60) {
                Result<Engine> copy = Engine::import_state(two.engine.export_state());
                RC_ASSERT(copy.has_value());
                RC_ASSERT(copy->state_hash() == two.engine.state_hash());
                two.engine = std::move(*copy);
            }
            events_of_one.happen();
            events_of_two.happen();
            if (one.engine.state_hash() != two.engine.state_hash()) {
                RC_FAIL("step " + std::to_string(i) + ":\n" + difference(one, two));
            }
        }
        RC_ASSERT(sent_hash(one) == sent_hash(two));
        RC_ASSERT(!::testing::Test::HasFailure());
    }));
}

// Once the named blocker is removed, the job starts.
TEST(EngineProperty, a_job_starts_once_its_blockers_are_removed) {
    ASSERT_TRUE(rc::check("reasons are true", [](std::uint64_t seed) {
        Rng rng{seed};
        EngineWorld world;
        Policy policy = two_queues();
        world.set(policy);
        const std::int64_t size = rng.between(1, 8);
        for (int i = 0; i < 3; ++i) {
            NodeFacts facts = node("n" + std::to_string(i), size);
            facts.unschedulable = rng.chance(1, 3);
            world.add(facts);
            if (rng.chance(1, 2)) {
                PodFacts foreign = pod("f" + std::to_string(i), "", rng.between(1, size));
                foreign.ours = false;
                foreign.node = facts.name;
                world.add(foreign);
            }
        }
        std::vector<PodFacts> all =
            gang("g", static_cast<int>(rng.between(1, 3)), rng.between(1, size));
        for (PodFacts& one : all) one.queue = rng.chance(1, 1) ? "prod" : "";
        world.add(all);
        world.run();
        for (int round = 0; round < 8 && world.node_of("g-0").empty(); ++round) {
            const std::vector<Explanation> reasons = world.why("g");
            RC_ASSERT(!reasons.empty());
            switch (reasons.front().reason) {
                case Reason::queue_limit:
                    policy.pools.front().queues.front().maximum.reset();
                    world.set(policy);
                    break;
                case Reason::tenant_quota:
                    policy.tenants.clear();
                    world.set(policy);
                    break;
                case Reason::no_matching_node:
                    for (auto [name, facts] : std::map{world.nodes}) {
                        facts.unschedulable = false;
                        world.add(facts);
                    }
                    break;
                case Reason::gpu_insufficient:
                case Reason::gpu_fragmented:
                case Reason::nodes_insufficient: {
                    // Adds exactly as many empty nodes of one rank as there are ranks that do not
                    // fit.
                    std::int64_t missing = 0, each = 0;
                    for (const Figure& one : reasons.front().figures) {
                        if (one.name == "ranks_needed") missing += one.value;
                        if (one.name == "ranks_fitting") missing -= one.value;
                        if (one.name == "gpus_per_rank") each = one.value / 1000;
                    }
                    RC_ASSERT(missing > 0);
                    for (std::int64_t i = 0; i < missing; ++i) {
                        world.add(node("new" + std::to_string(round) + std::to_string(i), each));
                    }
                    break;
                }
                default:
                    RC_FAIL("unexpected reason: " + wording::sentence(reasons.front()));
            }
            world.run();
        }
        RC_ASSERT(!world.node_of("g-0").empty());
        RC_ASSERT(!::testing::Test::HasFailure());
    }));
}

}  // namespace
}  // namespace gpuctl::test
