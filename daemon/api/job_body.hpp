#pragma once
// The body of a request that carries one job, as YAML, JSON or YAML in JSON.

#include <vector>

#include "daemon/api/routes.hpp"
#include "daemon/api/shapes.hpp"
#include "scheduler/model/job_spec.hpp"

namespace gpuctl::api {

struct JobBody {
    JobRecord job;  // with an uid of its own and the text as sent
    bool dry_run = false;
};

// What is odd but not wrong goes to `warnings`, also beside an error. Errors: InvalidYaml,
// InvalidJson, UnsupportedMediaType, BadRequest, UnsupportedKind, ValidationFailed.
Result<JobBody> read_job(Services& services, const Call& call, std::vector<Detail>& warnings);

Json warnings_json(const std::vector<Detail>& warnings);

}  // namespace gpuctl::api
