#include <algorithm>
#include <optional>
#include <set>

#include "sim/replay/packing.hpp"
#include "sim/replay/rows.hpp"

namespace gpuctl::replay {
namespace {

constexpr std::int64_t kCpuMilliMax = 100'000'000;
constexpr std::int64_t kMemoryMibMax = 1'000'000'000;
constexpr std::int64_t kBytesPerMib = 1024 * 1024;
constexpr std::size_t kModelsMax = 63;

std::vector<PackNode> read_nodes(CsvReader& csv, std::vector<std::string>& models) {
    const auto name = csv.column("sn");
    const auto cpu = csv.column("cpu_milli");
    const auto memory = csv.column("memory_mib");
    const auto gpus = csv.column("gpu");
    const auto model = csv.column("model");
    std::set<std::string> known_names;
    return read_rows<PackNode>(csv, [&](PackNode& node) {
        node.name = csv.text(name);
        if (!known_names.insert(node.name).second) csv.refuse(name, "is there twice");
        node.cpu_free = CpuMilli{csv.integer(cpu, 0, kCpuMilliMax)};
        node.memory_free = Bytes{csv.integer(memory, 0, kMemoryMibMax) * kBytesPerMib};
        node.gpus = static_cast<std::int32_t>(csv.integer(gpus, 0, kGpusPerNodeMax));
        node.gpu_free_milli.assign(static_cast<std::size_t>(node.gpus), kGpuMilliPerGpu);
        auto known = std::find(models.begin(), models.end(), csv.text(model));
        if (known == models.end()) {
            if (models.size() == kModelsMax) csv.refuse(model, "is one GPU model too many");
            known = models.insert(models.end(), csv.text(model));
        }
        node.model = GpuModels{1} << static_cast<unsigned>(known - models.begin());
    });
}

// Reads "V100M16|V100M32"; empty means any model. Models that no node has are counted and reported:
// some traces are published with a part of their nodes, and names may be mistyped.
GpuModels read_models(std::string_view rest, bool wants_gpu, PackTrace& trace) {
    if (rest.empty()) return kAnyModel;
    GpuModels wanted = 0;
    bool is_unknown = false;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('|'), rest.size());
        const std::string_view word = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const auto known = std::find(trace.models.begin(), trace.models.end(), word);
        if (known != trace.models.end()) {
            wanted |= GpuModels{1} << static_cast<unsigned>(known - trace.models.begin());
            continue;
        }
        if (!wants_gpu) continue;  // any node will do
        is_unknown = true;
        auto& unknown = trace.models_unknown;
        if (std::find(unknown.begin(), unknown.end(), word) == unknown.end()) {
            unknown.emplace_back(word);
        }
    }
    if (is_unknown) ++trace.tasks_of_unknown_models;
    if (is_unknown && wanted == 0) ++trace.tasks_fitting_nowhere;
    return wanted;
}

std::vector<PackTask> read_tasks(CsvReader& csv, PackTrace& trace) {
    const auto name = csv.column("name");
    const auto cpu = csv.column("cpu_milli");
    const auto memory = csv.column("memory_mib");
    const auto gpus = csv.column("num_gpu");
    const auto share = csv.column("gpu_milli");
    const auto spec = csv.column_if_any("gpu_spec");
    return read_rows<PackTask>(csv, [&](PackTask& task) {
        task.name = csv.text(name);
        task.cpu = CpuMilli{csv.integer(cpu, 0, kCpuMilliMax)};
        task.memory = Bytes{csv.integer(memory, 0, kMemoryMibMax) * kBytesPerMib};
        task.gpus = static_cast<std::int32_t>(csv.integer(gpus, 0, kGpusPerNodeMax));
        const std::int64_t share_min = task.gpus == 0 ? 0 : task.gpus == 1 ? 1 : kGpuMilliPerGpu;
        task.gpu_each = GpuMilli{csv.integer(share, share_min, kGpuMilliPerGpu)};
        if (spec) task.models = read_models(csv.text(*spec), task.gpus > 0, trace);
    });
}

// A part that is missing in the files, without which nothing can be measured.
std::string missing_part(const PackTrace& trace, const NamedText& tasks, const NamedText& nodes) {
    if (trace.nodes.empty()) return nodes.name + " has no nodes";
    if (trace.tasks.empty()) return tasks.name + " has no tasks";
    const auto has_gpu = [](const PackNode& node) { return node.gpus > 0; };
    if (std::none_of(trace.nodes.begin(), trace.nodes.end(), has_gpu)) {
        return "no node of " + nodes.name +
               " has a GPU, and the share of GPUs that are allocated is what is measured";
    }
    const auto wants_gpu = [](const PackTask& task) { return task.gpus > 0; };
    if (std::none_of(trace.tasks.begin(), trace.tasks.end(), wants_gpu)) {
        return "no task of " + tasks.name +
               " asks for a GPU, and tasks arrive until they ask for a share of the cluster's GPUs";
    }
    return "";
}

}  // namespace

Result<PackTrace> read_openb(const NamedText& tasks, const NamedText& nodes) {
    PackTrace trace;
    CsvReader node_csv(nodes.name, nodes.text);
    trace.nodes = read_nodes(node_csv, trace.models);
    if (node_csv.error()) return *node_csv.error();
    CsvReader task_csv(tasks.name, tasks.text);
    trace.tasks = read_tasks(task_csv, trace);
    if (task_csv.error()) return *task_csv.error();
    const std::string missing = missing_part(trace, tasks, nodes);
    if (!missing.empty()) return make_error(ErrorCode::ValidationFailed, missing);
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::stable_sort(trace.nodes.begin(), trace.nodes.end(), by_name);
    std::stable_sort(trace.tasks.begin(), trace.tasks.end(), by_name);
    return trace;
}

}  // namespace gpuctl::replay
