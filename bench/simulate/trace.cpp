#include "bench/simulate/trace.hpp"

#include <cstdio>

#include "bench/print/describe.hpp"
#include "sim/swarm/random_world.hpp"

namespace gpuctl::bench {

void trace_seed(std::uint64_t seed, int moments) {
    const auto print = [](const Engine&, const Input& input, const std::vector<Effect>& effects) {
        std::printf("%6llu %lld %s\n",
                    static_cast<unsigned long long>(static_cast<std::uint64_t>(input.sequence)),
                    static_cast<long long>(input.now.ms()), describe(input.event).c_str());
        for (const Effect& effect : effects)
            std::printf("         -> %s\n", describe(effect).c_str());
    };
    const sim::Life life = sim::live_one(seed, moments, nullptr, print);
    for (const Violation& wrong : life.violations) {
        std::printf("VIOLATION of %s: %s\n", wrong.id.c_str(), wrong.what.c_str());
    }
}

}  // namespace gpuctl::bench
