// Length of event loop turns of gpuctld under a mixed load, by tools/bench-turns: pages, details,
// submits, deletions, what-if questions, log followers, policy reloads, journal segments and
// snapshots. The client runs on the same machine.

#include <CLI/CLI.hpp>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/reads/daemon.hpp"
#include "bench/reads/follow.hpp"
#include "bench/reads/http_load.hpp"
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
    int port = 18'432;
    double seconds = 60;
    int followers = 500;
    int snapshot_every = 20'000;
    double reload_every = 15;
    double rate = 1;  // factor of the streams' rates
    bool keep = false;
};

// --- metrics of the daemon ---

struct Turns {
    double count = 0;
    double sum_ms = 0;
    std::map<double, double> up_to;  // by upper bound in milliseconds, cumulative
};
struct Figures {
    std::map<std::string, Turns> turns;  // by kind of work
    std::map<std::string, double> others;
};

double number_behind(const std::string& line) { return std::atof(line.c_str() + line.rfind(' ')); }

Figures read_figures(std::uint16_t port) {
    Figures figures;
    int status = 0;
    std::istringstream text{fetch(port, "/metrics", status)};
    const std::string turn = "gpuctld_loop_turn_duration_seconds_";
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with('#')) continue;
        if (!line.starts_with(turn)) {
            figures.others[line.substr(0, line.rfind(' '))] = number_behind(line);
            continue;
        }
        const std::size_t begin = line.find("work=\"") + 6;
        Turns& of = figures.turns[line.substr(begin, line.find('"', begin) - begin)];
        const std::string_view kind = std::string_view{line}.substr(turn.size());
        if (kind.starts_with("count")) of.count = number_behind(line);
        if (kind.starts_with("sum")) of.sum_ms = number_behind(line) * 1'000;
        if (!kind.starts_with("bucket")) continue;
        const std::size_t bound = line.find("le=\"") + 4;
        const bool is_last = line.compare(bound, 4, "+Inf") == 0;
        of.up_to[is_last ? std::numeric_limits<double>::infinity()
                         : std::atof(line.c_str() + bound) * 1'000] = number_behind(line);
    }
    return figures;
}

Turns since(const Turns& before, Turns after) {
    after.count -= before.count;
    after.sum_ms -= before.sum_ms;
    for (auto& [bound, count] : after.up_to) {
        const auto found = before.up_to.find(bound);
        if (found != before.up_to.end()) count -= found->second;
    }
    return after;
}

void add(Turns& to, const Turns& from) {
    to.count += from.count;
    to.sum_ms += from.sum_ms;
    for (const auto& [bound, count] : from.up_to) to.up_to[bound] += count;
}

// The upper bound below which this part of the turns stayed.
double bound_of(const Turns& turns, double part) {
    for (const auto& [bound, count] : turns.up_to) {
        if (count >= part * turns.count) return bound;
    }
    return std::numeric_limits<double>::infinity();
}

Json describe(const Turns& turns) {
    Json out{{"turns", turns.count},
             {"mean_ms", turns.count > 0 ? turns.sum_ms / turns.count : 0.0},
             {"p99.9_at_most_ms", bound_of(turns, 0.999)},
             {"all_at_most_ms", bound_of(turns, 1)}};
    for (const double bound : {5.0, 10.0, 25.0, 100.0}) {
        const auto found = turns.up_to.find(bound);
        if (found == turns.up_to.end()) continue;
        char name[32];
        std::snprintf(name, sizeof name, "longer_than_%g_ms", bound);
        out[name] = turns.count - found->second;
    }
    return out;
}

// --- the load ---

std::string config_of(const Options& options, const std::string& folder, int weight) {
    std::string text = config_text(folder, options.jobs, options.port);
    text += "expert: {journal: {segmentBytesMax: 4Mi, snapshotEveryInputs: " +
            std::to_string(options.snapshot_every) + "}}\n";
    const std::string known = "{name: research, weight: 2}";
    text.replace(text.find(known), known.size(),
                 "{name: research, weight: " + std::to_string(weight) + "}");
    return text;
}

