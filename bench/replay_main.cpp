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

#include "bench/print/describe.hpp"
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

int run(const Options& options) {
    std::uint64_t violations = 0;
    const auto observe = [&](const Engine& engine, const Input& input, const EffectList& effects) {
        const auto sequence = static_cast<unsigned long long>(input.sequence);
        if (options.events) {
            std::printf("%llu %lld %s -> %zu effects\n", sequence,
                        static_cast<long long>(input.now.ms()),
                        bench::describe(input.event).c_str(), effects.size());
        }
        if (!options.verify) return;
        for (const Violation& violation : verify(engine.state())) {
            ++violations;
            std::fprintf(stderr, "after input %llu (%s): %s %s\n", sequence,
                         bench::describe(input.event).c_str(), violation.id.c_str(),
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
