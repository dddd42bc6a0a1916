#include "bench/simulate/decisions.hpp"

#include <algorithm>
#include <span>

#include "scheduler/base/hash.hpp"
#include "text/hex.hpp"

namespace gpuctl::bench {

DecisionList list_decisions(const RunOptions& options, const RunReport& report, std::size_t size) {
    const std::span<const std::uint64_t> hashes{report.decisions_by_seed};
    DecisionList out;
    for (std::size_t i = 0; i < hashes.size(); i += size) {
        const auto block = hashes.subspan(i, std::min(size, hashes.size() - i));
        const std::uint64_t first = options.first + i;
        const auto missing = std::find(block.begin(), block.end(), 0u);
        if (missing != block.end()) {
            ++out.left_out;
            const auto seed = first + static_cast<std::uint64_t>(missing - block.begin());
            if (out.first_missing == 0) out.first_missing = seed;
            continue;
        }
        std::uint64_t all = 0;
        for (const std::uint64_t hash : block) all = hash64(std::to_string(hash), all);
        out.blocks.push_back(
            {std::to_string(first) + ".." + std::to_string(first + block.size() - 1),
             text::hex16(all)});
    }
    return out;
}

std::string missing_text(const DecisionList& list, const RunOptions& options,
                         const RunReport& report) {
    if (list.left_out == 0) return "";
    std::string text;
    for (const Failure& failure : report.failures) {
        text += (options.stop_at_first ? "stopped at seed " : "seed ") +
                std::to_string(failure.seed) + ", step " + std::to_string(failure.step) +
                ": violation of " + failure.id + ": " + failure.what + "\n";
    }
    return text + "seed " + std::to_string(list.first_missing) +
           (list.left_out == 1
                ? " was not simulated; its block of decisions is not listed\n"
                : " and others were not simulated; the " + std::to_string(list.left_out) +
                      " blocks with such seeds are not listed\n");
}

}  // namespace gpuctl::bench
