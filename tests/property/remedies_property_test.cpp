// I15 of remedies: every remedy is carried out in the world itself, with the world's own
// arithmetic, and the job starts, whether the changes happen one by one or at once. Without one of
// the changes, the job does not start in at least one of these orders.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "scheduler/base/rng.hpp"
#include "scheduler/whatif/question.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

using whatif::ChangeKind;
using whatif::Remedy;

Policy random_policy(Rng& rng) {
    Policy policy;
    policy.pods_reserved_per_node = 0;
    policy.default_tenant_gpu_maximum = whole_gpus(rng.between(8, 40));
    PoolPolicy pool;
    pool.name = "default";
    pool.queues = {{"default", 0, 1, {}, whole_gpus(rng.between(1, 24))}, {"free", 0, 1, {}, {}}};
    policy.pools = {pool};
    return policy;
}

// A world at a fixed point, often with waiting jobs.
void fill(EngineWorld& world, std::uint64_t seed) {
    Rng rng{seed};
    world.set(random_policy(rng));
    const std::int64_t nodes = rng.between(1, 4);
    for (std::int64_t i = 0; i < nodes; ++i) {
        world.add(node("n" + std::to_string(i), rng.between(1, 8),
                       rng.chance(1, 4) ? "other" : "default"));
    }
    const std::int64_t jobs = rng.between(1, 8);
    const bool is_flat = rng.chance(1, 2);  // equal priorities: the head of line gets a reservation
    const bool has_parts = rng.chance(1, 3);
    for (std::int64_t i = 0; i < jobs; ++i) {
        std::vector<PodFacts> ranks =
            gang("j" + std::to_string(i), static_cast<int>(rng.between(1, 4)), rng.between(0, 8));
        const bool is_gang = rng.chance(2, 3);
        const Duration limit = Duration::seconds(rng.between(0, 4) * 37 * 60 + 11);
        const bool is_limited = rng.chance(4, 5);
        const bool is_part = has_parts && rng.chance(1, 2);
        const GpuMilli part{rng.between(1, 19) * 50};
        for (PodFacts& rank : ranks) {
            if (is_part && !rank.request.gpus.empty()) rank.request.gpus.front().amount = part;
            rank.gang = is_gang;
            if (is_limited) rank.run_time_max = limit;
            rank.priority = is_flat ? 0 : static_cast<std::int32_t>(100 * (i % 3));
        }
        world.add(ranks);
        if (rng.chance(1, 2)) world.run();
    }
    world.run();
}

std::int64_t waiting_pods(const EngineWorld& world, const std::string& job) {
    std::int64_t waiting = 0;
    for (const auto& [uid, facts] : world.pods) {
        if (facts.job == job && facts.node.empty()) ++waiting;
    }
    return waiting;
}

// How pods end and nodes join: with a Plan after each change, or with one Plan after all changes.
// With grace, all pods are terminating first and then end one by one.
enum class Pace : std::uint8_t { one_by_one, at_once, with_grace };

void begin_to_terminate(EngineWorld& world, const std::string& job) {
    const std::map<std::string, PodFacts> before = world.pods;
    for (const auto& [uid, known] : before) {
        PodFacts facts = known;
        facts.terminating = true;
        if (facts.job == job) world.add(facts);
    }
    world.run();
}

void carry_out(EngineWorld& world, const std::string& job, const Remedy& remedy,
               std::int64_t amount, Pace pace, const Policy& raised) {
    const std::map<std::string, PodFacts> before = world.pods;
    const bool is_whole = std::all_of(before.begin(), before.end(), [&](const auto& known) {
        return known.second.job != job || known.second.node.empty();
    });
    const bool is_recreated = is_whole && remedy.kind <= ChangeKind::other_pool;
    if (is_recreated) {
        for (const auto& [uid, known] : before) {
            if (known.job == job) world.remove_pod(uid);
        }
        world.run();
    }
    if (remedy.kind == ChangeKind::job_ends && pace == Pace::with_grace) {
        begin_to_terminate(world, remedy.subject.substr(remedy.subject.find('/') + 1));
    }
    for (const auto& [uid, known] : before) {
        PodFacts facts = known;
        if (remedy.kind == ChangeKind::job_ends &&
            to_string({"team-a", facts.job}) == remedy.subject) {
            if (!facts.node.empty() || pace != Pace::one_by_one) world.remove_pod(uid);
            if (pace != Pace::at_once) world.run();
            continue;
        }
        if (facts.job != job || !facts.node.empty()) continue;
        if (is_recreated) facts.uid += "+";
        switch (remedy.kind) {
            case ChangeKind::fewer_gpus:
                facts.request.gpus.front().amount = whole_gpus(amount);
                break;
            case ChangeKind::fewer_ranks:
                facts.gang_min = static_cast<std::int32_t>(amount);
                if (facts.rank >= amount) continue;
                break;
            case ChangeKind::shorter_run_time:
                facts.run_time_max = Duration::seconds(amount);
                break;
            case ChangeKind::other_queue:
                facts.queue = remedy.subject;
                break;
            case ChangeKind::other_pool:
                facts.pool = remedy.subject;
                break;
            case ChangeKind::jobs_move:  // no job is preemptible in these worlds: moves_test.cpp
            case ChangeKind::higher_limits:
            case ChangeKind::job_ends:
            case ChangeKind::more_nodes:
            case ChangeKind::two_changes:
                continue;
        }
        world.add(facts);
    }
    if (remedy.kind == ChangeKind::higher_limits) world.set(raised);
    if (remedy.kind == ChangeKind::more_nodes) {
        for (std::int64_t i = 1; i <= amount; ++i) {
            NodeFacts more = world.nodes.at(remedy.subject);
            more.name += "/more-" + std::to_string(i);
            more.topology.host = more.name;
            world.add(more);
            if (pace == Pace::one_by_one) world.run();
        }
    }
    world.run();
}

