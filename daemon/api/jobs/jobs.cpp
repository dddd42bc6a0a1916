// Reading and deleting jobs.

#include <nlohmann/json.hpp>

#include "daemon/api/http/handlers.hpp"
#include "daemon/api/http/readiness.hpp"
#include "daemon/api/http/reply.hpp"
#include "daemon/api/http/selection.hpp"
#include "daemon/api/jobs/access.hpp"
#include "daemon/api/jobs/finished.hpp"
#include "daemon/api/jobs/job_rows.hpp"
#include "daemon/api/jobs/missing_pods.hpp"
#include "daemon/api/jobs/shapes.hpp"
#include "scheduler/whatif/foresee.hpp"

namespace gpuctl::api {
namespace {

Result<JobSelection> selection_of(Listing& listing, const Call& call) {
    JobSelection selection;
    if (const auto name = call.query("namespace"); !name.empty()) selection.namespace_name = name;
    if (const auto name = call.query("queue"); !name.empty()) selection.queue = name;
    Result<std::string> pool = pool_of(listing, call);
    if (!pool) return pool.error();
    if (!pool->empty()) selection.pool = std::move(*pool);
    if (const std::string kind{call.query("kind")}; !kind.empty()) {
        for (const JobKind known :
             {JobKind::training, JobKind::inference, JobKind::notebook, JobKind::compute}) {
            if (equal_without_case(kind, to_string(known))) selection.kind = known;
        }
        selection.made_elsewhere = equal_without_case(kind, "pod");
        if (!selection.kind && !selection.made_elsewhere) {
            return make_error(
                ErrorCode::BadRequest,
                "read kind=" + kind + ": must be training, inference, notebook, compute or pod");
        }
    }
    const std::string_view view = call.query("view");
    if (!view.empty() && view != "pod" && view != "job") {
        return make_error(ErrorCode::BadRequest,
                          "read view=" + std::string{view} + ": must be pod or job");
    }
    selection.by_pod = view != "job";
    const std::string_view status = call.query("status");
    if (auto bad = bad_job_status(listing, status)) return std::move(*bad);
    if (!status.empty()) selection.status = status;
    return selection;
}

Result<JobView> job_named(Services& services, const Call& call) {
    return find_job(services.engine.listing(), call.query("namespace"), call.parameters.at(0));
}

// Pods and a Service whose workload is gone: gpuctl knows no job of that name, and nothing else
// would remove them. `otherwise` is answered if there are none.
aio::Task<net::HttpResponse> delete_orphans(Services& services, Call call, ObjectKey key,
                                            bool force, Error otherwise) {
    const Epoch epoch = services.engine.state().session.epoch();
    const Result<ports::Orphans> removed =
        co_await services.cluster.remove_orphans(key, force, epoch);
    if (!removed) co_return problem_reply(removed.error(), call);
    if (!removed->any()) co_return problem_reply(otherwise, call);
    Json body;
    body["jobId"] = key.name;
    body["namespace"] = key.namespace_name;
    body["status"] = "terminating";
    body["pods"] = removed->pods;
    body["message"] = "job " + to_string(key) + " has no workload any more; deleted " +
                      std::to_string(removed->pods) + " pod(s)" +
                      (removed->service ? " and Service svc-" + key.name : "") +
                      " that it had left behind";
    co_return json_reply(200, body);
}

Error not_ours(const ObjectKey& key) {
    return make_error(ErrorCode::Conflict,
                      "delete job " + to_string(key) +
                          ": it was not created by gpuctl; delete the object that created it "
                          "(kubectl)");
}

}  // namespace

net::HttpResponse list_jobs_page(Services& services, const Call& call) {
    const Result<Page> page = page_of(call);
    if (!page) return problem_reply(page.error(), call);
    Listing& listing = services.engine.listing();
    const Result<JobSelection> selection = selection_of(listing, call);
    if (!selection) return problem_reply(selection.error(), call);
    constexpr std::size_t row_bytes = 512;
    std::string body;
    body.reserve(static_cast<std::size_t>(page->size) * row_bytes);
    const Result<bool> every = flag_of(call, "allSchedulers");
    if (!every) return problem_reply(every.error(), call);
    const std::vector<PodId> foreign =
        *every ? foreign_pods(listing.state(), *selection) : std::vector<PodId>{};
    JobRows{listing, wall_now(), body}.add_page(*selection, page->number, page->size, foreign);
    return json_text_reply(std::move(body));
}

aio::Task<net::HttpResponse> get_job(Services& services, Call call) {
    Result<JobView> job = job_named(services, call);
    if (!job) co_return problem_reply(job.error(), call);
    std::string namespace_name = job->key.namespace_name;
    const ReportedEvents reported =
        co_await read_reported_events(services, std::move(namespace_name));
    job = job_named(services, call);  // the state may have changed after the wait
    if (!job) co_return problem_reply(job.error(), call);
    std::string trouble;
    if (waits_for_controller(*job)) {
        const std::string words = co_await controller_words(services, ObjectKey{job->key});
        job = job_named(services, call);
        if (!job) co_return problem_reply(job.error(), call);
        if (job->waiting) trouble = words;
    }
    std::int32_t node_port = 0;
    if (has_service(*job)) {
        ObjectKey key = job->key;
        node_port = co_await node_port_of(services, std::move(key));
        job = job_named(services, call);
        if (!job) co_return problem_reply(job.error(), call);
    }
    if (job->waiting) add_controller_words(trouble, *job->waiting);
    if (job->waiting) whatif::keep_to(job->start, *job->waiting);
    const ClusterState& state = services.engine.state();
    const ShownEvents events =
        events_of(state, services.engine.history().of(job->key), reported, *job);
    co_return json_text_reply(job_detail(services.engine.listing(), *job, events,
                                         access_json(state, *job, node_port), wall_now()));
}

aio::Task<net::HttpResponse> delete_job(Services& services, Call call) {
    const Result<bool> force = flag_of(call, "force");
    if (!force) co_return problem_reply(force.error(), call);
    const Result<JobView> job = job_named(services, call);
    if (!job && job.error().code != ErrorCode::JobNotFound) {
        co_return problem_reply(job.error(), call);
    }
    if (!job || !job->kind) {
        ObjectKey key{std::string{call.query("namespace")}, call.parameters.at(0)};
        if (job) key = ObjectKey{job->key.namespace_name, shown_name(job->key)};
        if (key.namespace_name.empty()) key.namespace_name = "default";
        Error otherwise = job ? not_ours(job->key) : job.error();
        net::HttpResponse reply =
            co_await delete_orphans(services, call, key, *force, std::move(otherwise));
        co_return reply;
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
