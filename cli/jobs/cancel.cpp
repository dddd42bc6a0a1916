#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/jobs/job_state.hpp"

namespace gpuctl::cli {
namespace {

bool has_ended(const JobState& job) { return job.status == "Succeeded" || job.status == "Failed"; }

// One job; the sentence for the user. A job that has ended is not touched: its record stays.
aio::Task<Result<std::string>> cancel_job(Connection& connection, JobName job, bool force) {
    JobName asked = job;
    const Result<JobState> state = co_await read_job_state(connection, std::move(asked));
    if (!state) co_return state.error();
    if (!state->is_gone && has_ended(*state)) {
        co_return "job " + to_string(job) + " has ended already (" + state->status +
            "); it is not changed";
    }
    const std::string target =
        "/api/v1/jobs/" + net::percent_encode(job.name) +
        query({{"namespace", job.namespace_name}, {"force", force ? "true" : ""}});
    const Result<Reply> reply = co_await connection.call("DELETE", target, "", "");
    if (!reply) co_return reply.error();
    const JobName known{text_of(reply->body, "namespace", job.namespace_name), job.name};
    co_return "job " + to_string(known) + " is being stopped; `gpuctl get events --job " +
        to_string(known) + "` keeps showing what happened";
}

}  // namespace

aio::Task<int> run_cancel(Connection& connection, CancelOptions options) {
    nlohmann::json results = nlohmann::json::array();
    int exit_code = 0;
    std::size_t failed = 0;
    for (const JobName& job : options.jobs) {
        JobName known = job;
        if (known.namespace_name.empty()) {
            known.namespace_name = connection.options().namespace_name;
        }
        JobName asked = known;
        const Result<std::string> cancelled =
            co_await cancel_job(connection, std::move(asked), options.force);
        if (cancelled) {
            results.push_back(
                {{"status", "success"}, {"job_name", known.name}, {"message", *cancelled}});
            if (!is_document(options.format)) std::cout << printable(*cancelled) << '\n';
            continue;
        }
        ++failed;
        exit_code = exit_code_of(cancelled.error());
        if (is_document(options.format)) {
            results.push_back(error_json(cancelled.error(), to_string(known)));
        } else {
            report(cancelled.error(), options.format, to_string(known));
        }
    }
    if (is_document(options.format)) {
        print_document(std::cout, results.size() == 1 ? results[0] : results, options.format);
    }
    co_return failed > 0 && failed < options.jobs.size() ? kPartialFailure : exit_code;
}

}  // namespace gpuctl::cli
