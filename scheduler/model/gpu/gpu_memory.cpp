#include "scheduler/model/gpu/gpu_memory.hpp"

#include <algorithm>
#include <array>

#include "scheduler/model/gpu/mig.hpp"
#include "scheduler/model/model_words.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

struct Row {
    std::string_view words;  // words in a label, each of which means this memory
    std::int32_t gigabytes = 0;
};

// The smallest memory size of a GPU with this name, from the data sheets of NVIDIA, AMD and Huawei.
constexpr auto kRows = std::to_array<Row>({
    {"P4", 8},
    {"P100", 12},
    {"T4 V100 V100S A2 A16", 16},
    {"A10 A10G A30 L4 P40 3090 4090 6000", 24},
    {"5090 MI100 ASCEND910 ASCEND910A ASCEND910B", 32},
    {"A100 A800", 40},
    {"A40 A6000 L40 L40S", 48},
    {"MI210", 64},
    {"H100 H800", 80},
    {"H20 GH200", 96},
    {"MI250 MI250X MI300A", 128},
    {"H200", 141},
    {"B200", 180},
    {"GB200", 186},
    {"MI300X", 192},
    {"MI325X", 256},
    {"B300", 270},
    {"GB300", 279},
    {"MI350X MI355X", 288},
});
// The label "GH200-480GB" names the memory of the CPU.
constexpr std::int32_t kOfGraceCpu = 480;

}  // namespace

std::optional<Bytes> gpu_memory_of(std::string_view gpu_model) {
    if (!mig_profile_in_model(gpu_model).empty()) return std::nullopt;  // a slice of a GPU
    const std::vector<std::string> words = model_words(gpu_model);
    for (const std::string& word : words) {
        const auto stated = gigabytes_of(word);
        if (stated && *stated != kOfGraceCpu) return Bytes{*stated * kGibibyte};
    }
    const auto row = std::find_if(kRows.begin(), kRows.end(),
                                  [&](const Row& one) { return has_any_word(words, one.words); });
    if (row == kRows.end()) return std::nullopt;
    return Bytes{row->gigabytes * kGibibyte};
}

Result<GpuMilli> part_by_memory(Bytes wanted, const std::vector<std::string>& gpu_models) {
    const auto refuse = [](std::string why) {
        return make_error(ErrorCode::ValidationFailed, std::move(why));
    };
    if (gpu_models.empty()) {
        return refuse(
            "no GPU model is named, so the part of a GPU is unknown; name a model such as "
            "A100-80G, "
            "or request the part itself, such as 0.5");
    }
    std::int64_t least = 0;
    for (const std::string& model : gpu_models) {
        const auto memory = gpu_memory_of(model);
        if (!memory) {
            return refuse("the name \"" + model +
                          "\" does not say how much memory the GPU has (A100-80G does); "
                          "request the part itself, such as 0.5");
        }
        if (*memory < wanted) {
            return refuse("a GPU \"" + model + "\" has " + format_bytes(*memory) +
                          " by its name; request less, or whole GPUs");
        }
        least = least == 0 ? memory->value() : std::min(least, memory->value());
    }
    // In MiB, so that the value times 1000 stays far below 2^63.
    constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
    const std::int64_t mebibytes = (wanted.value() + kMebibyte - 1) / kMebibyte;
    const std::int64_t whole = least / kMebibyte;
    return GpuMilli{(mebibytes * kGpuMilliPerGpu + whole - 1) / whole};
}

}  // namespace gpuctl
