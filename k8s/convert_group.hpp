#pragma once
// PodGroup objects of every dialect that says how many members a gang needs (G1), and JobSets,
// which say how many pods they make.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "k8s/labels.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

enum class GangField : std::uint8_t {
    min_member,   // spec.minMember
    task_member,  // spec.minMember, spec.minTaskMember
    sub_groups,   // spec.minMember, spec.subGroups[].minMember
    gang_policy,  // spec.schedulingPolicy.gang.minCount
    job_set       // spec.replicatedJobs[], of the gangs that their pod templates name
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
    ObjectKey job;  // that its pods are
    GangSize size;  // of 0 ranks: it says none (a group that is no gang)
    GangNote note;
};
// A PodGroup is one gang; a JobSet is as many as its templates name.
Result<std::vector<GangReading>> read_gangs(std::string_view json, GangField field,
                                            const LabelKeys& labels);

}  // namespace gpuctl::k8s
