#pragma once
// The decisions of many seeds as a short list that two versions of the engine are compared by
// (tests/golden/decisions.txt).

#include <cstdint>
#include <string>
#include <vector>

#include "bench/simulate/runner.hpp"

namespace gpuctl::bench {

struct DecisionBlock {
    std::string seeds;  // "1..20"
    std::string hash;
};

struct DecisionList {
    // One hash per block of seeds, so that two lists show where decisions begin to differ. Only
    // blocks of which every seed was simulated: a hash of nothing would be equal to any other.
    std::vector<DecisionBlock> blocks;
    // The other blocks: seeds after a violation, a seed that crashed, an open seed that was
    // skipped.
    std::size_t left_out = 0;
    std::uint64_t first_missing = 0;  // the first seed that was not simulated; 0: none
};

// `options.list_decisions` was set when `report` was made. `size`: seeds in a block.
DecisionList list_decisions(const RunOptions& options, const RunReport& report, std::size_t size);

// Why the list is not complete, as lines for standard error; "" if it is.
std::string missing_text(const DecisionList& list, const RunOptions& options,
                         const RunReport& report);

}  // namespace gpuctl::bench
