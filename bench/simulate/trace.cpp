#include "bench/simulate/trace.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "bench/print/describe.hpp"
#include "sim/swarm/random_world.hpp"

namespace gpuctl::bench {

namespace {

// Reservations are no effects, so their changes are printed separately.
void print_head_reservations(const ClusterState& state,
                             std::map<std::string, HeadReservation>& last_printed) {
    for (const auto& [name, id] : state.tree.pools_by_name()) {
        const HeadReservation& now = state.pool(id).reservations.head;
        HeadReservation& before = last_printed[name];
        if (now.job == before.job && now.at == before.at) continue;
        before = now;
        const std::string holder = now.job.exists() ? to_string(state.job(now.job).key) : "no job";
        std::printf("         -> reservation of pool %s: %s at %lld\n", name.c_str(),
                    holder.c_str(), static_cast<long long>(now.at.ms()));
    }
}

void print_quota_reservations(const ClusterState& state,
                              std::map<std::string, std::string>& last_printed) {
    for (const auto& [name, id] : state.tree.pools_by_name()) {
        std::string now;
        for (const HeadReservation& kept : state.pool(id).reservations.under_limits) {
            now += " for " + to_string(state.job(kept.job).key) + " until " +
                   std::to_string(kept.at.ms());
        }
        if (std::exchange(last_printed[name], now) == now) continue;
        std::printf("         -> quota reserved in pool %s%s\n", name.c_str(),
                    now.empty() ? " for no job" : now.c_str());
    }
}

// The wanted ranks of elastic jobs are no effects, either.
void print_sizes(const ClusterState& state, std::map<ObjectKey, std::string>& last_printed) {
    for (const auto& [arrival, id] : state.elastic.elastic_jobs()) {
        const JobRow& job = state.job(id);
        std::string size =
            std::to_string(job.elastic.wanted) + " ranks wanted, its workload has " +
            std::to_string(job.elastic.size) +
            (job.elastic.phase() == ElasticPhase::in_flight ? ", resize in flight" : "");
        std::string& before = last_printed[job.key];
        if (size == before) continue;
        before = std::move(size);
        std::printf("         -> size of %s: %s\n", to_string(job.key).c_str(), before.c_str());
    }
}

}  // namespace

void trace_seed(std::uint64_t seed, int actions, sim::WorldKind kind) {
    std::map<std::string, HeadReservation> head_reservations;
    std::map<std::string, std::string> quota_reservations;
    std::map<ObjectKey, std::string> sizes;
    const auto print = [&](const Engine& engine, const Input& input,
                           const std::vector<Effect>& effects) {
        std::printf("%6llu %lld %s\n",
                    static_cast<unsigned long long>(static_cast<std::uint64_t>(input.sequence)),
                    static_cast<long long>(input.now.ms()), describe(input.event).c_str());
        for (const Effect& effect : effects)
            std::printf("         -> %s\n", describe(effect).c_str());
        print_head_reservations(engine.state(), head_reservations);
        print_quota_reservations(engine.state(), quota_reservations);
        print_sizes(engine.state(), sizes);
    };
    const sim::SimulatedRun run = sim::simulate_seed(seed, actions, nullptr, print, kind);
    for (const Violation& wrong : run.violations) {
        std::printf("VIOLATION of %s: %s\n", wrong.id.c_str(), wrong.what.c_str());
    }
}

}  // namespace gpuctl::bench
