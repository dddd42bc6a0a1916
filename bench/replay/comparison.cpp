#include "bench/replay/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/replay/files.hpp"
#include "bench/replay/published.hpp"

namespace gpuctl::replay {
namespace {

InputPaths paths_of(const PublishedRun& run, const std::string& data) {
    InputPaths paths;
    paths.jobs = data + "/" + run.jobs;
    if (run.suite == Suite::openb) paths.nodes = data + "/openb/openb_node_list_gpu_node.csv";
    if (run.suite == Suite::vc) paths.quotas = data + "/philly_vc/quotas.csv";
    if (run.suite == Suite::elastic) paths.epochs = data + "/elastic64/app_epochs.csv";
    return paths;
}

std::string rule_of(const PublishedRun& run) {
    if (run.overhead == Overhead::muri) return "clairvoyant, muri";
    return run.clairvoyant ? "clairvoyant" : "";
}

std::string number(double value) {
    std::array<char, 64> text{};
    const char* format = std::abs(value) < 10 ? "%.4f" : std::abs(value) < 1000 ? "%.2f" : "%.1f";
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

std::string number(const std::optional<double>& value) { return value ? number(*value) : ""; }

std::string verdict(const Comparison& row) {
    if (row.wanted) return row.is_reached() ? "reached" : "short of it";
    if (row.tolerance == 0) return "";
    return row.is_missed() ? "MISSED" : "met";
}

nlohmann::ordered_json json_of(const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json{};
}

}  // namespace

bool Comparison::is_missed() const {
    if (tolerance == 0) return false;
    // A value that is not a number counts as missed.
    return !published || !(std::abs(ours - *published) <= tolerance);
}

bool Comparison::is_reached() const {
    if (!wanted) return false;
    return metric == "allocation_ratio" ? ours >= *wanted : ours <= *wanted;
}

namespace {

Result<Figures> figures_of(const PublishedRun& run, const std::string& data) {
    const auto input = read_input(paths_of(run, data));
    if (!input) return input.error();
    SuiteRequest request;
    request.suite = run.suite;
    request.policy = run.policy;
    request.clairvoyant = run.clairvoyant;
    request.overhead = run.overhead;
    const auto figures = run_suite(request, *input);
    if (!figures) return while_doing("replay " + run.jobs + " by " + run.policy, figures.error());
    return figures;
}

}  // namespace

Comparisons compare_all(const std::string& data) {
    Comparisons all;
    for (const PublishedRun& run : published_runs()) {
        const auto figures = figures_of(run, data);
        if (!figures) {
            const std::string& why = figures.error().message;  // the same reason for each policy
            if (std::find(all.failed.begin(), all.failed.end(), why) == all.failed.end()) {
                all.failed.push_back(why);
            }
            continue;
        }
        for (const PublishedFigure& published : run.figures) {
            all.rows.push_back({std::string{name_of(run.suite)}, run.jobs, run.policy, rule_of(run),
                                published.metric, published.value,
                                figures->number(published.metric), published.tolerance,
                                published.wanted});
        }
    }
    return all;
}

std::string as_table(const std::vector<Comparison>& rows) {
    std::string text =
        "| suite | jobs | policy | rule | metric | published | ours | off | within | wanted | |\n"
        "| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n";
    for (const Comparison& row : rows) {
        const bool is_published = row.published.value_or(0) != 0;
        const std::string off =
            is_published ? number((row.ours / *row.published - 1) * 100) + " %" : "";
        text += "| " + row.suite + " | " + row.jobs + " | " + row.policy + " | " + row.rule +
                " | " + row.metric + " | " + number(row.published) + " | " + number(row.ours) +
                " | " + off + " | " + (row.tolerance == 0 ? "" : number(row.tolerance)) + " | " +
                number(row.wanted) + " | " + verdict(row) + " |\n";
    }
    return text;
}

std::string as_json(const std::vector<Comparison>& rows) {
    auto list = nlohmann::ordered_json::array();
    for (const Comparison& row : rows) {
        list.push_back({{"suite", row.suite},
                        {"jobs", row.jobs},
                        {"policy", row.policy},
                        {"rule", row.rule},
                        {"metric", row.metric},
                        {"published", json_of(row.published)},
                        {"ours", row.ours},
                        {"tolerance", row.tolerance},
                        {"missed", row.is_missed()},
                        {"wanted", json_of(row.wanted)},
                        {"reached", row.wanted ? nlohmann::ordered_json(row.is_reached())
                                               : nlohmann::ordered_json{}}});
    }
    return nlohmann::ordered_json{{"rows", list}}.dump() + "\n";
}

}  // namespace gpuctl::replay
