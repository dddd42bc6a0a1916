#pragma once
// Shared by the job_key_rows*.cpp files and job_keys.cpp, and included only there.

#include "scheduler/model/job/job_spec.hpp"
#include "wire/job/job_keys.hpp"

namespace gpuctl::wire {

constexpr unsigned bit_of(JobKind kind) { return 1U << static_cast<unsigned>(kind); }
inline constexpr JobKinds kTraining{bit_of(JobKind::training)};
inline constexpr JobKinds kInference{bit_of(JobKind::inference)};
inline constexpr JobKinds kReplicated{bit_of(JobKind::inference) | bit_of(JobKind::compute)};
inline constexpr JobKinds kServing{bit_of(JobKind::inference) | bit_of(JobKind::notebook) |
                                   bit_of(JobKind::compute)};
inline constexpr JobKinds kEvery{kServing.bits | kTraining.bits};
std::span<const JobKey> header_keys();   // job, environment, resources
std::span<const JobKey> service_keys();  // service and the following sections

}  // namespace gpuctl::wire
