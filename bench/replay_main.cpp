// gpuctl-replay: replays a journal offline and prints the result. It only reads, so the journal of
// a running gpuctld may be replayed, too.
//
//     gpuctl-replay [--events] [--verify] [--json] DIRECTORY
//
// Exit codes: 0 success, 1 the journal cannot be read or an invariant is violated, 2 wrong usage, 3
// there is no journal. With --json standard output holds one document, also for errors.

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/print/describe.hpp"
#include "daemon/journal/journal.hpp"
#include "scheduler/state/invariants/invariants.hpp"
#include "text/hex.hpp"
#include "wire/problem.hpp"

namespace gpuctl {
namespace {

constexpr std::string_view kUsage =
    "usage: gpuctl-replay [--events] [--verify] [--json] DIRECTORY\n"
    "  DIRECTORY  a cluster's journal folder (it holds journal-*.log)\n"
    "  --events   print a line for every input\n"
    "  --verify   check every invariant of the state after every input\n"
    "  --json     print one JSON document\n";

struct Options {
    std::string directory;
    bool events = false;
    bool verify = false;
    bool json = false;
};

bool parse_arguments(const std::vector<std::string>& arguments, Options& options) {
    for (const std::string& argument : arguments) {
        if (argument == "--events") {
            options.events = true;
        } else if (argument == "--verify") {
            options.verify = true;
        } else if (argument == "--json") {
            options.json = true;
        } else if (argument.starts_with("-") || !options.directory.empty()) {
            std::fprintf(stderr, "gpuctl-replay: unexpected argument %s\n", argument.c_str());
            return false;
        } else {
            options.directory = argument;
        }
    }
    return !options.directory.empty();
}

// Events and violations: printed at once as text, or collected for the JSON document.
class ReplayPrinter {
public:
    explicit ReplayPrinter(const Options& options) : options_(options) {}

    void add(const Engine& engine, const Input& input, const EffectList& effects) {
        if (options_.events) report_event(input, effects);
        if (!options_.verify) return;
        for (const Violation& violation : verify(engine.state()))
            report_violation(violation, input);
    }
    [[nodiscard]] std::size_t violations() const { return violations_; }

    [[nodiscard]] nlohmann::json document(const journal::ReplayReport& report) const {
        nlohmann::json document{{"cluster", report.cluster_id},
                                {"mode", report.mode},
                                {"inputs", report.inputs},
                                {"effects", report.effects},
                                {"last_sequence", static_cast<std::uint64_t>(report.last_sequence)},
                                {"bytes_torn", report.bytes_torn},
                                {"state_hash", text::hex16(report.state_hash)}};
        if (options_.events) document["events"] = printed_events_;
        if (options_.verify) document["violations"] = violations_found_;
        return document;
    }
    void print(const journal::ReplayReport& report) const {
        std::printf("cluster        %s (%s)\n", report.cluster_id.c_str(), report.mode.c_str());
        std::printf("inputs         %llu\n", static_cast<unsigned long long>(report.inputs));
        std::printf("effects        %llu\n", static_cast<unsigned long long>(report.effects));
        std::printf("last sequence  %llu\n", static_cast<unsigned long long>(report.last_sequence));
        if (report.bytes_torn > 0) {
            std::printf("torn tail      %llu bytes\n",
                        static_cast<unsigned long long>(report.bytes_torn));
        }
        if (options_.verify) std::printf("violations     %zu\n", violations_);
        std::printf("state hash     %s\n", text::hex16(report.state_hash).c_str());
    }

private:
    void report_event(const Input& input, const EffectList& effects) {
        const auto sequence = static_cast<std::uint64_t>(input.sequence);
        const std::string event = bench::describe(input.event);
        if (options_.json) {
            printed_events_.push_back({{"sequence", sequence},
                                       {"time_ms", input.now.ms()},
                                       {"event", event},
                                       {"effects", effects.size()}});
            return;
        }
        std::printf("%llu %lld %s -> %zu effects\n", static_cast<unsigned long long>(sequence),
                    static_cast<long long>(input.now.ms()), event.c_str(), effects.size());
    }
    void report_violation(const Violation& violation, const Input& input) {
        ++violations_;
        const auto sequence = static_cast<std::uint64_t>(input.sequence);
        const std::string event = bench::describe(input.event);
        if (options_.json) {
            violations_found_.push_back({{"sequence", sequence},
                                         {"event", event},
                                         {"invariant", violation.id},
                                         {"what", violation.what}});
            return;
        }
        std::fprintf(stderr, "after input %llu (%s): %s %s\n",
                     static_cast<unsigned long long>(sequence), event.c_str(), violation.id.c_str(),
                     violation.what.c_str());
    }

    const Options& options_;
    std::size_t violations_ = 0;
    nlohmann::json printed_events_ = nlohmann::json::array();
    nlohmann::json violations_found_ = nlohmann::json::array();
};

void print_document(const nlohmann::json& document) {
    const std::string text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    std::printf("%s\n", text.c_str());
}

int refuse(const Error& error, const Options& options) {
    if (options.json) {
        print_document({{"code", to_string(error.code)},
                        {"error", to_string(error.code)},
                        {"message", error.message}});
    } else {
        std::fprintf(stderr, "gpuctl-replay: %s\n", error.message.c_str());
    }
    return wire::row_of(error.code).exit_code;
}

int run(const Options& options) {
    ReplayPrinter printer{options};
    const auto report = journal::replay(
        options.directory, [&](const Engine& engine, const Input& input,
                               const EffectList& effects) { printer.add(engine, input, effects); });
    if (!report) return refuse(report.error(), options);
    if (options.json) {
        print_document(printer.document(*report));
    } else {
        printer.print(*report);
    }
    return printer.violations() == 0 ? 0 : 1;
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