// The policy as reported, before any change.
Policy raised_policy(const EngineWorld& world, const std::string& job, const Remedy& remedy) {
    if (remedy.kind != ChangeKind::higher_limits) return {};
    const ClusterState& state = world.engine.state();
    const JobId id = state.jobs.find_job({"team-a", job});
    const auto limits = whatif::limits_in_way(state, id);
    RC_ASSERT(limits.size() == remedy.levels.size());
    return whatif::raise(state, id, limits, remedy.levels).policy;
}

// Which of two changes comes first.
enum class Order : std::uint8_t { as_reported, reversed_order };

bool starts(std::uint64_t seed, const std::string& job, const Remedy& remedy, std::int64_t amount,
            Pace pace, Order order = Order::as_reported) {
    EngineWorld world;
    fill(world, seed);
    const bool is_gang = world.pods.at(job + "-0").gang;
    const std::int64_t before = waiting_pods(world, job);
    std::vector<Remedy> changes = remedy.parts;
    if (changes.empty()) changes.push_back(remedy);
    const Policy raised = raised_policy(world, job, changes.front());
    if (order == Order::reversed_order) std::swap(changes.front(), changes.back());
    for (const Remedy& one : changes) carry_out(world, job, one, amount, pace, raised);
    return is_gang ? waiting_pods(world, job) == 0 : waiting_pods(world, job) < before;
}

bool starts(std::uint64_t seed, const std::string& job, const Remedy& remedy, std::int64_t amount) {
    return starts(seed, job, remedy, amount, Pace::one_by_one) &&
           starts(seed, job, remedy, amount, Pace::at_once) &&
           starts(seed, job, remedy, amount, Pace::with_grace) &&
           (remedy.parts.empty() ||
            starts(seed, job, remedy, amount, Pace::at_once, Order::reversed_order));
}

RC_GTEST_PROP(Remedies, I15_each_one_lets_the_job_start_and_one_less_does_not, ()) {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    EngineWorld world;
    fill(world, seed);
    for (const auto& [key, id] : world.engine.state().jobs.jobs_by_key()) {
        if (waiting_pods(world, key.name) == 0) continue;
        const auto found = whatif::find_remedies(world.engine.export_state(), key, world.now);
        RC_ASSERT(found.has_value());
        for (const Remedy& remedy : found->found) {
            RC_TAG(static_cast<int>(remedy.kind));
            RC_LOG() << key.name << ": " << wording::sentence(remedy.facts) << '\n';
            RC_ASSERT(starts(seed, key.name, remedy, remedy.amount));
            switch (remedy.kind) {
                case ChangeKind::fewer_gpus:
                case ChangeKind::fewer_ranks:
                    RC_ASSERT(!starts(seed, key.name, remedy, remedy.amount + 1));
                    break;
                case ChangeKind::shorter_run_time:  // all limits in these worlds are below a day
                    RC_ASSERT(!starts(seed, key.name, remedy, remedy.amount + 60));
                    break;
                case ChangeKind::more_nodes:
                    RC_ASSERT(!starts(seed, key.name, remedy, remedy.amount - 1));
                    break;
                case ChangeKind::other_queue:
                case ChangeKind::other_pool:
                case ChangeKind::higher_limits:
                    for (std::size_t i = 0; i < remedy.levels.size(); ++i) {
                        if (remedy.levels[i] <= 0) continue;
                        Remedy less = remedy;
                        --less.levels[i];
                        RC_ASSERT(!starts(seed, key.name, less, 0));
                    }
                    break;
                case ChangeKind::two_changes:
                    for (const Remedy& one : remedy.parts) {
                        RC_ASSERT(!starts(seed, key.name, one, one.amount));
                    }
                    break;
                case ChangeKind::jobs_move:
                case ChangeKind::job_ends:
                    break;
            }
        }
    }
}

}  // namespace
}  // namespace gpuctl::test
