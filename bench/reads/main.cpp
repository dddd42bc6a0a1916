// Cost of reads from a gpuctld with many jobs, by tools/bench-reads: requests per second with the
// client on the same machine, CPU time of the event loop per request, and the length of loop turns
// under a mixed load.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/reads/daemon.hpp"
#include "bench/reads/follow.hpp"
#include "bench/reads/http_load.hpp"
#include "bench/reads/verbs.hpp"
#include "bench/reads/world.hpp"
#include "scheduler/base/rng.hpp"
#include "sim/replay/percentile.hpp"

namespace gpuctl::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
    std::string program;
    std::string directory;
    int jobs = 1'000;
    int port = 18'431;
    double seconds = 2;
    double mixed_seconds = 30;
    int followers = 500;
    std::size_t connections = 8;
    std::vector<std::string> only;
    bool keep = false;
};

struct Read {
    std::string name;
    std::function<std::string(Rng&)> target;
};

std::vector<Read> reads(int jobs) {
    const std::string page = "/api/v1/jobs?pageSize=20";
    const auto fixed = [](std::string target) {
        return [target = std::move(target)](Rng&) { return target; };
    };
    const auto any_job = [jobs](Rng& rng) {
        const int number = static_cast<int>(rng.below(static_cast<std::uint64_t>(jobs)));
        return "/api/v1/jobs/" + job_name(number) + "?namespace=" + job_namespace(number);
    };
    const auto any_page = [jobs, page](Rng& rng) {
        const auto pages = static_cast<std::uint64_t>(jobs) / 20;
        return page + "&page=" + std::to_string(1 + rng.below(pages));
    };
    return {{"livez", fixed("/livez")},
            {"page, the first", fixed(page)},
            {"page, any", any_page},
            {"page of jobs, the first", fixed(page + "&view=job")},
            {"page of a namespace", fixed(page + "&namespace=team-7")},
            {"page of a status", fixed(page + "&status=running")},
            {"page by kind, pool and status",
             fixed(page + "&kind=training&pool=training&status=pending&namespace=team-3")},
            {"job", any_job},
            {"metrics", fixed("/metrics")},
            {"pools", fixed("/api/v1/pools")},
            {"queues", fixed("/api/v1/queues")},
            {"nodes, a page", fixed("/api/v1/nodes?pageSize=20")}};
}

Json measure(const DaemonProcess& daemon, const Options& options, const Read& read) {
    Rng rng{7};
    const std::vector<Stream> streams{
        {[&] { return get_request(read.target(rng)); }, 0, options.connections}};
    const std::chrono::duration<double> warm{options.seconds / 8};
    run_load(daemon.port(), streams, warm);
    const double before = daemon.loop_cpu_us();
    const LoadResult result =
        run_load(daemon.port(), streams, std::chrono::duration<double>{options.seconds}).front();
    const double answers = std::max<double>(1, static_cast<double>(result.answers));
    return {{"jobs", options.jobs},
            {"read", read.name},
            {"per_second", result.rate()},
            {"loop_us", (daemon.loop_cpu_us() - before) / answers},
            {"bytes", static_cast<double>(result.bytes) / answers},
            {"p50_ms", replay::percentile(result.latencies_ms, 50)},
            {"p99_ms", replay::percentile(result.latencies_ms, 99)},
            {"refused", result.refused}};
}

// Turns of the loop by kind of work: cumulative counts by upper bound in seconds.
using Turns = std::map<std::string, std::map<double, double>>;

Turns turns_of(std::uint16_t port) {
    Turns turns;
    int status = 0;
    std::istringstream text{fetch(port, "/metrics", status)};
    constexpr std::string_view name = "gpuctld_loop_turn_duration_seconds_bucket{work=\"";
    for (std::string line; std::getline(text, line);) {
        if (!line.starts_with(name)) continue;
        const std::string work =
            line.substr(name.size(), line.find('"', name.size()) - name.size());
        const std::size_t bound = line.find("le=\"") + 4;
        const double upper = line.compare(bound, 4, "+Inf") == 0
                                 ? std::numeric_limits<double>::infinity()
                                 : std::atof(line.c_str() + bound);
        turns[work][upper] = std::atof(line.c_str() + line.rfind(' '));
    }
    return turns;
}

