#include <array>
#include <iostream>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/jobs/job_state.hpp"
#include "text/duration.hpp"

namespace gpuctl::cli {
namespace {

// What became of a condition: it may still come, it holds, or it never will.
enum class Met : std::uint8_t { not_yet, yes, never };

bool are_all_ready(const std::string& ready) {
    const std::size_t slash = ready.find('/');
    return slash != std::string::npos && slash > 0 && ready.substr(0, slash) != "0" &&
           ready.substr(0, slash) == ready.substr(slash + 1);
}

Met check_condition(const std::string& condition, const JobState& job) {
    if (condition == "deleted") return job.is_gone ? Met::yes : Met::not_yet;
    if (job.is_gone) return Met::never;
    const std::string& status = job.status;
    const bool has_ended = status == "Succeeded" || status == "Failed";
    if (condition == "finished") return has_ended ? Met::yes : Met::not_yet;
    if (condition == "failed") {
        if (status == "Failed") return Met::yes;
        return has_ended ? Met::never : Met::not_yet;
    }
    if (condition == "succeeded") {
        if (status == "Succeeded") return Met::yes;
        return has_ended ? Met::never : Met::not_yet;
    }
    // A job that succeeded has run, even if no poll saw it run.
    if (status == "Succeeded") return Met::yes;
    if (has_ended) return Met::never;
    const bool holds = condition == "ready" ? are_all_ready(job.ready) : status == "Running";
    return holds ? Met::yes : Met::not_yet;
}

std::string state_words(const JobState& job) {
    if (job.is_gone) return "it does not exist";
    std::string text = "it is " + (job.status.empty() ? "in an unknown state" : job.status);
    if (!job.why.empty()) text += ": " + job.why;
    return text;
}

// The sentence and the code of a wait that ended without the condition.
Error unmet(const JobName& job, const WaitOptions& options, const JobState& state, bool timed_out) {
    const std::string what =
        "wait for job " + to_string(job) + " to be " + options.condition + ": ";
    if (!timed_out) {
        const ErrorCode code = state.is_gone ? ErrorCode::JobNotFound : ErrorCode::Timeout;
        return make_error(code, what + state_words(state) +
                                    ", so it will not happen; `gpuctl "
                                    "describe job " +
                                    to_string(job) + "` shows its events");
    }
    return make_error(ErrorCode::Timeout,
                      what + "after " + text::format_span(options.timeout.ms() / 1'000) + " " +
                          state_words(state) + "; `gpuctl explain job " + to_string(job) +
                          "` says why, --timeout waits longer");
}

}  // namespace

aio::Task<Result<JobState>> read_job_state(Connection& connection, JobName job) {
    const std::string target = "/api/v1/jobs/" + net::percent_encode(job.name) +
                               query({{"namespace", job.namespace_name}});
    const Result<Reply> reply = co_await connection.get(target);
    JobState state;
    if (!reply) {
        if (reply.error().code != ErrorCode::JobNotFound) co_return reply.error();
        state.is_gone = true;
        co_return state;
    }
    state.status = text_of(reply->body, "status");
    state.ready = text_of(reply->body, "ready");
    state.why = text_of(reply->body.value("waiting", nlohmann::json::object()), "sentence",
                        text_of(reply->body, "message"));
    co_return state;
}

bool may_pass(ErrorCode code) {
    constexpr std::array<ErrorCode, 6> passing{
        ErrorCode::Unreachable,  ErrorCode::Timeout,        ErrorCode::TooManyRequests,
        ErrorCode::ShuttingDown, ErrorCode::UnknownOutcome, ErrorCode::ClusterUnavailable};
    return std::find(passing.begin(), passing.end(), code) != passing.end();
}

// A server that does not answer for a while is asked again until the time is over.
aio::Task<Result<void>> wait_for_job(Connection& connection, JobName job, WaitOptions options) {
    const aio::Deadline end = aio::Deadline::in(std::chrono::milliseconds{options.timeout.ms()});
    JobState last;
    std::optional<Error> problem;
    for (;;) {
        JobName asked = job;
        const Result<JobState> state = co_await read_job_state(connection, std::move(asked));
        if (!state && !may_pass(state.error().code)) co_return state.error();
        problem.reset();
        if (!state) problem = state.error();
        if (state) {
            last = *state;
            const Met met = check_condition(options.condition, last);
            if (met == Met::yes) co_return Result<void>{};
            if (met == Met::never) co_return unmet(job, options, last, false);
        }
        if (end.passed()) co_return problem ? *problem : unmet(job, options, last, true);
        const aio::Deadline pause = aio::Deadline::in(options.interval);
        const aio::Deadline next = aio::Deadline::earlier(end, pause);
        co_await aio::sleep_until(next);
    }
}

aio::Task<int> run_wait(Connection& connection, WaitOptions options) {
    nlohmann::json results = nlohmann::json::array();
    int exit_code = 0;
    for (const JobName& job : options.jobs) {
        JobName known = job;
        if (known.namespace_name.empty()) {
            known.namespace_name = connection.options().namespace_name;
        }
        JobName asked = known;
        WaitOptions how = options;
        const Result<void> waited =
            co_await wait_for_job(connection, std::move(asked), std::move(how));
        if (waited) {
            results.push_back({{"job", to_string(known)}, {"condition", options.condition}});
            if (!is_document(options.format)) {
                std::cout << "job " << printable(to_string(known)) << " is " << options.condition
                          << '\n';
            }
            continue;
        }
        exit_code = exit_code_of(waited.error());
        if (is_document(options.format)) {
            results.push_back(error_json(waited.error(), to_string(known)));
        } else {
            report(waited.error(), options.format);
        }
    }
    if (is_document(options.format)) {
        print_document(std::cout, results.size() == 1 ? results[0] : results, options.format);
    }
    co_return exit_code;
}

}  // namespace gpuctl::cli
