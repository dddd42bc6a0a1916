#pragma once
// Shared by the tests of remedies: the remedy of a kind for a waiting job, and a policy with a
// quota.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "scheduler/whatif/remedies.hpp"
#include "support/engine_world.hpp"
#include "wording/wording.hpp"

namespace gpuctl::whatif {

using test::EngineWorld;
using test::gang;
using test::node;
using test::pod;

inline std::string sentence_of(const EngineWorld& world, const std::string& name, ChangeKind kind) {
    const auto found = find_remedies(world.engine.export_state(), {"team-a", name}, world.now);
    EXPECT_TRUE(found.has_value());
    for (const Remedy& one : found->found) {
        if (one.kind == kind) return wording::sentence(one.facts);
    }
    return "";
}

inline Policy queue_of_at_most(std::int64_t gpus) {
    Policy policy;
    PoolPolicy pool;
    pool.name = "default";
    pool.queues = {{"default", 0, 1, {}, whole_gpus(gpus)}, {"free", 0, 1, {}, {}}};
    policy.pools = {pool};
    return policy;
}

// With a queue that is no limit.
inline Policy namespace_of_at_most(std::int64_t gpus) {
    Policy policy = queue_of_at_most(64);
    TenantPolicy& tenant = policy.tenants.emplace_back();
    tenant.name = "team-a";
    tenant.gpu_maximum = whole_gpus(gpus);
    return policy;
}

inline PodFacts part(const std::string& name, std::int64_t thousandths) {
    PodFacts out = pod(name, name, 1);
    out.request.gpus.front().amount = GpuMilli{thousandths};
    return out;
}

}  // namespace gpuctl::whatif
