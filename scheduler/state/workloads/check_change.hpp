#pragma once
// Whether the engine accepts a change of a job (changes.cpp).

#include "scheduler/model/event.hpp"
#include "scheduler/model/job/change_refusal.hpp"

namespace gpuctl {

class ClusterState;

ChangeRefusal check_change(const ClusterState& state, const JobUpdated& event);

}  // namespace gpuctl
