#pragma once
// Makes a policy by name, and checks what it needs.

#include <memory>

#include "bench/replay/suite.hpp"
#include "sim/replay/packing.hpp"

namespace gpuctl::replay {

// `trace` must outlive the policy.
Result<std::unique_ptr<Policy>> make_policy(const SuiteRequest& request, const Trace& trace,
                                            const WorldSettings& settings);
Result<std::unique_ptr<Packer>> make_packer(const SuiteRequest& request, const PackTrace& trace,
                                            std::uint64_t seed);

}  // namespace gpuctl::replay
