#include "bench/simulate/trace.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "bench/print/describe.hpp"
#include "sim/swarm/random_world.hpp"

namespace gpuctl::bench {

namespace {

// What is promised to whom is no effect, and often what one looks for.
void print_promises(const ClusterState& state, std::map<std::string, Promise>& told) {
    for (const auto& [name, id] : state.pools_by_name()) {
        const Promise& now = state.pool(id).promise;
        Promise& before = told[name];
        if (now.job == before.job && now.at == before.at) continue;
        before = now;
        const std::string whom = now.job.exists() ? to_string(state.job(now.job).key) : "nobody";
        std::printf("         -> promise of pool %s: %s at %lld\n", name.c_str(), whom.c_str(),
                    static_cast<long long>(now.at.ms()));
    }
}

void print_limits_kept(const ClusterState& state, std::map<std::string, std::string>& told) {
    for (const auto& [name, id] : state.pools_by_name()) {
        std::string now;
        for (const Promise& kept : state.pool(id).limits_kept) {
            now += " for " + to_string(state.job(kept.job).key) + " until " +
                   std::to_string(kept.at.ms());
        }
        if (std::exchange(told[name], now) == now) continue;
        std::printf("         -> limits of pool %s kept%s\n", name.c_str(),
                    now.empty() ? " for nobody" : now.c_str());
    }
}

// Neither is how many ranks a job is to have.
void print_sizes(const ClusterState& state, std::map<ObjectKey, std::string>& told) {
    for (const auto& [arrival, id] : state.elastic_jobs()) {
        const JobRow& job = state.job(id);
        std::string size = std::to_string(job.elastic.wanted) + " ranks wanted, its workload has " +
                           std::to_string(job.elastic.size) +
                           (job.elastic.in_flight ? ", being told" : "");
        std::string& before = told[job.key];
        if (size == before) continue;
        before = std::move(size);
        std::printf("         -> size of %s: %s\n", to_string(job.key).c_str(), before.c_str());
    }
}

}  // namespace

void trace_seed(std::uint64_t seed, int moments) {
    std::map<std::string, Promise> promises;
    std::map<std::string, std::string> limits_kept;
    std::map<ObjectKey, std::string> sizes;
    const auto print = [&](const Engine& engine, const Input& input,
                           const std::vector<Effect>& effects) {
        std::printf("%6llu %lld %s\n",
                    static_cast<unsigned long long>(static_cast<std::uint64_t>(input.sequence)),
                    static_cast<long long>(input.now.ms()), describe(input.event).c_str());
        for (const Effect& effect : effects)
            std::printf("         -> %s\n", describe(effect).c_str());
        print_promises(engine.state(), promises);
        print_limits_kept(engine.state(), limits_kept);
        print_sizes(engine.state(), sizes);
    };
    const sim::Life life = sim::live_one(seed, moments, nullptr, print);
    for (const Violation& wrong : life.violations) {
        std::printf("VIOLATION of %s: %s\n", wrong.id.c_str(), wrong.what.c_str());
    }
}

}  // namespace gpuctl::bench
