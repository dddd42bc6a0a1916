// gpuctl-replay: runs a journal again, offline, and says what came of it. Reading only: a running
// gpuctld's journal may be looked at, too.
//
//     gpuctl-replay [--events] [--verify] DIRECTORY
//
// Exit codes: 0 good, 1 the journal cannot be read or an invariant is broken, 2 wrong usage.

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/journal/journal.hpp"
#include "scheduler/state/invariants.hpp"

namespace gpuctl {
namespace {

constexpr std::string_view kUsage =
    "usage: gpuctl-replay [--events] [--verify] DIRECTORY\n"
    "  DIRECTORY  a cluster's journal folder (it holds journal-*.log)\n"
    "  --events   print a line for every input\n"
    "  --verify   check every invariant of the state after every input\n";

struct Options {
    std::string directory;
    bool events = false;
    bool verify = false;
};

bool parse_arguments(const std::vector<std::string>& arguments, Options& options) {
    for (const std::string& argument : arguments) {
        if (argument == "--events") {
            options.events = true;
        } else if (argument == "--verify") {
            options.verify = true;
        } else if (argument.starts_with("-") || !options.directory.empty()) {
            return false;
        } else {
            options.directory = argument;
        }
    }
    return !options.directory.empty();
}

template <typename... F>
struct Overload : F... {
    using F::operator()...;
};

std::string_view word_for(BindResult result) {
    constexpr std::string_view words[] = {"bound", "elsewhere", "gone", "refused", "failed"};
    const auto index = static_cast<std::size_t>(result);
    return index < std::size(words) ? words[index] : "unknown";
}

std::string describe(const Event& event) {
    return std::visit(
        Overload{
            [](const NodeObserved& e) {
                return "node " + e.node.name + (e.node.ready ? "" : " not ready") +
                       (e.node.unschedulable ? " cordoned" : "");
            },
            [](const NodeRemoved& e) { return "node " + e.name + " removed"; },
            [](const PodObserved& e) {
                return "pod " + to_string(e.pod.key) + " " + e.pod.status +
                       (e.pod.node.empty() ? "" : " on " + e.pod.node);
            },
            [](const PodRemoved& e) { return "pod with uid " + e.uid + " removed"; },
            [](const GangObserved& e) {
                return "gang " + to_string(e.key) + " of " + std::to_string(e.ranks_min);
            },
            [](const GangRemoved& e) { return "gang " + to_string(e.key) + " removed"; },
            [](const CacheSynced&) { return std::string{"cluster read completely"}; },
            [](const JobSubmitted& e) {
                return "job " + to_string(e.job.spec.key) + " submitted, uid " + e.job.uid;
            },
            [](const JobDeleteRequested& e) {
                return "job " + to_string(e.key) + " to be deleted" + (e.force ? " by force" : "");
            },
            [](const PolicyChanged& e) {
                return "policy of " + std::to_string(e.policy.pools.size()) + " pools";
            },
            [](const BindOutcome& e) {
                return "bind of pod with uid " + e.uid + ": " + std::string{word_for(e.result)} +
                       (e.message.empty() ? "" : " (" + e.message + ")");
            },
            [](const PodDeleteOutcome& e) {
                return "deletion of pod with uid " + e.uid + (e.deleted ? ": done" : ": failed");
            },
            [](const WorkloadOutcome& e) {
                return "workload " + to_string(e.key) + (e.done ? ": done" : ": " + e.message);
            },
            [](const LeadershipChanged& e) {
                return std::string{e.leading ? "leading, epoch " : "not leading, epoch "} +
                       std::to_string(static_cast<std::uint64_t>(e.epoch));
            },
            [](const WokeUp&) { return std::string{"woke up"}; },
            [](const Plan&) { return std::string{"plan"}; },
            [](const WorkloadObserved& e) {
                return "workload " + to_string(e.workload.key) + " observed";
            },
            [](const WorkloadRemoved& e) { return "workload " + to_string(e.key) + " removed"; },
            [](const JobAdopted& e) { return "adopted " + to_string(e.job.spec.key); }},
        event);
}

int run(const Options& options) {
    std::uint64_t violations = 0;
    const auto observe = [&](const Engine& engine, const Input& input, const EffectList& effects) {
        const auto sequence = static_cast<unsigned long long>(input.sequence);
        if (options.events) {
            std::printf("%llu %lld %s -> %zu effects\n", sequence,
                        static_cast<long long>(input.now.ms()), describe(input.event).c_str(),
                        effects.size());
        }
        if (!options.verify) return;
        for (const Violation& violation : verify(engine.state())) {
            ++violations;
            std::fprintf(stderr, "after input %llu (%s): %s %s\n", sequence,
                         describe(input.event).c_str(), violation.id.c_str(),
                         violation.what.c_str());
        }
    };
    const auto report = journal::replay(options.directory, observe);
    if (!report) {
        std::fprintf(stderr, "gpuctl-replay: %s\n", report.error().message.c_str());
        return 1;
    }
    std::printf("cluster        %s (%s)\n", report->cluster_id.c_str(), report->mode.c_str());
    std::printf("inputs         %llu\n", static_cast<unsigned long long>(report->inputs));
    std::printf("effects        %llu\n", static_cast<unsigned long long>(report->effects));
    std::printf("last sequence  %llu\n", static_cast<unsigned long long>(report->last_sequence));
    if (report->bytes_torn > 0) {
        std::printf("torn tail      %llu bytes\n",
                    static_cast<unsigned long long>(report->bytes_torn));
    }
    if (options.verify) {
        std::printf("violations     %llu\n", static_cast<unsigned long long>(violations));
    }
    std::printf("state hash     %016llx\n", static_cast<unsigned long long>(report->state_hash));
    return violations == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gpuctl

int main(int count, char** values) {
    gpuctl::Options options;
    const std::vector<std::string> arguments(values + 1, values + count);
    if (!gpuctl::parse_arguments(arguments, options)) {
        std::fputs(gpuctl::kUsage.data(), stderr);
        return 2;
    }
    return gpuctl::run(options);
}
