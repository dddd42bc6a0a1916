#include "k8s/workload/pod_defaults.hpp"

namespace gpuctl::k8s {

namespace {

void merge(const PodDefaults& from, PodDefaults& to) {
    const auto number = [](std::int64_t value, std::int64_t& into) {
        if (value >= 0) into = value;
    };
    const auto word = [](const std::string& value, std::string& into) {
        if (!value.empty()) into = value;
    };
    word(from.service_account, to.service_account);
    word(from.seccomp_profile, to.seccomp_profile);
    number(from.run_as_user, to.run_as_user);
    number(from.run_as_group, to.run_as_group);
    number(from.fs_group, to.fs_group);
    to.run_as_non_root = to.run_as_non_root || from.run_as_non_root;
    to.tolerations.insert(to.tolerations.end(), from.tolerations.begin(), from.tolerations.end());
    for (const auto& [name, value] : from.environment) to.environment[name] = value;
}

}  // namespace

PodDefaults pod_defaults_of(const std::vector<PodDefaults>& all, const std::string& pool) {
    PodDefaults merged;
    for (const PodDefaults& one : all) {
        if (one.pool.empty()) merge(one, merged);
    }
    for (const PodDefaults& one : all) {
        if (one.pool == pool) merge(one, merged);
    }
    merged.pool = pool;
    return merged;
}

}  // namespace gpuctl::k8s
