#pragma once
// PodGroup objects of every dialect that gives a gang's minimum of members, and JobSets, which give
// the number of pods they make.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "k8s/json/labels.hpp"
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

// The versions we can read, newest first within a group. The upstream version changes with every
// minor release.
std::span<const GangDialect> gang_dialects();

struct GangReading {
    ObjectKey job;  // the job of its pods
    GangSize size;  // 0 ranks: a group that is no gang
    GangNote note;
};
// A PodGroup is one gang; a JobSet has one for each gang that its templates name.
Result<std::vector<GangReading>> read_gangs(std::string_view json, GangField field,
                                            const LabelKeys& labels);

}  // namespace gpuctl::k8s
