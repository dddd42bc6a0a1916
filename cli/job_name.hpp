#pragma once
// A job as people type it: NAME, NAMESPACE/NAME as every table and sentence prints it, and
// job/NAMESPACE/NAME as `-o name` prints it.

#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"

namespace gpuctl::cli {

struct JobName {
    std::string namespace_name;  // empty: left open
    std::string name;
};

// `namespace_flag` is what -n says; a name that says otherwise is an error.
Result<JobName> parse_job_name(std::string_view word, const std::string& namespace_flag);

std::string to_string(const JobName& job);

// As `-o name` prints it; every command that takes a job takes it.
std::string typed_name(const JobName& job);

// "pool/training" -> "training" where `kind` is pool or pools; jobs' names are not for this.
std::string without_kind(const std::string& word, const std::string& kind);

}  // namespace gpuctl::cli