// The number of turns that were longer than a limit in seconds.
Json longer_than(const std::map<double, double>& after, const std::map<double, double>& before) {
    Json out;
    const auto count = [&](double bound) {
        const auto at = [bound](const std::map<double, double>& of) {
            const auto found = of.find(bound);
            return found == of.end() ? 0 : found->second;
        };
        return at(after) - at(before);
    };
    const double all = count(std::numeric_limits<double>::infinity());
    out["turns"] = all;
    for (const auto& [bound, unused] : after) {
        if (bound > 1) continue;
        char text[32];
        std::snprintf(text, sizeof text, "%g", bound * 1'000);
        out["longer_than_ms"][text] = all - count(bound);
    }
    return out;
}

Json mixed(const DaemonProcess& daemon, const Options& options) {
    Rng rng{11};
    const std::vector<Read> all = reads(options.jobs);
    const auto get = [&](std::string_view name) -> NextRequest {
        for (const Read& read : all) {
            if (read.name == name) return [&rng, &read] { return get_request(read.target(rng)); };
        }
        return {};
    };
    int submitted = 0;
    const NextRequest submit = [&] {
        const int number = submitted++;
        const std::string name = "more-" + std::to_string(number);
        return post_request("/api/v1/jobs", job_yaml(name, 4 + 10 * number));
    };
    const NextRequest explain = [&] {
        const int number =
            4 + 10 * static_cast<int>(rng.below(static_cast<std::uint64_t>(options.jobs / 10)));
        return get_request("/api/v1/jobs/" + job_name(number) +
                           "/explain?namespace=" + job_namespace(number));
    };
    Followers followers;
    follow_running_jobs(daemon.port(), options.jobs, options.followers, followers);
    const std::vector<std::string> names{"page, any", "page of a status", "job",    "metrics",
                                         "pools",     "submits",          "explain"};
    const std::vector<Stream> streams{{get("page, any"), 300, 16},
                                      {get("page of a status"), 100, 8},
                                      {get("job"), 100, 8},
                                      {get("metrics"), 1, 1},
                                      {get("pools"), 5, 1},
                                      {submit, 20, 16},
                                      {explain, 2, 4}};
    const Turns before = turns_of(daemon.port());
    const std::vector<LoadResult> results = run_load(
        daemon.port(), streams, std::chrono::duration<double>{options.mixed_seconds}, followers);
    const Turns after = turns_of(daemon.port());
    Json out{{"jobs", options.jobs}, {"mixed_seconds", options.mixed_seconds}};
    out["followers"] = followers.sockets().size();
    for (std::size_t i = 0; i < results.size(); ++i) {
        out["load"][names[i]] = {{"per_second", results[i].rate()},
                                 {"refused", results[i].refused},
                                 {"p50_ms", replay::percentile(results[i].latencies_ms, 50)},
                                 {"p99_ms", replay::percentile(results[i].latencies_ms, 99)},
                                 {"max_ms", replay::percentile(results[i].latencies_ms, 100)}};
    }
    for (const auto& [work, counts] : after) {
        const auto known = before.find(work);
        out["turns"][work] =
            longer_than(counts, known == before.end() ? std::map<double, double>{} : known->second);
    }
    return out;
}

bool is_wanted(const Options& options, const std::string& name) {
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), name) != options.only.end();
}

