#include "bench/reads/world.hpp"

#include <algorithm>

#include "aio/loop.hpp"
#include "daemon/config/load.hpp"
#include "daemon/embedded/settings.hpp"
#include "daemon/journal/disk.hpp"
#include "daemon/journal/journal.hpp"
#include "sim/simulation.hpp"
#include "wire/job/document.hpp"
#include "wire/job/job_document.hpp"

namespace gpuctl::bench {
namespace {

constexpr int kFinishedOfTen = 2;
constexpr int kRunningOfTen = 2;
constexpr int kGpusPerNode = 8;

// The number of nodes that the GPUs of the running jobs fill.
int nodes_for(int jobs) { return std::max(1, jobs * kRunningOfTen / 10 / kGpusPerNode); }

enum class Fate : std::uint8_t { finishes, runs, waits };
Fate fate_of(int number) {
    const int of_ten = number % 10;
    if (of_ten < kFinishedOfTen) return Fate::finishes;
    return of_ten < kFinishedOfTen + kRunningOfTen ? Fate::runs : Fate::waits;
}

std::string yaml_of(const std::string& name, int number, Fate fate) {
    constexpr const char* queues[] = {"research", "production", "students", "default"};
    constexpr const char* priorities[] = {"low", "medium", "high"};
    const int gpus = fate == Fate::waits ? 1 << (number / 10 % 4) : 1;
    const std::string time = fate == Fate::finishes ? "1s" : std::to_string(1 + number % 7) + "d";
    return "kind: training\nversion: v0.1\njob: {name: " + name +
           ", namespace: " + job_namespace(number) + ", queue: " + queues[number / 10 % 4] +
           ", priority: " + priorities[number / 40 % 3] +
           ", preemptible: false, expectedRunTime: " + time +
           "}\nenvironment: {image: registry.example/team/train:1.7, command: [python, train.py]}\n"
           "resources: {pool: training, gpu: " +
           std::to_string(gpus) + ", cpu: 2, memory: 8Gi}\n";
}

Result<JobSpec> spec_of(int number, Fate fate) {
    Result<std::vector<wire::Document>> documents =
        wire::parse_yaml(yaml_of(job_name(number), number, fate));
    if (!documents) return documents.error();
    Result<wire::DecodedJob> job = wire::decode_job(documents->front(), {});
    if (!job) return job.error();
    return job->spec;
}

Result<void> submit(sim::Simulation& world, int jobs, Fate fate) {
    for (int number = 0; number < jobs; ++number) {
        if (fate_of(number) != fate) continue;
        Result<JobSpec> spec = spec_of(number, fate);
        if (!spec) return spec.error();
        world.submit(std::move(*spec));
        if (number % 100 == 0) world.run_for(Duration{10});
    }
    world.run_for(Duration::seconds(60));
    return {};
}

std::vector<embedded::NodeGroup> node_groups(const config::Config& config) {
    std::vector<embedded::NodeGroup> groups;
    for (const config::EmbeddedNodes& of : config.cluster.embedded.nodes) {
        groups.push_back({of.name, of.count, of.pool, of.gpu_resource, of.gpu_model, of.gpus,
                          of.cpu_cores, of.memory_gib, of.labels, of.nodes_per_rack, of.mig_slices,
                          of.gpu_replicas});
    }
    return groups;
}

}  // namespace

std::string job_name(int number) {
    const std::string digits = std::to_string(number);
    return "train-" + std::string(6 - std::min<std::size_t>(digits.size(), 6), '0') + digits;
}

std::string job_namespace(int number) { return "team-" + std::to_string(number % kNamespaces); }

bool job_runs(int number) { return fate_of(number) == Fate::runs; }

std::string job_yaml(const std::string& name, int number) {
    return yaml_of(name, number, Fate::waits);
}

std::string config_text(const std::string& directory, int jobs, int port) {
    return "server: {port: " + std::to_string(port) + "}\njournal: {directory: " + directory +
           "}\nlogging: {level: warn}\n"
           "cluster:\n  embedded:\n    trainingRunTime: 10d\n    nodes:\n"
           "      - {name: gpu, count: " +
           std::to_string(nodes_for(jobs)) +
           ", pool: training, gpuModel: A100-80G, gpus: 8, cpuCores: 64, memoryGib: 512}\n"
           "      - {name: plain, count: 2, pool: default, gpus: 0, cpuCores: 32, memoryGib: 64}\n"
           "policy:\n  pools:\n    - name: training\n      queues:\n"
           "        - {name: research, weight: 2}\n        - {name: production, priority: 10}\n"
           "        - {name: students}\n";
}

Result<void> write_journal(const std::string& directory, int jobs) {
    Result<config::Config> config =
        config::parse(config_text(directory, jobs, 8000), "gpuctld.yaml");
    if (!config) return config.error();
    sim::SimulationSettings settings;
    settings.nodes = embedded::make_nodes(node_groups(*config), config->names.label_prefix);
    settings.policy = config->policy;
    settings.cluster.training_run_time = Duration::seconds(10LL * 86'400);
    settings.start = Instant{aio::Loop::wall_ms() - 3'600'000};
    sim::Simulation world{std::move(settings)};
    for (const Fate fate : {Fate::finishes, Fate::runs, Fate::waits}) {
        if (Result<void> done = submit(world, jobs, fate); !done) return done;
    }
    aio::Loop loop;
    journal::JournalSettings folder;
    folder.directory = directory + "/embedded";
    folder.mode = "embedded";
    journal::Recovered recovered;
    auto opened = journal::Journal::open(loop, journal::real_disk(), folder, recovered);
    if (!opened) return opened.error();
    const Sequence next = recovered.next_sequence;
    if (Result<void> written = (*opened)->write_snapshot(world.engine(), next); !written) {
        return written;
    }
    return (*opened)->close();
}

}  // namespace gpuctl::bench
