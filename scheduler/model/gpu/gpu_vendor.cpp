#include "scheduler/model/gpu/gpu_vendor.hpp"

#include <algorithm>

#include "scheduler/base/ascii.hpp"
#include "scheduler/model/gpu/mig.hpp"
#include "scheduler/model/gpu/word_list.hpp"
#include "scheduler/model/policy/quantity.hpp"

namespace gpuctl {
const GpuVendor* find_gpu_vendor(std::string_view alias) {
    for (const GpuVendor& vendor : gpu_vendors()) {
        const auto same = [&](std::string_view word) { return same_without_case(word, alias); };
        if (same(vendor.alias) || any_word(vendor.other_aliases, same)) return &vendor;
    }
    return nullptr;
}

const GpuVendor& vendor_of_model(std::string_view model) {
    for (const GpuVendor& vendor : gpu_vendors()) {
        const auto starts_model = [&](std::string_view prefix) {
            return model.size() >= prefix.size() &&
                   same_without_case(prefix, model.substr(0, prefix.size()));
        };
        if (any_word(vendor.model_prefixes, starts_model)) return vendor;
    }
    return gpu_vendors().front();
}

constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
constexpr std::string_view kMigNamespace = "nvidia.com/";

bool is_mig_resource(std::string_view resource) {
    return resource.size() > kMigPrefix.size() && resource.starts_with(kMigPrefix);
}

std::string mig_resource(std::string_view profile) {
    std::string name{kMigPrefix};
    for (const char c : profile)
        name += c == '+' ? '.' : lower_case(c);  // a resource name has no '+'
    return name;
}

std::string_view mig_name(std::string_view resource) {
    return resource.substr(kMigNamespace.size());
}

constexpr std::string_view kSharedSuffix = ".shared";

bool is_shared_resource(std::string_view resource) {
    return !resource.empty() && resource == gpu_vendors().front().shared_resource;
}

// For example "1g.10gb.shared": replicas of a slice, whose number a label of the node states.
GpuShare share_of(std::string_view resource) {
    if (!is_mig_resource(resource)) return {};
    std::string_view profile = resource.substr(kMigPrefix.size());
    if (profile.ends_with(kSharedSuffix)) profile.remove_suffix(kSharedSuffix.size());
    return mig_share(profile);
}

bool is_whole_gpu_resource(std::string_view resource) {
    return std::any_of(gpu_vendors().begin(), gpu_vendors().end(), [&](const GpuVendor& vendor) {
        return vendor.resource == resource ||
               any_word(vendor.other_resources,
                        [&](std::string_view other) { return other == resource; });
    });
}

void name_slices(Resources& resources, std::string_view gpu_model) {
    const std::string_view profile = mig_profile_in_model(gpu_model);
    if (profile.empty()) return;
    for (GpuAmount& gpus : resources.gpus) {
        if (gpus.resource == gpu_vendors().front().resource) gpus.share = mig_share(profile);
    }
}

namespace {

// "huawei.com/*-memory" is like huawei.com/Ascend910B3-memory.
bool is_like(std::string_view pattern, std::string_view resource) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return pattern == resource;
    const std::string_view end = pattern.substr(star + 1);
    return resource.size() > pattern.size() - 1 && resource.starts_with(pattern.substr(0, star)) &&
           resource.ends_with(end);
}

}  // namespace

std::optional<Bytes> memory_unit_of(std::string_view word) {
    const std::size_t sign = word.find('=');
    if (sign == std::string_view::npos) return std::nullopt;
    const auto unit = parse_bytes(word.substr(sign + 1));
    return unit && unit->value() > 0 ? unit : std::nullopt;
}

std::optional<GpuPartResource> find_gpu_part(std::string_view resource) {
    std::string_view found;
    const auto is_listed = [&](std::string_view word) {
        found = word;
        return is_like(word.substr(0, word.find('=')), resource);
    };
    for (const GpuVendor& vendor : gpu_vendors()) {
        const std::pair<std::string_view, GpuPart> lists[] = {
            {vendor.memory_resources, GpuPart::memory},
            {vendor.memory_percent_resources, GpuPart::memory_percent},
            {vendor.core_resources, GpuPart::cores},
            {vendor.share_count_resources, GpuPart::share_count}};
        for (const auto& [list, part] : lists) {
            if (!any_word(list, is_listed)) continue;
            return GpuPartResource{&vendor, part, memory_unit_of(found).value_or(Bytes{})};
        }
    }
    return std::nullopt;
}

bool wants_whole_gpus(const Resources& request) {
    return std::any_of(request.gpus.begin(), request.gpus.end(), [](const GpuAmount& gpus) {
        return is_whole_gpu_resource(gpus.resource) && gpus.share == GpuShare{};
    });
}

bool calls_slices_gpus(const Resources& offered) {
    return std::any_of(offered.gpus.begin(), offered.gpus.end(), [](const GpuAmount& gpus) {
        return is_whole_gpu_resource(gpus.resource) && gpus.share != GpuShare{};
    });
}

bool is_gpu_resource(std::string_view resource) {
    return is_mig_resource(resource) || is_shared_resource(resource) ||
           is_whole_gpu_resource(resource);
}

}  // namespace gpuctl