struct Load {
    explicit Load(const Options& of) : options(of) {
        for (int number = 0; number < options.jobs; ++number) {
            if (!job_runs(number)) waiting.push_back(number);
        }
    }
    std::string of_job(int number, const std::string& what = "") {
        return "/api/v1/jobs/" + job_name(number) + what + "?namespace=" + job_namespace(number);
    }
    int any_job() { return static_cast<int>(rng.below(static_cast<std::uint64_t>(options.jobs))); }
    // The number of a waiting or finished job.
    int any_other() { return waiting[rng.below(waiting.size())]; }

    std::vector<std::pair<std::string, Stream>> streams() {
        const std::string page = "/api/v1/jobs?pageSize=20";
        const auto fixed = [](const std::string& target) -> NextRequest {
            return [target] { return get_request(target); };
        };
        const auto pages = static_cast<std::uint64_t>(std::max(options.jobs / 20, 1));
        const NextRequest any_page = [this, page, pages] {
            return get_request(page + "&page=" + std::to_string(1 + rng.below(pages)));
        };
        const NextRequest detail = [this] { return get_request(of_job(any_job())); };
        const NextRequest submit = [this] {
            const int number = submitted++;
            return post_request("/api/v1/jobs",
                                job_yaml("more-" + std::to_string(number), 4 + 10 * number));
        };
        const NextRequest remove = [this] {
            const int number = removed++;  // the oldest job that was submitted here
            return delete_request("/api/v1/jobs/more-" + std::to_string(number) +
                                  "?namespace=" + job_namespace(4 + 10 * number));
        };
        const NextRequest explain = [this] { return get_request(of_job(any_other(), "/explain")); };
        const NextRequest what_if = [this] {
            return post_request("/api/v1/what-if", job_yaml("asked-" + std::to_string(asked++), 4));
        };
        const double rate = options.rate;
        return {{"livez", {fixed("/livez"), 50 * rate, 1}},
                {"any page", {any_page, 300 * rate, 16}},
                {"page of a status", {fixed(page + "&status=running"), 100 * rate, 8}},
                {"job", {detail, 100 * rate, 8}},
                {"metrics", {fixed("/metrics"), 1, 1}},
                {"pools", {fixed("/api/v1/pools"), 5 * rate, 1}},
                {"queues", {fixed("/api/v1/queues"), 5 * rate, 1}},
                {"page of nodes", {fixed("/api/v1/nodes?pageSize=20"), 5 * rate, 1}},
                {"submit", {submit, 20 * rate, 16}},
                {"delete", {remove, 10 * rate, 8}},
                {"explain", {explain, 2 * rate, 4}},
                {"what-if", {what_if, 0.1 * rate, 1}}};
    }

    static std::string delete_request(const std::string& target) {
        return "DELETE " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    }

    const Options& options;
    Rng rng{11};
    std::vector<int> waiting;
    int submitted = 0;
    int removed = 0;
    int asked = 0;
};

