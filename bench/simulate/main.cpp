// gpuctl-simulate: simulates random worlds from seeds and checks every step (docs/simulation.md).
//
// Exit codes: 0 no violation, 1 a violation, 2 wrong usage.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/simulate/decisions.hpp"
#include "bench/simulate/faults_of_changes.hpp"
#include "bench/simulate/runner.hpp"
#include "bench/simulate/trace.hpp"
#include "scheduler/base/seeded_faults.hpp"
#include "text/hex.hpp"

namespace gpuctl::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: simulate --seeds A..B [--changes] [--actions N] [--jobs N] [--keep-going]\n"
    "                [--fault NAME] [-o json]\n"
    "       simulate --fault-table\n"
    "  --seeds A..B   worlds to simulate, both ends included\n"
    "  --changes      worlds in which people also change jobs, nodes, pools and quotas\n"
    "  --actions N    random actions in each world before it recovers (40)\n"
    "  --jobs N       worlds at a time (all cores)\n"
    "  --keep-going   continue after a violation\n"
    "  --skip-open    without the seeds of bench/simulate/open_seeds.hpp\n"
    "  --trace        print every step of the first seed instead of checking many\n"
    "  --decisions N  a hash of the decisions of every N seeds (tests/golden/decisions.txt)\n"
    "  --fault NAME   with this seeded fault (scheduler/base/seeded_faults.hpp)\n"
    "  --fault-table  each seeded fault and how soon it is caught, as a table\n";

// A fault that no seed up to this one shows counts as not caught.
constexpr std::uint64_t kSeedsPerFault = 3'000;

struct Arguments {
    RunOptions run;
    std::string fault = "none";
    bool seeds_given = false;
    bool json = false;
    bool table = false;
    bool trace = false;
    std::size_t decisions_block = 0;  // 0: no list of decisions
};

bool parse_number(std::string_view text, std::uint64_t& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

bool parse_seeds(std::string_view text, RunOptions& run) {
    const std::size_t dots = text.find("..");
    const bool is_range = dots != std::string_view::npos;
    if (!parse_number(text.substr(0, dots), run.first)) return false;
    if (!parse_number(is_range ? text.substr(dots + 2) : text, run.last)) return false;
    constexpr std::uint64_t kMost = INT64_MAX;  // the counter exceeds the last seed by one
    return run.first > 0 && run.first <= run.last && run.last <= kMost;
}

bool parse(int count, char** words, Arguments& out) {
    out.run.jobs = std::max(std::thread::hardware_concurrency(), 1U);
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        const bool takes_value = word == "--seeds" || word == "--actions" || word == "--jobs" ||
                                 word == "--fault" || word == "--decisions" || word == "-o";
        if (takes_value && ++i == count) return false;
        const std::string_view value = takes_value ? words[i] : "";
        std::uint64_t number = 0;
        if (word == "--seeds") {
            if (!parse_seeds(value, out.run)) return false;
            out.seeds_given = true;
        } else if (word == "--actions" || word == "--jobs") {
            if (!parse_number(value, number) || number == 0 || number > 1'000'000) return false;
            if (word == "--actions") out.run.actions = static_cast<int>(number);
            if (word == "--jobs") out.run.jobs = static_cast<unsigned>(number);
        } else if (word == "--decisions") {
            if (!parse_number(value, number) || number == 0) return false;
            out.decisions_block = number;
            out.run.list_decisions = true;
        } else if (word == "--fault") {
            out.fault = value;
        } else if (word == "-o") {
            if (value != "json") return false;
            out.json = true;
        } else if (word == "--changes") {
            out.run.kind = sim::WorldKind::with_changes;
        } else if (word == "--keep-going") {
            out.run.stop_at_first = false;
        } else if (word == "--skip-open") {
            out.run.skip_open = true;
        } else if (word == "--trace") {
            out.trace = true;
        } else if (word == "--fault-table") {
            out.table = true;
        } else {
            return false;
        }
    }
    return out.seeds_given != out.table;
}

bool choose_fault(const std::string& name) {
#ifdef GPUCTL_SEEDED_FAULTS
    return select_fault(name);
#else
    return name == "none";
#endif
}

bool has_changes(const RunOptions& run) { return run.kind == sim::WorldKind::with_changes; }

std::string repeat_command(const Arguments& arguments, const Failure& failure) {
    const std::string seed = std::to_string(failure.seed);
    std::string command = "./tools/simulate --seeds " + seed + ".." + seed;
    if (has_changes(arguments.run)) command += " --changes";
    if (arguments.run.actions != sim::kActionsPerRun) {
        command += " --actions " + std::to_string(arguments.run.actions);
    }
    if (arguments.fault != "none") command += " --fault " + arguments.fault;
    return command;
}

