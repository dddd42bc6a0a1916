#include "bench/replay/suite.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "bench/replay/cluster.hpp"
#include "bench/replay/policies/elastic_policy.hpp"
#include "bench/replay/policies/engine_packer.hpp"
#include "bench/replay/policies/engine_setup.hpp"
#include "bench/replay/policies/policies.hpp"
#include "sim/replay/metrics.hpp"

namespace gpuctl::replay {
namespace {

constexpr std::array<std::string_view, 6> kSuiteNames = {"openb",   "philly64", "backfill",
                                                         "elastic", "fairness", "vc"};
constexpr std::uint64_t kSeedFirst = 42;  // the first seed of the published runs
constexpr std::uint64_t kSeedCount = 10;
constexpr Duration kElasticRestart = Duration::seconds(30);
constexpr Duration kFairnessRestart = Duration::seconds(10);
constexpr Duration kVirtualClusterRestart = Duration::seconds(30);
constexpr Duration kReclaimGrace = Duration::seconds(60);

// Wall time of a replay with all work of the engine, including node events, without reading the
// trace.
class Stopwatch {
public:
    [[nodiscard]] double elapsed_s() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

struct Effort {
    std::size_t jobs = 0;
    std::uint64_t decisions = 0;
    double wall_s = 0;
    std::optional<EngineEffort> engine;  // effort of the engine if it is the policy
};

struct ClusterSize {
    std::int64_t nodes = 0;
    std::int64_t gpus = 0;
};

ClusterSize size_of(const WorldSettings& settings) {
    return {settings.nodes, std::int64_t{settings.nodes} * settings.gpus_per_node};
}

Figures begin_figures(const SuiteRequest& request, const ClusterSize& cluster,
                      const Effort& effort) {
    Figures figures;
    figures.add("suite", std::string{name_of(request.suite)});
    figures.add("policy", request.policy);
    figures.add("clairvoyant", request.clairvoyant);
    if (request.suite != Suite::openb) {
        figures.add("overhead",
                    std::string{request.overhead == Overhead::clean ? "clean" : "muri"});
    }
    figures.add("nodes", cluster.nodes);
    figures.add("gpus", cluster.gpus);
    figures.add("jobs", static_cast<std::int64_t>(effort.jobs));
    figures.add("decisions", static_cast<std::int64_t>(effort.decisions));
    const double deciding_s = effort.engine ? effort.engine->seconds : effort.wall_s;
    figures.add("decisions_per_second",
                deciding_s > 0 ? static_cast<double>(effort.decisions) / deciding_s : 0.0);
    figures.add("wall_s", effort.wall_s);
    if (effort.engine) {
        figures.add("engine_s", effort.engine->seconds);
        figures.add("engine_inputs", static_cast<std::int64_t>(effort.engine->inputs));
        figures.add("engine_plans", static_cast<std::int64_t>(effort.engine->plans));
        figures.add("engine_attempts", static_cast<std::int64_t>(effort.engine->attempts));
    }
    return figures;
}

void add_effort(const EngineEffort& more, Effort& effort) {
    if (!effort.engine) effort.engine.emplace();
    effort.engine->inputs += more.inputs;
    effort.engine->plans += more.plans;
    effort.engine->attempts += more.attempts;
    effort.engine->starts += more.starts;
    effort.engine->stops += more.stops;
    effort.engine->seconds += more.seconds;
}

Result<World> replay_jobs(const SuiteRequest& request, const WorldSettings& settings,
                          const Trace& trace, Effort& effort) {
    const Stopwatch stopwatch;
    auto policy = make_policy(request, trace, settings);
    if (!policy) return policy.error();
    World world(trace, settings);
    if (auto error = world.run(**policy)) return *error;
    effort.wall_s += stopwatch.elapsed_s();
    if (const auto* engine = dynamic_cast<const EnginePolicy*>(policy->get())) {
        add_effort(engine->effort(), effort);
    } else if (const auto* elastic = dynamic_cast<const ElasticPolicy*>(policy->get())) {
        add_effort(elastic->effort(), effort);
    }
    effort.jobs += trace.jobs.size();
    effort.decisions += world.decisions();
    return world;
}

double mean_of_part(const World& world, const std::vector<double>& values, OwnerIndex owner) {
    std::vector<double> part;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (world.trace().jobs[i].owner == owner) part.push_back(values[i]);
    }
    return mean(part);
}

void add_philly(const World& world, Figures& figures) {
    const auto completion = completion_times_s(world);
    figures.add("jct_mean_s", mean(completion));
    figures.add("jct_p99_s", percentile(completion, 99));
    figures.add("makespan_s", makespan_s(world));
    figures.add("preemptions", preemptions(world));
}

void add_backfill(const World& world, Figures& figures) {
    const auto slowdowns = bounded_slowdowns(world);
    figures.add("avebsld", mean(slowdowns));
    figures.add("bsld_max", maximum(slowdowns));
    figures.add("wait_max_s", maximum(waits_s(world)));
    figures.add("flow_mean_s", mean(completion_times_s(world)));
}

void add_fairness(const World& world, Figures& figures) {
    constexpr double kUnfairFrom = 1.05;
    const auto rho = finish_time_fairness(world);
    const auto unfair =
        std::count_if(rho.begin(), rho.end(), [](double value) { return value > kUnfairFrom; });
    double used_gpu_s = 0;
    for (const TraceJob& job : world.trace().jobs) {
        used_gpu_s += static_cast<double>(job.run.ms()) / 1000.0 * job.gpus;
    }
    const double span_s = makespan_s(world);
    figures.add("makespan_s", span_s);
    figures.add("jct_mean_s", mean(completion_times_s(world)));
    figures.add("rho_max", maximum(rho));
    figures.add("unfair_ratio", static_cast<double>(unfair) / static_cast<double>(rho.size()));
    figures.add("utilisation", used_gpu_s / (span_s * static_cast<double>(world.gpus_total())));
    figures.add("preemptions", preemptions(world));
}

void add_virtual_clusters(const World& world, Figures& figures) {
    const auto delays = queue_delays_s(world);
    std::vector<double> by_owner;
    for (std::uint32_t i = 0; i < world.trace().owners.size(); ++i) {
        by_owner.push_back(mean_of_part(world, delays, OwnerIndex{i}));
    }
    figures.add("queue_delay_mean_s", mean(delays));
    figures.add("queue_delay_p99_s", percentile(delays, 99));
    figures.add("preemptions", preemptions(world));
    figures.add("guarantee_violations", guarantee_violations(world, kReclaimGrace));
    figures.add("vc_queue_delay_mean_s", std::move(by_owner));
    std::int64_t quota_gpus = 0;
    for (const Owner& owner : world.trace().owners) quota_gpus += owner.quota_gpus;
    figures.add("quota_gpus", quota_gpus);
    if (quota_gpus <= world.gpus_total()) return;
    figures.remark(
        "the quotas come to " + std::to_string(quota_gpus) + " GPUs of a cluster with " +
        std::to_string(world.gpus_total()) +
        ": not all of them can be guaranteed, and guarantee_violations may be due to that");
}

Result<Trace> read_trace(Suite suite, const SuiteInput& input) {
    switch (suite) {
        case Suite::philly64:
            return read_philly(input.jobs);
        case Suite::backfill:
            return read_backfill(input.jobs);
        case Suite::fairness:
            return read_fairness(input.jobs, kFairnessRestart);
        case Suite::vc:
            return read_virtual_clusters(input.jobs, input.quotas, kVirtualClusterRestart);
        case Suite::openb:
        case Suite::elastic:
            break;
    }
    return make_error(ErrorCode::Internal, "this suite reads its trace elsewhere");
}

Error no_jobs_in(const NamedText& file) {
    return make_error(ErrorCode::ValidationFailed, file.name + " has no jobs");
}

Result<Figures> run_one_trace(const SuiteRequest& request, const SuiteInput& input) {
    const auto trace = read_trace(request.suite, input);
    if (!trace) return trace.error();
    if (trace->jobs.empty()) return no_jobs_in(input.jobs);
    const auto settings = settings_for(request);
    if (!settings) return settings.error();
    Effort effort;
    const auto world = replay_jobs(request, *settings, *trace, effort);
    if (!world) return world.error();
    Figures figures = begin_figures(request, size_of(*settings), effort);
    if (request.suite == Suite::philly64) add_philly(*world, figures);
    if (request.suite == Suite::backfill) add_backfill(*world, figures);
    if (request.suite == Suite::fairness) add_fairness(*world, figures);
    if (request.suite == Suite::vc) add_virtual_clusters(*world, figures);
    return figures;
}

Result<Figures> run_elastic(const SuiteRequest& request, const SuiteInput& input) {
    const auto traces = read_elastic(input.jobs, input.epochs, kElasticRestart);
    if (!traces) return traces.error();
    if (traces->empty()) return no_jobs_in(input.jobs);
    const auto settings = settings_for(request);
    if (!settings) return settings.error();
    Effort effort;
    std::vector<double> means;
    std::vector<double> all;
    std::int64_t stops = 0;
    for (const Trace& trace : *traces) {
        const auto world = replay_jobs(request, *settings, trace, effort);
        if (!world) return world.error();
        const auto completion = completion_times_s(*world);
        means.push_back(mean(completion));
        all.insert(all.end(), completion.begin(), completion.end());
        stops += preemptions(*world);
    }
    Figures figures = begin_figures(request, size_of(*settings), effort);
    figures.add("jct_mean_s", mean(means));
    figures.add("workload_jct_mean_s", means);
    figures.add("jct_p50_s", percentile(all, 50));
    figures.add("jct_p99_s", percentile(all, 99));
    figures.add("jct_max_s", maximum(all));
    figures.add("preemptions", stops);
    return figures;
}

double deviation(const std::vector<double>& values) {
    double squares = 0;
    for (const double value : values) squares += (value - mean(values)) * (value - mean(values));
    return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

ClusterSize size_of(const PackTrace& trace) {
    ClusterSize size{std::ssize(trace.nodes), 0};
    for (const PackNode& node : trace.nodes) size.gpus += node.gpus;
    return size;
}

void remark_unknown_models(const PackTrace& trace, const NamedText& tasks, Figures& figures) {
    if (trace.tasks_of_unknown_models == 0) return;
    std::string models;
    for (const std::string& model : trace.models_unknown) {
        models += (models.empty() ? "" : ", ") + model;
    }
    figures.remark(std::to_string(trace.tasks_of_unknown_models) + " tasks of " + tasks.name +
                   " ask for GPU models that no node has (" + models + "); " +
                   std::to_string(trace.tasks_fitting_nowhere) +
                   " of them ask for no other, so that they fit nowhere and are dropped");
}

Result<Figures> run_openb(const SuiteRequest& request, const SuiteInput& input) {
    const auto trace = read_openb(input.jobs, input.nodes);
    if (!trace) return trace.error();
    Effort effort;
    std::vector<double> allocated;
    std::vector<double> fragmented;
    std::vector<double> fragmented_of_idle;
    std::int64_t dropped_though_fitting = 0;
    const std::uint64_t seeds = request.seed ? 1 : kSeedCount;
    for (std::uint64_t nth = 0; nth < seeds; ++nth) {
        const std::uint64_t seed = request.seed.value_or(kSeedFirst) + nth;
        const Stopwatch stopwatch;
        const auto arrivals = draw_arrivals(*trace, request.arrivals_percent, seed);
        if (!arrivals) return arrivals.error();
        auto packer = make_packer(request, *trace, seed);
        if (!packer) return packer.error();
        const PackOutcome outcome = run_packing(*trace, *arrivals, **packer);
        effort.wall_s += stopwatch.elapsed_s();
        if (const auto* engine = dynamic_cast<const EnginePacker*>(packer->get())) {
            add_effort(engine->effort(), effort);
        }
        effort.jobs += arrivals->size();
        effort.decisions += arrivals->size();
        const auto total = static_cast<double>(outcome.gpus_milli);
        const auto idle = total - static_cast<double>(outcome.allocated_milli);
        const auto waste = static_cast<double>(outcome.fragmented_micro) / 1000.0;
        allocated.push_back(static_cast<double>(outcome.allocated_milli) / total);
        fragmented.push_back(waste / total);
        fragmented_of_idle.push_back(idle > 0 ? waste / idle : 0);
        dropped_though_fitting += outcome.dropped_though_fitting;
    }
    if (effort.jobs == 0) {
        return make_error(ErrorCode::ValidationFailed,
                          "no task arrives: the first one drawn asks for more than " +
                              std::to_string(request.arrivals_percent) +
                              " % of the cluster's GPUs; say more --arrivals");
    }
    Figures figures = begin_figures(request, size_of(*trace), effort);
    figures.add("seeds", static_cast<std::int64_t>(allocated.size()));
    figures.add("allocation_ratio", mean(allocated));
    figures.add("allocation_ratio_deviation", deviation(allocated));
    figures.add("fragmentation_ratio", mean(fragmented));
    figures.add("fragmentation_of_idle_ratio", mean(fragmented_of_idle));
    figures.add("dropped_though_fitting", dropped_though_fitting);
    remark_unknown_models(*trace, input.jobs, figures);
    return figures;
}

}  // namespace

std::string_view name_of(Suite suite) { return kSuiteNames[static_cast<std::size_t>(suite)]; }

std::optional<Suite> suite_named(std::string_view name) {
    const auto found = std::find(kSuiteNames.begin(), kSuiteNames.end(), name);
    if (found == kSuiteNames.end()) return std::nullopt;
    return static_cast<Suite>(found - kSuiteNames.begin());
}

Result<Figures> run_suite(const SuiteRequest& request, const SuiteInput& input) {
    if (request.suite == Suite::openb) return run_openb(request, input);
    if (request.suite == Suite::elastic) return run_elastic(request, input);
    return run_one_trace(request, input);
}

}  // namespace gpuctl::replay
