#pragma once
// Stores a new job: the last steps of POST and of a PUT whose job does not exist.

#include <string>
#include <vector>

#include "daemon/api/jobs/job_body.hpp"

namespace gpuctl::api {

// Checks that the job can be placed and stores it, or only tries it (a dry run). `key`: of the
// request, for repetitions; empty: none.
aio::Task<net::HttpResponse> store_job(Services& services, Call call, JobBody body,
                                       std::vector<Detail> warnings, std::string key);

}  // namespace gpuctl::api
