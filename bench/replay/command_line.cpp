#include "bench/replay/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/replay/cluster.hpp"
#include "bench/replay/comparison.hpp"
#include "bench/replay/files.hpp"
#include "bench/replay/flag_numbers.hpp"
#include "bench/replay/flag_use.hpp"
#include "scheduler/model/policy/named_policy.hpp"

namespace gpuctl::replay {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

struct Arguments {
    std::string suite;
    std::string jobs, nodes, quotas, epochs, data;
    std::string policy = "engine";
    std::string overhead = "clean";
    std::string output = "table";
    double arrivals = 1.3;
    bool clairvoyant = false;
    std::optional<std::uint64_t> seed;
    std::optional<std::int32_t> gpus, nodes_count, gpus_per_node;
    EngineChoice engine;
    std::vector<std::string> flags;  // the given flags by their long names
};

std::vector<std::string> policy_names() {
    std::vector<std::string> names;
    for (const NamedPolicy& one : named_policies()) names.emplace_back(one.name);
    return names;
}

void declare(CLI::App& app, Arguments& to) {
    const auto size = whole_number(1, 1'000'000);
    app.add_option("suite", to.suite, "openb, philly64, backfill, elastic, fairness, vc; or all")
        ->required();
    app.add_option("--jobs", to.jobs, "the trace's jobs or tasks (CSV)");
    app.add_option("--nodes", to.nodes, "openb: its nodes (CSV)");
    app.add_option("--quotas", to.quotas, "vc: GPUs of each virtual cluster (CSV)");
    app.add_option("--epochs", to.epochs, "elastic: seconds per epoch by number of GPUs (CSV)");
    app.add_option("--gpus", to.gpus,
                   "size of the cluster; philly64, vc: in whole nodes (openb: --nodes)")
        ->transform(size);
    app.add_option("--nodes-count", to.nodes_count,
                   "philly64, vc: its nodes; other traces: times --gpus-per-node")
        ->transform(size);
    app.add_option("--gpus-per-node", to.gpus_per_node, "GPUs of each node")->transform(size);
    app.add_option("--seed", to.seed, "openb: one seed instead of the mean over 42 to 51")
        ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
    app.add_option("--arrivals", to.arrivals, "openb: GPUs asked for, of those there are")
        ->check(share())
        ->capture_default_str();
    app.add_option("--policy", to.policy, "engine, or a reference planner")->capture_default_str();
    app.add_option("--named-policy", to.engine.named_policy,
                   "the engine's, instead of the suite's: docs/policies")
        ->check(CLI::IsMember(policy_names()));
    const auto percent = whole_number(0, 10'000);
    app.add_option("--makespan-percent", to.engine.makespan_percent,
                   "a job that needs this much of the time of all known work goes first; 0: none")
        ->transform(percent);
    app.add_option("--gpu-exponent-percent", to.engine.gpu_exponent_percent,
                   "remaining work is time times GPUs to this power")
        ->transform(percent);
    app.add_option("--gain-percent", to.engine.gain_percent,
                   "remaining work of a preempted job, of that of the job it is preempted for")
        ->transform(percent);
    app.add_option("--overhead", to.overhead, "cost of a start: the house rule, or Muri's")
        ->check(CLI::IsMember({"clean", "muri"}))
        ->capture_default_str();
    app.add_flag("--clairvoyant", to.clairvoyant, "the policy may read true run times");
    app.add_option("--data", to.data, "all: the folder that holds openb/, philly64/, ...");
    app.add_option("-o,--output", to.output, "table or json")
        ->check(CLI::IsMember({"table", "json"}))
        ->capture_default_str();
}

Answer complain(int exit_code, const std::string& sentence) {
    return {exit_code, "", "replay: " + sentence + "\n"};
}

// An option that the suite needs in addition to --jobs and that is not given.
std::string missing_option(Suite suite, const Arguments& arguments) {
    if (arguments.jobs.empty()) return "--jobs";
    if (suite == Suite::openb && arguments.nodes.empty()) return "--nodes";
    if (suite == Suite::vc && arguments.quotas.empty()) return "--quotas";
    if (suite == Suite::elastic && arguments.epochs.empty()) return "--epochs";
    return "";
}

// Files that the suite does not use need not exist.
InputPaths paths_for(Suite suite, const Arguments& arguments) {
    InputPaths paths;
    paths.jobs = arguments.jobs;
    if (suite == Suite::openb) paths.nodes = arguments.nodes;
    if (suite == Suite::vc) paths.quotas = arguments.quotas;
    if (suite == Suite::elastic) paths.epochs = arguments.epochs;
    return paths;
}

Answer replay_one(const Arguments& arguments) {
    const auto suite = suite_named(arguments.suite);
    if (!suite) return complain(kWrongUsage, "there is no suite `" + arguments.suite + "`");
    const std::string missing = missing_option(*suite, arguments);
    if (!missing.empty()) {
        return complain(kWrongUsage, "suite " + arguments.suite + " needs " + missing + " FILE");
    }
    SuiteRequest request;
    request.suite = *suite;
    request.policy = arguments.policy;
    request.clairvoyant = arguments.clairvoyant;
    request.overhead = arguments.overhead == "muri" ? Overhead::muri : Overhead::clean;
    request.seed = arguments.seed;
    request.arrivals_percent = std::llround(arguments.arrivals * 100);
    request.gpus = arguments.gpus;
    request.nodes = arguments.nodes_count;
    request.gpus_per_node = arguments.gpus_per_node;
    request.engine = arguments.engine;
    if (*suite != Suite::openb) {
        const auto cluster = settings_for(request);
        if (!cluster) return complain(kWrongUsage, cluster.error().message);
    }
    const auto input = read_input(paths_for(*suite, arguments));
    if (!input) return complain(kFailed, input.error().message);
    const auto figures = run_suite(request, *input);
    if (!figures) return complain(kFailed, figures.error().message);
    Answer answer;
    answer.output = arguments.output == "json" ? figures->as_json() : figures->as_table();
    for (const std::string& remark : figures->remarks()) {
        answer.complaint += "replay: " + remark + "\n";
    }
    return answer;
}

std::string warnings_for(const Arguments& arguments) {
    const auto suite = suite_named(arguments.suite);
    if (!suite && arguments.suite != "all") return "";
    std::string warnings;
    for (const std::string& flag : unused_flags(arguments.flags, suite)) {
        warnings += "replay: " + flag + " means nothing for suite " + arguments.suite +
                    " and is not used\n";
    }
    return warnings;
}

Answer replay_all(const Arguments& arguments) {
    if (arguments.data.empty()) return complain(kWrongUsage, "`all` needs --data DIR");
    const auto [rows, failed] = compare_all(arguments.data);
    Answer answer;
    if (!rows.empty()) answer.output = arguments.output == "json" ? as_json(rows) : as_table(rows);
    for (const std::string& why : failed) answer.complaint += "replay: " + why + "\n";
    const bool is_missed = std::any_of(rows.begin(), rows.end(),
                                       [](const Comparison& row) { return row.is_missed(); });
    if (is_missed) answer.complaint += "replay: an acceptance figure is missed\n";
    if (is_missed || !failed.empty()) answer.exit_code = kFailed;
    return answer;
}

}  // namespace

Answer answer_command(const std::vector<std::string>& arguments) {
    CLI::App app("Replays public traces and measures scheduling quality.", "replay");
    Arguments given;
    declare(app, given);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp&) {
        return {0, app.help(), ""};
    } catch (const CLI::ParseError& error) {
        return complain(kWrongUsage, error.what());
    }
    for (const CLI::Option* option : app.get_options()) {
        if (option->count() == 0 || option->get_lnames().empty()) continue;
        given.flags.push_back("--" + option->get_lnames().front());
    }
    Answer answer = given.suite == "all" ? replay_all(given) : replay_one(given);
    answer.complaint.insert(0, warnings_for(given));
    return answer;
}

}  // namespace gpuctl::replay
