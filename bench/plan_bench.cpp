// Placement in memory, through Engine::step, in a steady state: a first generation of pods has run
// and ended, the second one is measured. Allocations are counted by a replaced operator new and
// include the whole step with its effects; `allocations_per_search` counts the planner's search
// alone.
//
//   plan_bench                       Google Benchmark
//   plan_bench --once NODES RANKS [RACK [read]]   one measured Plan, for instruction counters
//                                    (tools/bench-plan); gangs require one rack of RACK nodes;
//                                    read: with an index for readers that is kept up to date

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "plan_world.hpp"
#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace {
std::uint64_t allocations = 0;
}

void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace gpuctl {
namespace {

// nodes * 4 waiting pods, which need half of the GPUs. An earlier generation of pods was placed and
// has ended.
std::unique_ptr<Bench> world_with_waiting_pods(std::int64_t nodes, std::int64_t ranks) {
    const std::int64_t pods = nodes * kGpusPerNode / 2;
    auto bench = std::make_unique<Bench>(nodes);
    for (std::int64_t i = 0; i < pods; ++i) bench->send(PodObserved{Bench::pod(i, ranks)});
    bench->send(Plan{});
    for (std::int64_t i = 0; i < pods; ++i) bench->send(PodRemoved{Bench::pod(i, ranks).uid});
    bench->send(Plan{});
    for (std::int64_t i = 0; i < pods; ++i) bench->send(PodObserved{Bench::pod(pods + i, ranks)});
    bench->effects.clear();
    return bench;
}

// The Plan step alone; the pods were observed before.
void place(benchmark::State& run) {
    const std::int64_t nodes = run.range(0);
    const std::int64_t ranks = run.range(1);
    const std::int64_t pods = nodes * kGpusPerNode / 2;
    std::uint64_t counted = 0;
    for (auto _ : run) {
        run.PauseTiming();
        const auto bench = world_with_waiting_pods(nodes, ranks);
        const std::uint64_t placed = bench->engine.figures().placements;
        const std::uint64_t before = allocations;
        run.ResumeTiming();
        bench->send(Plan{});
        run.PauseTiming();
        counted += allocations - before;
        if (bench->engine.figures().placements != placed + static_cast<std::uint64_t>(pods)) {
            run.SkipWithError("not everything was placed");
        }
        run.ResumeTiming();
    }
    run.SetItemsProcessed(run.iterations() * pods);
    run.counters["allocations_per_pod"] =
        static_cast<double>(counted) / static_cast<double>(run.iterations() * pods);
}
BENCHMARK(place)
    ->ArgNames({"nodes", "ranks"})
    ->Args({1000, 1})
    ->Args({5000, 1})
    ->Args({10000, 1})
    ->Args({1000, 8})
    ->Args({5000, 8})
    ->Args({10000, 8})
    ->Unit(benchmark::kMillisecond);

// The search for one node and the changes of columns and index, nothing else.
void search(benchmark::State& run) {
    Bench bench{run.range(0)};
    bench.send(PodObserved{Bench::pod(0, 1)});
    const ClusterState& state = bench.engine.state();
    Capacity capacity = state.nodes.capacity();
    const ShapeId id = state.pod(state.pods.find_pod(Bench::pod(0, 1).uid)).shape;
    const Shape& shape = state.pods.shapes().at(id);
    const PoolId pool = state.tree.find_pool(kDefaultPool);
    Placer placer;
    std::vector<Transaction::Entry> log;
    log.reserve(1024);
    (void)placer.best(state, capacity, pool, id);
    const std::uint64_t before = allocations;
    std::int64_t placed = 0;
    for (auto _ : run) {
        Transaction attempt{capacity, log};
        for (int i = 0; i < 1000; ++i, ++placed) {
            const Placer::Spot spot = placer.best(state, capacity, pool, id);
            attempt.occupy(spot.node.value(), shape.needs, 1, spot.device);
        }
    }
    run.SetItemsProcessed(placed);
    run.counters["allocations_per_search"] =
        static_cast<double>(allocations - before) / static_cast<double>(placed);
}
BENCHMARK(search)->ArgName("nodes")->Arg(1000)->Arg(5000)->Arg(10000);

// The time from the first event of 5,000 one-GPU pods until the watch has reported all of them as
// bound.
void cycle(benchmark::State& run) {
    constexpr std::int64_t kPods = 5'000;
    for (auto _ : run) {
        run.PauseTiming();
        Bench bench{run.range(0)};
        std::vector<PodFacts> pods;
        for (std::int64_t i = 0; i < kPods; ++i) pods.push_back(Bench::pod(i, 1));
        run.ResumeTiming();
        for (const PodFacts& pod : pods) bench.send(PodObserved{pod});
        bench.effects.clear();
        bench.send(Plan{});
        EffectList binds = std::exchange(bench.effects, {});
        std::size_t next = 0;
        for (const Effect& effect : binds) {
            const auto* bind = std::get_if<BindPod>(&effect);
            if (bind == nullptr) continue;
            bench.send(BindOutcome{bind->id, bind->pod.uid, BindResult::bound, ""});
            pods[next].node = bind->node;
            bench.send(PodObserved{pods[next++]});
        }
        bench.send(Plan{});
        if (next != kPods) run.SkipWithError("not everything was bound");
    }
    run.SetItemsProcessed(run.iterations() * kPods);
}
BENCHMARK(cycle)->ArgName("nodes")->Arg(1000)->Arg(5000)->Unit(benchmark::kMillisecond);

// A Plan with 100,000 waiting jobs, none of which fits. The head of line, a gang that needs half of
// the nodes, has a reservation. `changed`: the pool has changed since, so that the reservation is
// searched again, through half of all running pods.
void nothing_runnable(benchmark::State& run) {
    constexpr std::int64_t kWaiting = 100'000;
    const std::int64_t nodes = run.range(0);
    const bool is_changed = run.range(1) != 0;
    Bench bench{nodes};
    bench.fill();
    const auto waiting = [&](std::int64_t number) {
        PodFacts pod = Bench::pod(nodes * kGpusPerNode + number, 1);
        pod.key.namespace_name = "team-" + std::to_string(number % 50);
        pod.run_time_max = Duration::seconds(60 << (number % 12));
        return pod;
    };
    for (std::int64_t rank = 0; rank < nodes / 2; ++rank) {
        PodFacts pod = Bench::pod(nodes / 2 * 1'000 + rank, nodes / 2);
        pod.request.gpus = {{"nvidia.com/gpu", whole_gpus(kGpusPerNode)}};
        pod.priority = 1;
        bench.send(PodObserved{pod});
    }
    for (std::int64_t i = 0; i < kWaiting; ++i) bench.send(PodObserved{waiting(i)});
    bench.send(Plan{});
    bench.effects.clear();
    PodFacts runs = Bench::pod(0, 1);
    runs.run_time_max = Duration::seconds(3'600);
    runs.node =
        bench.engine.state()
            .node(bench.engine.state().pod(bench.engine.state().pods.find_pod(runs.uid)).node)
            .facts.name;
    const std::uint64_t placed = bench.engine.figures().placements;
    std::int64_t number = kWaiting;
    for (auto _ : run) {
        run.PauseTiming();
        if (is_changed) {
            runs.phase = PodPhase::running;
            runs.started_at = Instant{1'000'000 + ++number};
            bench.send(PodObserved{runs});
        } else {
            bench.send(PodObserved{waiting(number++)});
        }
        run.ResumeTiming();
        bench.send(Plan{});
    }
    if (bench.engine.figures().placements != placed) run.SkipWithError("something was placed");
    run.counters["searches_per_plan"] =
        static_cast<double>(bench.engine.figures().reservation_searches) /
        static_cast<double>(run.iterations());
}
BENCHMARK(nothing_runnable)
    ->ArgNames({"nodes", "changed"})
    ->Args({1000, 0})
    ->Args({5000, 0})
    ->Args({5000, 1})
    ->Unit(benchmark::kMicrosecond);

// The Plan that refuses a gang of 8 x 8 on full nodes with a reason, while another gang waits
// before it.
void rejected_gang(benchmark::State& run) {
    Bench bench{run.range(0)};
    bench.fill();
    std::int64_t number = 8 * run.range(0) * kGpusPerNode;
    const auto submit = [&] {
        for (int rank = 0; rank < 8; ++rank, ++number) {
            PodFacts pod = Bench::pod(number, 8);
            pod.request.gpus = {{"nvidia.com/gpu", whole_gpus(kGpusPerNode)}};
            pod.run_time_max = Duration::seconds(3'600);
            bench.send(PodObserved{pod});
        }
    };
    submit();
    bench.send(Plan{});
    for (auto _ : run) {
        run.PauseTiming();
        submit();
        bench.effects.clear();
        run.ResumeTiming();
        bench.send(Plan{});
        run.PauseTiming();
        if (bench.effects.empty()) run.SkipWithError("no effect was sent");
        for (std::int64_t one = number - 8; one < number; ++one) {
            bench.send(PodRemoved{Bench::pod(one, 8).uid});
        }
        bench.send(Plan{});
        run.ResumeTiming();
    }
}
BENCHMARK(rejected_gang)->ArgName("nodes")->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);

// Nodes full of low-priority jobs with different start times: find victims for one pod, or for a
// gang of eight-GPU ranks. Then the waiting pods are removed and the victims replaced.
void victims(benchmark::State& run) {
    const std::int64_t nodes = run.range(0);
    const std::int64_t ranks = run.range(1);
    const std::int64_t gpus = run.range(2);
    Bench bench{nodes};
    std::int64_t number = 0;
    const auto add_running = [&](const std::string& node) {
        PodFacts pod = Bench::pod(number, 1);
        pod.priority = -1;
        pod.has_controller = pod.preemptible = true;
        pod.phase = PodPhase::running;
        pod.started_at = Instant{1 + number * 7'919 % 999'983};
        pod.node = node;
        bench.send(PodObserved{pod});
        ++number;
    };
    for (std::int64_t i = 0; i < nodes * kGpusPerNode; ++i) {
        add_running("node-" + std::to_string(i / kGpusPerNode));
    }
    bench.send(Plan{});
    bench.effects.clear();
    std::int64_t waiting = std::int64_t{1} << 30;
    std::uint64_t stopped = 0;
    for (auto _ : run) {
        run.PauseTiming();
        std::vector<PodFacts> gang;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            gang.push_back(Bench::pod(waiting * ranks + rank, ranks));
            gang.back().request.gpus = {{"nvidia.com/gpu", whole_gpus(gpus)}};
            gang.back().priority = 1;
            bench.send(PodObserved{gang.back()});
        }
        ++waiting;
        run.ResumeTiming();
        bench.send(Plan{});
        run.PauseTiming();
        for (const PodFacts& pod : gang) bench.send(PodRemoved{pod.uid});
        for (const Effect& effect : std::exchange(bench.effects, {})) {
            const auto* eviction = std::get_if<EvictPod>(&effect);
            if (eviction == nullptr) continue;
            const ClusterState& state = bench.engine.state();
            const NodeId on = state.pod(state.pods.find_pod(eviction->pod.uid)).node;
            const std::string node = state.node(on).facts.name;
            bench.send(PodEvictOutcome{eviction->id, eviction->pod.uid, EvictResult::evicted, ""});
            bench.send(PodRemoved{eviction->pod.uid});
            add_running(node);
            ++stopped;
        }
        bench.send(Plan{});
        bench.effects.clear();
        run.ResumeTiming();
    }
    const auto wanted = static_cast<std::uint64_t>(run.iterations() * ranks * gpus);
    if (stopped != wanted) run.SkipWithError("other than the fewest were stopped");
}
BENCHMARK(victims)
    ->ArgNames({"nodes", "ranks", "gpus"})
    ->Args({12'500, 1, 1})
    ->Args({12'500, 1, 8})
    ->Args({12'500, 125, 8})
    ->Unit(benchmark::kMicrosecond);

// Nodes with idle GPUs whose cores CPU-only pods of another queue use: find victims for one pod, or
// for a gang of eight-GPU ranks, of a queue that is guaranteed these GPUs.
void cpu_only_pods(benchmark::State& run) {
    const std::int64_t nodes = run.range(0);
    const std::int64_t ranks = run.range(1);
    constexpr std::int64_t kCpuOnlyPodsPerNode = 8;
    Bench bench{nodes};
    Policy policy;
    policy.plan_attempts_max = 1'000'000;
    policy.pools = {
        {kDefaultPool,
         "",
         {{"owner", 0, 1, whole_gpus(nodes * kGpusPerNode), {}}, {"guest", 0, 1, {}, {}}}}};
    bench.send(PolicyChanged{policy});
    std::int64_t number = 0;
    const auto add_cpu_only_pod = [&](const std::string& node) {
        PodFacts pod = Bench::pod(number, 1);
        pod.queue = "guest";
        pod.request.gpus.clear();
        pod.request.cpu = CpuMilli{16'000};
        pod.has_controller = pod.preemptible = true;
        pod.phase = PodPhase::running;
        pod.started_at = Instant{1 + number * 7'919 % 999'983};
        pod.node = node;
        bench.send(PodObserved{pod});
        ++number;
    };
    for (std::int64_t i = 0; i < nodes * kCpuOnlyPodsPerNode; ++i) {
        add_cpu_only_pod("node-" + std::to_string(i / kCpuOnlyPodsPerNode));
    }
    bench.send(Plan{});
    bench.effects.clear();
    std::int64_t waiting = std::int64_t{1} << 30;
    std::uint64_t stopped = 0;
    for (auto _ : run) {
        run.PauseTiming();
        std::vector<PodFacts> gang;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            gang.push_back(Bench::pod(waiting * ranks + rank, ranks));
            gang.back().queue = "owner";
            gang.back().request.gpus = {{"nvidia.com/gpu", whole_gpus(kGpusPerNode)}};
            bench.send(PodObserved{gang.back()});
        }
        ++waiting;
        run.ResumeTiming();
        bench.send(Plan{});
        run.PauseTiming();
        for (const PodFacts& pod : gang) bench.send(PodRemoved{pod.uid});
        for (const Effect& effect : std::exchange(bench.effects, {})) {
            const auto* eviction = std::get_if<EvictPod>(&effect);
            if (eviction == nullptr) continue;
            const ClusterState& state = bench.engine.state();
            const NodeId on = state.pod(state.pods.find_pod(eviction->pod.uid)).node;
            const std::string node = state.node(on).facts.name;
            bench.send(PodEvictOutcome{eviction->id, eviction->pod.uid, EvictResult::evicted, ""});
            bench.send(PodRemoved{eviction->pod.uid});
            add_cpu_only_pod(node);
            ++stopped;
        }
        bench.send(Plan{});
        bench.effects.clear();
        run.ResumeTiming();
    }
    if (stopped != static_cast<std::uint64_t>(run.iterations() * ranks)) {
        run.SkipWithError("other than the fewest were stopped");
    }
}
BENCHMARK(cpu_only_pods)
    ->ArgNames({"nodes", "ranks"})
    ->Args({12'500, 1})
    ->Args({12'500, 125})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gpuctl

// Measured by an instruction counter: noinline, so that it has a symbol to start at.
[[gnu::noinline]] void measured_plan(gpuctl::Bench& bench) { bench.send(gpuctl::Plan{}); }

int main(int argc, char** argv) {
    if (argc >= 4 && std::strcmp(argv[1], "--once") == 0) {
        if (argc > 4) gpuctl::Bench::nodes_in_rack = std::atoll(argv[4]);
        gpuctl::Bench::is_read = argc > 5;
        const auto bench =
            gpuctl::world_with_waiting_pods(std::atoll(argv[2]), std::atoll(argv[3]));
        const std::uint64_t before = allocations;
        const std::uint64_t placed = bench->engine.figures().placements;
        measured_plan(*bench);
        std::printf("{\"placements\": %llu, \"allocations\": %llu}\n",
                    static_cast<unsigned long long>(bench->engine.figures().placements - placed),
                    static_cast<unsigned long long>(allocations - before));
        return 0;
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