Json run_mixed(const DaemonProcess& daemon, const Options& options, const std::string& folder) {
    Followers followers;
    follow_running_jobs(daemon.port(), options.jobs, options.followers, followers);
    Load load{options};
    std::vector<Stream> streams;
    std::vector<std::string> names;
    for (auto& [name, stream] : load.streams()) {
        names.push_back(name);
        streams.push_back(std::move(stream));
    }
    std::jthread reloads{[&](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock{mutex};
        const std::chrono::duration<double> pause{options.reload_every};
        for (int weight = 3; options.reload_every > 0;) {
            stopped.wait_for(lock, stop, pause, [] { return false; });
            if (stop.stop_requested()) return;  // no request after the end of the load
            std::ofstream{folder + "/gpuctld.yaml"} << config_of(options, folder, weight);
            daemon.send(SIGHUP);
            weight = 5 - weight;
        }
    }};
    const Figures before = read_figures(daemon.port());
    const double cpu_before = daemon.loop_cpu_us();
    const std::vector<LoadResult> results =
        run_load(daemon.port(), streams, std::chrono::duration<double>{options.seconds}, followers);
    reloads.request_stop();
    const double cpu = daemon.loop_cpu_us() - cpu_before;
    const Figures after = read_figures(daemon.port());

    Json out{{"jobs", options.jobs}, {"seconds", options.seconds}};
    out["followers"] = followers.sockets().size();
    out["loop_cpu_part"] = cpu / (options.seconds * 1e6);
    for (std::size_t i = 0; i < results.size(); ++i) {
        out["load"][names[i]] = {{"per_second", results[i].rate()},
                                 {"refused", results[i].refused},
                                 {"p50_ms", replay::percentile(results[i].latencies_ms, 50)},
                                 {"p99_ms", replay::percentile(results[i].latencies_ms, 99)},
                                 {"max_ms", replay::percentile(results[i].latencies_ms, 100)}};
    }
    Turns planning;
    Turns all_others;
    for (const auto& [work, turns] : after.turns) {
        const auto known = before.turns.find(work);
        const Turns now = since(known == before.turns.end() ? Turns{} : known->second, turns);
        if (now.count <= 0) continue;
        out["turns"][work] = describe(now);
        add(work == "plan" ? planning : all_others, now);
    }
    out["planning"] = describe(planning);
    out["others"] = describe(all_others);
    for (const char* name :
         {"gpuctld_journal_snapshots_total{result=\"ok\"}", "gpuctld_loop_state_exports_total",
          "gpuctld_replica_behind_total", "gpuctld_config_reloads_total{result=\"ok\"}"}) {
        const auto then = before.others.find(name);
        const auto now = after.others.find(name);
        out["figures"][name] = (now == after.others.end() ? 0 : now->second) -
                               (then == before.others.end() ? 0 : then->second);
    }
    return out;
}

int run(const Options& options) {
    namespace fs = std::filesystem;
    const std::string folder = options.directory + "/" + std::to_string(options.jobs);
    const std::string made = folder + ".journal";
    if (!options.keep || !fs::exists(made)) {
        fs::remove_all(made);
        fs::create_directories(made);
        if (Result<void> written = write_journal(made, options.jobs); !written) {
            std::fprintf(stderr, "%s\n", written.error().message.c_str());
            return 1;
        }
    }
    fs::remove_all(folder);  // each run begins with the same jobs
    fs::copy(made, folder, fs::copy_options::recursive);
    std::ofstream{folder + "/gpuctld.yaml"} << config_of(options, folder, 2);
    const DaemonProcess daemon{options.program, folder, static_cast<std::uint16_t>(options.port),
                               std::chrono::seconds{1'200}};
    Json out = run_mixed(daemon, options, folder);
    out["peak_mib"] = daemon.peak_mib();
    std::printf("%s\n", out.dump(1).c_str());
    return 0;
}

}  // namespace
}  // namespace gpuctl::bench

int main(int argc, char** argv) {
    gpuctl::bench::Options options;
    CLI::App flags{"how long turns of the loop are under a mixed load", "gpuctl-turns-bench"};
    flags.add_option("--gpuctld", options.program, "the program")->required();
    flags.add_option("--directory", options.directory, "for journals")->required();
    flags.add_option("--jobs", options.jobs);
    flags.add_option("--port", options.port);
    flags.add_option("--seconds", options.seconds, "of the load");
    flags.add_option("--followers", options.followers, "of logs");
    flags.add_option("--snapshot-every", options.snapshot_every, "inputs");
    flags.add_option("--reload-every", options.reload_every, "seconds; 0: never");
    flags.add_option("--rate", options.rate, "times what the streams ask a second");
    flags.add_flag("--keep", options.keep, "use the journal that is there");
    CLI11_PARSE(flags, argc, argv);
    return gpuctl::bench::run(options);
}
