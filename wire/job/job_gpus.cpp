// resources.gpu, .gpuType and .gpuShare of a job document: the count of GPUs, their models, or a
// part of one GPU by its share or its memory.

#include <algorithm>

#include "scheduler/base/ascii.hpp"
#include "scheduler/model/gpu/gpu_memory.hpp"
#include "scheduler/model/gpu/gpu_string.hpp"
#include "scheduler/model/gpu/mig.hpp"
#include "scheduler/model/node.hpp"
#include "wire/job/job_rules.hpp"
#include "wire/job/job_sections.hpp"

namespace gpuctl::wire {
namespace {

constexpr std::size_t kGpuTypesMax = 8;
constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

void read_gpu(JobReader& reader, const Field& field) {
    const auto text = field.word();
    if (!text) return;
    const std::string range = "from 0 to " + std::to_string(kGpusPerPodMax) + " for one pod";
    if (text->starts_with('-')) {
        return field.error("resources.gpu must be " + range + ", not " + *text +
                           "; -1 is all GPUs of a node, shared, which is not supported yet");
    }
    auto request = parse_gpu_string(*text);
    if (request.has_error()) {
        return field.error("resources.gpu \"" + *text + "\" is " + request.error().message);
    }
    if (request->mode == GpuMode::shared) request->share.of = reader.options.gpu_replicas;
    if (request->count > kGpusPerPodMax) {
        return field.error("resources.gpu must be " + range + ", not " + *text);
    }
    reader.spec.gpu = *request;
}

// One model; false when it is not valid.
bool check_gpu_type(const JobSpec& spec, const Field& field, const std::string& type) {
    if (const std::string problem = problem_with_label_value(type); !problem.empty()) {
        field.error("resources.gpuType \"" + type + "\" " + problem);
        return false;
    }
    // "1(A100)" with gpuType A100-80G names the same model, the second time more exactly.
    const std::string model = lower_case(spec.gpu.model);
    if (lower_case(type).substr(0, model.size()) != model) {
        field.error("resources.gpuType \"" + type + "\" contradicts the model \"" + spec.gpu.model +
                    "\" in resources.gpu");
        return false;
    }
    if (spec.gpu.mode != GpuMode::mig) return true;
    const std::string problem = problem_with_mig(spec.gpu.mig_profile, type);
    if (problem.empty()) return true;
    field.error("resources.gpu requests mig-" + spec.gpu.mig_profile + " and gpuType is \"" + type +
                "\": " + problem);
    return false;
}

// A list: the first model is preferred; the next are tried in order where it has no room.
void read_gpu_type(JobReader& reader, const Field& field) {
    JobSpec& spec = reader.spec;
    spec.gpu_type = spec.gpu.model;
    std::vector<std::string> types;
    if (field && field.json().is_array()) {
        types = field.words();
    } else if (const auto text = field.word(Empty::is_warned)) {
        types = {*text};
    }
    if (types.empty()) return;
    if (types.size() > kGpuTypesMax) {
        return field.error("resources.gpuType lists " + std::to_string(types.size()) +
                           " models; at most " + std::to_string(kGpuTypesMax) + " are allowed");
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (!check_gpu_type(spec, field, types[i])) return;
        for (std::size_t j = 0; j < i; ++j) {
            if (!same_gpu_model(types[i], types[j])) continue;
            return field.error("resources.gpuType lists \"" + types[i] + "\" twice");
        }
    }
    const auto is_slice = [](const std::string& type) {
        return !mig_profile_in_model(type).empty();
    };
    if (types.size() > 1 && std::any_of(types.begin(), types.end(), is_slice)) {
        return field.error(
            "resources.gpuType lists slices of GPUs (-MIG-) together with other models; "
            "the job's GPU usage would be known only when it is placed");
    }
    if (types.size() > 1 && spec.gpu.mode == GpuMode::none) {
        return field.error("resources.gpuType lists GPU models, and resources.gpu requests no GPU");
    }
    spec.gpu_type = types.front();
    spec.gpu_types_next.assign(types.begin() + 1, types.end());
}

// A part given by its memory becomes one in thousandths of the requested model; of several models,
// the one with the least memory.
void settle_memory(JobReader& reader, const Field& field) {
    JobSpec& spec = reader.spec;
    if (!spec.gpu.memory) return;
    std::vector<std::string> models = spec.gpu_types_next;
    if (!spec.gpu_type.empty()) models.push_back(spec.gpu_type);
    const Result<GpuMilli> part = part_by_memory(*spec.gpu.memory, models);
    if (!part) {
        return field.error("resources request a part of a GPU by its memory: " +
                           part.error().message);
    }
    spec.gpu.amount = std::max(spec.gpu.amount, *part);
    if (spec.gpu.amount < whole_gpus(1)) return;
    spec.gpu.mode = GpuMode::exclusive;
    spec.gpu.count = 1;
    spec.gpu.memory.reset();
}

void read_gpu_share(JobReader& reader, const Field& field, bool asks_for_gpus, bool has_type) {
    const auto text = field.word(Empty::is_warned);
    if (!text) return;
    JobSpec& spec = reader.spec;
    const auto memory = read_bytes(*text);
    if (!memory || memory->value() <= 0 || memory->value() > kMemoryBytesMax) {
        return field.error(
            "resources.gpuShare must be an amount of GPU memory such as 2Gi, not \"" + *text +
            "\"");
    }
    if (memory->value() < kMemoryBytesMin) {
        return field.error("resources.gpuShare is " + std::to_string(memory->value()) +
                           " bytes, less than 1Mi; is a unit such as Gi missing?");
    }
    if (!asks_for_gpus && !has_type) {
        spec.gpu_share = *text;
        return field.warning(
            "resources.gpuShare is not used: the job requests no GPU; add resources.gpu, or a "
            "gpuType that states its memory (A100-80G)");
    }
    if (asks_for_gpus && spec.gpu.mode != GpuMode::fraction) {
        spec.gpu_share = *text;
        return field.warning(
            "resources.gpuShare is not used: it applies only when resources.gpu is a part of one "
            "GPU");
    }
    if (spec.gpu.memory && asks_for_gpus && *spec.gpu.memory != *memory) {
        return field.error("resources.gpuShare and resources.gpu name different amounts of memory");
    }
    if (!asks_for_gpus) {
        spec.gpu = parse_gpu_string("0.001").value();  // the smallest share of its cores
    }
    spec.gpu.memory = Bytes{(memory->value() + kMebibyte - 1) / kMebibyte * kMebibyte};
}

}  // namespace

void read_gpus(JobReader& reader, Fields& resources) {
    const Field gpu = find_key(resources, "resources.gpu");
    const Field share = find_key(resources, "resources.gpuShare");
    const Field type = find_key(resources, "resources.gpuType");
    read_gpu(reader, gpu);
    read_gpu_share(reader, share, static_cast<bool>(gpu), static_cast<bool>(type));
    read_gpu_type(reader, type);
    settle_memory(reader, share ? share : gpu);
}

}  // namespace gpuctl::wire
