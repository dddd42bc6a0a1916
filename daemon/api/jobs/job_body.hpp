#pragma once
// The body of a request that carries one job, as YAML, JSON or YAML in JSON.

#include <vector>

#include "daemon/api/http/routes.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::api {

struct JobBody {
    JobRecord job;            // with a new uid and the text as sent
    wire::Document document;  // with the places of its keys
    bool dry_run = false;
    bool recreate = false;       // only of a change
    std::uint64_t revision = 0;  // likewise: of the job as the client read it; 0: any
};

// Warnings go to `warnings`, also together with an error. Errors: InvalidYaml, InvalidJson,
// UnsupportedMediaType, BadRequest, UnsupportedKind, ValidationFailed.
Result<JobBody> read_job(Services& services, const Call& call, std::vector<Detail>& warnings);

// "resourceVersion" of a request: the revision of a job, as its detail shows it.
Result<std::uint64_t> read_revision(std::string_view text);

// A refusal of the job by what exists in the cluster, with the place of the key that it is about
// and the nearest name that exists.
Error with_place(Error error, const JobBody& body, const ClusterState& state);

Json warnings_json(const std::vector<Detail>& warnings);

}  // namespace gpuctl::api
