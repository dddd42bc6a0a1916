#pragma once
// Values of a pool that work only together: preemption by run time needs queues with the order
// SHORTEST and many evictions per hour, and some keys of `expert` belong to one mode.

#include <string>
#include <string_view>

#include "policy_document/policy_document.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl::config {

// Why a key of expert.pools[].backfill or .preemption has no effect in this pool: "with
// preemption.mode due"; empty: it has one.
std::string why_without_effect(const PoolPolicy& pool, std::string_view key);

// `root` has the sections `policy` and `expert`, which `document` was read from.
void check_run_time_rules(const PolicyDocument& document, const wire::Field& root);

}  // namespace gpuctl::config
