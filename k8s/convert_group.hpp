#pragma once
// PodGroup objects of every dialect that says how many members a gang needs (G1).

#include <cstdint>
#include <span>
#include <string_view>

#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

enum class GangField : std::uint8_t {
    min_member,   // spec.minMember
    task_member,  // spec.minMember, spec.minTaskMember
    sub_groups,   // spec.minMember, spec.subGroups[].minMember
    gang_policy   // spec.schedulingPolicy.gang.minCount
};

struct GangDialect {
    std::string_view group;
    std::string_view version;
    std::string_view resource;
    GangField field = GangField::min_member;
};

// The versions we can read, of one group the newest first. Upstream's changes every minor (G2).
std::span<const GangDialect> gang_dialects();

struct GangReading {
    ObjectKey key;
    GangSize size;  // of 0 ranks: it says none (a group that is no gang)
};
Result<GangReading> read_gang(std::string_view json, GangField field);

}  // namespace gpuctl::k8s
