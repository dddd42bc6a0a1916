#pragma once
// Why a change of a job is not accepted, as an error for its user.

#include "scheduler/base/result.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/model/job/change_refusal.hpp"

namespace gpuctl::wording {

Error error_of(const JobUpdated& change, const ChangeRefusal& refusal);

}  // namespace gpuctl::wording
