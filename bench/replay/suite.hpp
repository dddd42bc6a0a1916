#pragma once
// The six suites of docs/replays.md: how each world is set up and what is measured in it. There is
// one configuration for each suite, and none for a single trace.

#include <cstdint>
#include <optional>
#include <string>

#include "bench/replay/figures.hpp"
#include "scheduler/base/result.hpp"
#include "sim/replay/trace.hpp"
#include "sim/replay/world.hpp"

namespace gpuctl::replay {

enum class Suite : std::uint8_t { openb, philly64, backfill, elastic, fairness, vc };

std::optional<Suite> suite_named(std::string_view name);
std::string_view name_of(Suite suite);

// Overrides of the suite's policy. The three numbers are part of the named policies and no keys of
// gpuctld.yaml: only replays use them.
struct EngineChoice {
    std::string named_policy;  // empty: that of the suite
    std::optional<std::int32_t> makespan_percent;
    std::optional<std::int32_t> gpu_exponent_percent;
    std::optional<std::int32_t> gain_percent;
};

struct SuiteRequest {
    Suite suite{};
    std::string policy = "engine";
    bool clairvoyant = false;
    Overhead overhead = Overhead::clean;
    std::optional<std::uint64_t> seed;    // openb; absent: the ten published seeds, 42 to 51
    std::int64_t arrivals_percent = 130;  // openb
    // The size of the cluster for all suites except openb, in either form
    // (bench/replay/cluster.hpp).
    std::optional<std::int32_t> gpus;
    std::optional<std::int32_t> nodes;
    std::optional<std::int32_t> gpus_per_node;
    EngineChoice engine;
};

struct SuiteInput {
    NamedText jobs;
    NamedText nodes;   // openb
    NamedText quotas;  // vc
    NamedText epochs;  // elastic
};

// Returns all members of the JSON object, in order.
Result<Figures> run_suite(const SuiteRequest& request, const SuiteInput& input);

}  // namespace gpuctl::replay
