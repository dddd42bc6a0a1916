#pragma once
// What differs between a job as it is and as a user wants it, field by field of the document, and
// which of these fields its kind can change while it exists.

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/model/job/job_spec.hpp"

namespace gpuctl::wire {

struct FieldChange {
    std::string field;  // "resources.gpu"
    std::string from;   // JSON; empty: the field was not there
    std::string to;
    bool is_in_place = false;  // the job need not be created again
};

// In the order of the document. Empty if and only if the two are the same job.
std::vector<FieldChange> changes_between(const JobSpec& before, const JobSpec& after);

// Whether a job of this kind can change the field in place: its Kubernetes object can.
bool is_in_place(JobKind kind, std::string_view field);

// "environment.image, resources.gpu": those that cannot change in place; empty: all can.
std::string immutable_fields(const std::vector<FieldChange>& changes);

}  // namespace gpuctl::wire
