// Reading and deleting jobs.

#include <nlohmann/json.hpp>

#include "daemon/api/finished.hpp"
#include "daemon/api/handlers.hpp"
#include "daemon/api/missing_pods.hpp"
#include "daemon/api/open_question.hpp"
#include "daemon/api/readiness.hpp"
#include "daemon/api/reply.hpp"
#include "daemon/api/selection.hpp"
#include "daemon/api/shapes.hpp"
#include "daemon/api/standing.hpp"
#include "scheduler/whatif/foresee.hpp"

namespace gpuctl::api {
namespace {

Instant wall_now() { return Instant{aio::Loop::wall_ms()}; }

Result<JobFilter> filter_of(const ClusterState& state, const Call& call) {
    JobFilter filter;
    if (const auto name = call.query("namespace"); !name.empty()) filter.namespace_name = name;
    Result<std::string> pool = pool_of(state, call);
    if (!pool) return pool.error();
    if (!pool->empty()) filter.pool = std::move(*pool);
    if (const std::string kind{call.query("kind")}; !kind.empty()) {
        for (const JobKind known :
             {JobKind::training, JobKind::inference, JobKind::notebook, JobKind::compute}) {
            if (equal_without_case(kind, to_string(known))) filter.kind = known;
        }
        filter.made_elsewhere = equal_without_case(kind, "pod");
        if (!filter.kind && !filter.made_elsewhere) {
            return make_error(
                ErrorCode::BadRequest,
                "read kind=" + kind + ": must be training, inference, notebook, compute or pod");
        }
    }
    return filter;
}

Result<JobView> job_named(Services& services, const Call& call) {
    return find_job(services.engine.state(), call.query("namespace"), call.parameters.at(0));
}

// The view of the job is not kept over the question: the state may be another after it.
aio::Task<std::string> words_about(Services& services, Call call) {
    ObjectKey key;
    {
        const Result<JobView> job = job_named(services, call);
        if (!job || !waits_for_controller(*job)) co_return std::string{};
        key = job->key;
    }
    std::string words = co_await controller_words(services, key);
    co_return words;
}

// When it starts, as its pool would live on; while another question is tried, and of one that does
// not wait, what the list says.
aio::Task<std::optional<StartEstimate>> start_of(Services& services, Call call) {
    const Result<JobView> job = job_named(services, call);
    if (!job) co_return std::nullopt;
    constexpr std::int64_t kAheadMost = 1'000;  // further back the list is as good
    const bool is_far = job->position > kAheadMost;
    if (job->position == 0 || is_far || cannot_ask(services)) co_return job->start;
    const OpenQuestion open{services};
    std::function<std::optional<StartEstimate>()> work =
        [state = services.engine.engine().export_state(), key = job->key, told = job->start] {
            return whatif::foresee_start(state, key, wall_now(), told);
        };
    co_return co_await aio::offload(services.loop, std::move(work));
}

}  // namespace

net::HttpResponse list_jobs_page(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    Result<JobFilter> filter = filter_of(services.engine.state(), call);
    if (!filter) return problem_reply(filter.error(), call);
    const std::string_view view = call.query("view");
    if (!view.empty() && view != "pod" && view != "job") {
        return problem_reply(make_error(ErrorCode::BadRequest,
                                        "read view=" + std::string{view} + ": must be pod or job"),
                             call);
    }
    const std::string_view status = call.query("status");
    if (const auto bad = bad_job_status(services.engine.state(), status)) {
        return problem_reply(*bad, call);
    }
    const Instant now = wall_now();
    std::vector<Json> rows;
    for (const JobView& job : list_jobs(services.engine.state(), *filter)) {
        if (view == "job" || job.pods.empty()) {
            if (!has_status(job, status)) continue;
            rows.push_back(view == "job" ? job_row(job, now) : row_without_pods(job, now));
            continue;
        }
        for (const PodView& pod : job.pods) {
            if (has_status(job, pod, status)) rows.push_back(pod_row(job, pod, now));
        }
    }
    Json body = page_json(*page, std::move(rows));
    body["finishedRemoved"] = removed_json(services.engine.state(), filter->namespace_name);
    return json_reply(200, body);
}

aio::Task<net::HttpResponse> get_job(Services& services, Call call) {
    const std::string words = co_await words_about(services, call);
    Result<JobView> job = job_named(services, call);
    if (!job) co_return problem_reply(job.error(), call);
    if (job->waiting) {
        add_controller_words(words, *job->waiting);
        whatif::keep_to(job->start, *job->waiting);
    }
    Json body = job_detail(*job, services.engine.history().of(job->key), wall_now());
    body["notKept"] = not_kept_sentence(services.engine.state(), *job);
    co_return json_reply(200, body);
}

aio::Task<net::HttpResponse> explain(Services& services, Call call) {
    const std::string words = co_await words_about(services, call);
    const std::optional<StartEstimate> foreseen = co_await start_of(services, call);
    Result<JobView> job = job_named(services, call);
    if (!job) co_return problem_reply(job.error(), call);
    const std::optional<StartEstimate> start = job->position > 0 ? foreseen : job->start;
    if (job->waiting) {
        add_controller_words(words, *job->waiting);
        whatif::keep_to(start, *job->waiting);
    }
    Json body;
    body["jobId"] = shown_name(job->key);
    body["name"] = shown_name(job->key);
    body["namespace"] = job->key.namespace_name;
    body["status"] = job->status;
    body["pool"] = job->pool;
    body["queue"] = job->queue;
    body["position"] = job->position;
    body["estimatedStart"] = start_json(start);
    body["startedAt"] = format_time(job->started_at);
    body["finishedAt"] = format_time(job->finished_at);
    body["summary"] = standing_sentence(*job, services.engine.history().of(job->key));
    const std::optional<TurnView> turn = turn_of(services.engine.state(), job->key);
    body["turn"] = turn ? turn_json(*turn) : Json{};
    body["blockers"] = Json::array();
    for (Explanation& blocker : explain_job(services.engine.state(), job->key)) {
        add_controller_words(words, blocker);
        whatif::keep_to(start, blocker);
        Json entry = explanation_json(blocker);
        entry["kubernetesMessage"] = kubernetes_message(blocker);
        body["blockers"].push_back(std::move(entry));
    }
    co_return json_reply(200, body);
}

aio::Task<net::HttpResponse> delete_job(Services& services, Call call) {
    const Result<bool> force = flag_of(call, "force");
    if (!force) co_return problem_reply(force.error(), call);
    const Result<JobView> job = job_named(services, call);
    if (!job) co_return problem_reply(job.error(), call);
    if (!job->kind) {
        const std::string name = to_string(job->key);
        co_return problem_reply(
            make_error(ErrorCode::Conflict,
                       "delete job " + name +
                           ": it was not created through gpuctl; delete it where it was made "
                           "(kubectl)"),
            call);
    }
    const ObjectKey key = job->key;
    const aio::Deadline deadline = aio::Deadline::in(services.settings.request_timeout);
    Result<void> removed = co_await services.engine.remove(key, *force, deadline);
    if (!removed) co_return problem_reply(with_cause(services, removed.error()), call);
    Json body;
    body["jobId"] = key.name;
    body["namespace"] = key.namespace_name;
    body["status"] = "terminating";
    body["message"] = "job " + to_string(key) + " is being deleted";
    co_return json_reply(200, body);
}

}  // namespace gpuctl::api
