#pragma once
// A job as typed by users: NAME, NAMESPACE/NAME as tables and sentences print it, and
// job/NAMESPACE/NAME as `-o name` prints it.

#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"

namespace gpuctl::cli {

struct JobName {
    std::string namespace_name;  // empty: not given
    std::string name;
};

// `namespace_flag` is the value of -n; a name with another namespace is an error.
Result<JobName> parse_job_name(std::string_view word, const std::string& namespace_flag);

std::string to_string(const JobName& job);

// As `-o name` prints it; every command that takes a job accepts this form.
std::string typed_name(const JobName& job);

// "pool/training" -> "training" where `kind` is pool or pools; not for job names.
std::string without_kind(const std::string& word, const std::string& kind);

}  // namespace gpuctl::cli