std::unique_ptr<DaemonProcess> start(const Options& options) {
    namespace fs = std::filesystem;
    const std::string folder = options.directory + "/" + std::to_string(options.jobs);
    const bool is_there = options.keep && fs::exists(folder + "/embedded");
    if (!is_there) {
        fs::remove_all(folder);
        fs::create_directories(folder);
        if (Result<void> written = write_journal(folder, options.jobs); !written) {
            std::fprintf(stderr, "%s\n", written.error().message.c_str());
            return nullptr;
        }
    }
    std::ofstream{folder + "/gpuctld.yaml"} << config_text(folder, options.jobs, options.port);
    return std::make_unique<DaemonProcess>(options.program, folder,
                                           static_cast<std::uint16_t>(options.port),
                                           std::chrono::seconds{1'200});
}

// Compares the cost of a page in a large and a small cluster. Both run at the same time and are
// read in turns, so that other load of the machine slows down both.
int compare(Options few, int jobs_most, int slices) {
    Options most = few;
    most.jobs = jobs_most;
    most.port = few.port + 1;
    const std::unique_ptr<DaemonProcess> small = start(few);
    const std::unique_ptr<DaemonProcess> large = start(most);
    if (!small || !large) return 1;
    const std::vector<Read> of_small = reads(few.jobs);
    const std::vector<Read> of_large = reads(most.jobs);
    for (std::size_t i = 0; i < of_small.size(); ++i) {
        if (!of_small[i].name.starts_with("page")) continue;
        std::vector<double> before;
        std::vector<double> after;
        std::vector<double> ratios;
        for (int slice = 0; slice < slices; ++slice) {
            before.push_back(measure(*small, few, of_small[i]).at("loop_us"));
            after.push_back(measure(*large, most, of_large[i]).at("loop_us"));
            ratios.push_back(after.back() / before.back());
        }
        const Json out{{"growth", of_small[i].name},
                       {"few_us", replay::percentile(before, 50)},
                       {"most_us", replay::percentile(after, 50)},
                       {"ratio", replay::percentile(ratios, 50)}};
        std::printf("%s\n", out.dump().c_str());
        std::fflush(stdout);
    }
    return 0;
}

int run(const Options& options) {
    const std::unique_ptr<DaemonProcess> started = start(options);
    if (!started) return 1;
    const DaemonProcess& daemon = *started;
    const Json begin{{"jobs", options.jobs}, {"started_in_s", daemon.started_in_s()}};
    std::printf("%s\n", begin.dump().c_str());
    for (const Read& read : reads(options.jobs)) {
        if (!is_wanted(options, read.name)) continue;
        std::printf("%s\n", measure(daemon, options, read).dump().c_str());
        std::fflush(stdout);
    }
    if (options.mixed_seconds > 0) std::printf("%s\n", mixed(daemon, options).dump().c_str());
    const Json memory{{"jobs", options.jobs}, {"peak_mib", daemon.peak_mib()}};
    std::printf("%s\n", memory.dump().c_str());
    return 0;
}

}  // namespace
}  // namespace gpuctl::bench

int main(int argc, char** argv) {
    gpuctl::bench::Options options;
    CLI::App flags{"what reads of a gpuctld with many jobs cost", "gpuctl-reads-bench"};
    flags.require_subcommand(1);
    CLI::App* measure = flags.add_subcommand("measure", "start a gpuctld and read from it");
    measure->add_option("--gpuctld", options.program, "the program")->required();
    measure->add_option("--directory", options.directory, "for journals")->required();
    measure->add_option("--jobs", options.jobs);
    measure->add_option("--port", options.port);
    measure->add_option("--seconds", options.seconds, "of each read");
    measure->add_option("--mixed-seconds", options.mixed_seconds, "of the mixed load; 0: none");
    measure->add_option("--followers", options.followers, "of logs, in the mixed load");
    measure->add_option("--connections", options.connections);
    measure->add_option("--only", options.only, "names of reads");
    measure->add_flag("--keep", options.keep, "use the journal that is there");
    gpuctl::bench::Options few;
    few.keep = true;
    int jobs_most = 100'000;
    int slices = 15;
    CLI::App* growth = flags.add_subcommand("growth", "pages of a large against a small cluster");
    growth->add_option("--gpuctld", few.program, "the program")->required();
    growth->add_option("--directory", few.directory, "for journals")->required();
    growth->add_option("--jobs", few.jobs, "of the small one");
    growth->add_option("--jobs-most", jobs_most, "of the large one");
    growth->add_option("--port", few.port, "the large one's is the next");
    growth->add_option("--seconds", few.seconds, "of each slice");
    growth->add_option("--slices", slices, "of each page and cluster");
    growth->add_option("--connections", few.connections);
    gpuctl::bench::LoadOptions reading;
    CLI::App* load = flags.add_subcommand("load", "read at a rate until SIGTERM");
    load->add_option("--port", reading.port)->required();
    load->add_option("--target", reading.target)->required();
    load->add_option("--pages", reading.pages, "one of this many pages, at random");
    load->add_option("--rate", reading.per_second, "requests a second");
    load->add_option("--connections", reading.connections);
    std::uint16_t port = 0;
    std::size_t bytes = 0;
    CLI::App* serve = flags.add_subcommand("serve", "answer every request with this many bytes");
    serve->add_option("--port", port)->required();
    serve->add_option("--bytes", bytes)->required();
    CLI11_PARSE(flags, argc, argv);
    if (*growth) return gpuctl::bench::compare(few, jobs_most, slices);
    if (*load) return gpuctl::bench::load_until_stopped(reading);
    if (*serve) return gpuctl::bench::serve_fixed_answers(port, bytes);
    return gpuctl::bench::run(options);
}