void print_json(const Arguments& arguments, const RunReport& report,
                const DecisionList& decisions) {
    nlohmann::ordered_json out;
    out["seeds"] = report.seeds;
    out["seedsTwice"] = report.seeds_twice;
    out["history"] = text::hex16(report.history);
    out["decisions"] = text::hex16(report.decisions);
    for (const DecisionBlock& block : decisions.blocks) {
        out["decisionBlocks"][block.seeds] = block.hash;
    }
    out["seconds"] = report.seconds;
    sim::for_each_probe(report.probes, [&out](const char* name, std::uint64_t value) {
        out["counts"][name] = value;
    });
    if (has_changes(arguments.run)) {
        sim::for_each_change_probe(report.changes, [&out](const char* name, std::uint64_t value) {
            out["changes"][name] = value;
        });
    }
    out["violations"] = nlohmann::ordered_json::array();
    for (const Failure& failure : report.failures) {
        out["violations"].push_back({{"seed", failure.seed},
                                     {"step", failure.step},
                                     {"invariant", failure.id},
                                     {"what", failure.what},
                                     {"repeat", repeat_command(arguments, failure)}});
    }
    std::printf("%s\n", out.dump(2).c_str());
}

void print_text(const Arguments& arguments, const RunReport& report) {
    const double seconds = std::max(report.seconds, 1e-9);
    std::printf("%llu seeds, %llu steps in %.1f s: %.1f seeds/s, %.0f steps/s, %u at a time\n",
                static_cast<unsigned long long>(report.seeds),
                static_cast<unsigned long long>(report.probes.steps), report.seconds,
                static_cast<double>(report.seeds) / seconds,
                static_cast<double>(report.probes.steps) / seconds, arguments.run.jobs);
    sim::for_each_probe(report.probes, [](const char* name, std::uint64_t value) {
        std::printf("  %-24s %12llu\n", name, static_cast<unsigned long long>(value));
    });
    if (has_changes(arguments.run)) {
        sim::for_each_change_probe(report.changes, [](const char* name, std::uint64_t value) {
            std::printf("  %-24s %12llu\n", name, static_cast<unsigned long long>(value));
        });
    }
    std::printf("%llu seeds simulated twice: the same history\n",
                static_cast<unsigned long long>(report.seeds_twice));
    std::printf("history %s\n", text::hex16(report.history).c_str());
    std::printf("decisions %s\n", text::hex16(report.decisions).c_str());
    for (const Failure& failure : report.failures) {
        std::printf("VIOLATION of %s, seed %llu, step %llu: %s\n  repeat: %s\n", failure.id.c_str(),
                    static_cast<unsigned long long>(failure.seed),
                    static_cast<unsigned long long>(failure.step), failure.what.c_str(),
                    repeat_command(arguments, failure).c_str());
    }
    if (report.failures.empty()) std::printf("no violation\n");
}

// Prints one row per fault. It uses one worker, so that the number of steps does not depend on the
// machine.
int print_table(const Arguments& arguments) {
    std::printf("| seeded fault | what is wrong then | caught by | seed | steps |\n");
    std::printf("| --- | --- | --- | ---: | ---: |\n");
    int missed = 0;
    for (const SeededFaultRow& row : kSeededFaults) {
        if (!is_looked_for(row.name)) continue;
        choose_fault(std::string{row.name});
        RunOptions run = arguments.run;
        run.first = 1;
        run.last = kSeedsPerFault;
        run.skip_open = true;
        run.jobs = 1;
        run.twice_every = 0;
        const RunReport report = run_seeds(run);
        const bool caught = !report.failures.empty();
        if (!caught) ++missed;
        const std::uint64_t seed = caught ? report.failures.front().seed : run.last;
        std::printf("| `%s` | %s | %s | %llu | %llu |\n", std::string{row.name}.c_str(),
                    std::string{row.meaning}.c_str(),
                    caught ? report.failures.front().id.c_str() : "**not caught**",
                    static_cast<unsigned long long>(seed),
                    static_cast<unsigned long long>(report.probes.steps));
        std::fflush(stdout);
    }
    return missed == 0 ? 0 : 1;
}

int run(int count, char** words) {
    Arguments arguments;
    const std::string_view word = count == 2 ? words[1] : "";
    if (word == "--help" || word == "-h") {
        std::printf("%s", std::string{kUsage}.c_str());
        return 0;
    }
    if (!parse(count, words, arguments)) {
        std::fprintf(stderr, "%s", std::string{kUsage}.c_str());
        return 2;
    }
    if (!choose_fault(arguments.fault)) {
        std::fprintf(stderr, "simulate: this build has no seeded fault %s\n",
                     arguments.fault.c_str());
        return 2;
    }
    if (arguments.table) return print_table(arguments);
    if (arguments.trace) {
        trace_seed(arguments.run.first, arguments.run.actions, arguments.run.kind);
        return 0;
    }
    const RunReport report = run_seeds(arguments.run);
    DecisionList decisions;
    if (arguments.decisions_block > 0) {
        decisions = list_decisions(arguments.run, report, arguments.decisions_block);
        std::fputs(missing_text(decisions, arguments.run, report).c_str(), stderr);
    }
    if (arguments.json) {
        print_json(arguments, report, decisions);
    } else if (arguments.decisions_block > 0) {
        for (const DecisionBlock& block : decisions.blocks) {
            std::printf("%s %s\n", block.seeds.c_str(), block.hash.c_str());
        }
    } else {
        print_text(arguments, report);
    }
    return report.failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace gpuctl::bench

int main(int count, char** words) { return gpuctl::bench::run(count, words); }
