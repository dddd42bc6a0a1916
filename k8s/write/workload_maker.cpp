#include "k8s/write/workload_maker.hpp"

#include "aio/loop.hpp"
#include "k8s/json/json_cursor.hpp"
#include "k8s/json/json_text.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

constexpr std::chrono::seconds kWorkloadTimeout{10};
constexpr std::size_t kWorkloadsRunningMax = 8;

aio::Deadline call_deadline() { return aio::Deadline::in(kWorkloadTimeout); }

}  // namespace

ObjectMark read_mark(std::string_view json, const LabelKeys& labels) {
    ObjectMark mark;
    JsonCursor cursor{json};
    cursor.object([&](std::string_view part) {
        if (part != "metadata") return cursor.skip();
        cursor.object([&](std::string_view key) {
            if (key == "uid") {
                mark.uid = cursor.string();
            } else if (key == "resourceVersion") {
                mark.version = cursor.string();
            } else if (key == "labels") {
                cursor.object([&](std::string_view label) {
                    const std::string_view value = cursor.string();
                    const OwnKey own = labels.recognise(label).key;
                    if (own == OwnKey::job_uid) mark.job_uid = value;
                    if (own == OwnKey::job_type) mark.job_type = value;
                });
            } else {
                cursor.skip();
            }
        });
    });
    return mark;
}

std::string delete_options(std::string_view uid, bool force) {
    std::string body =
        R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background")";
    if (force) body += R"(,"gracePeriodSeconds":0)";
    body += R"(,"preconditions":{"uid":)";
    append_json_string(body, uid);
    return body + "}}";
}

WorkloadMaker::WorkloadMaker(aio::TaskGroup& group, Client& client, WorkloadSettings settings,
                             Done done)
    : client_(client),
      settings_(std::move(settings)),
      done_(std::move(done)),
      queue_(group, "workload", kWorkloadsRunningMax) {}

void WorkloadMaker::create(CreateWorkload order) {
    queue_.add([this, order = std::move(order)] { return run_create(order); });
}

void WorkloadMaker::remove(DeleteWorkload order) {
    queue_.add([this, order = std::move(order)] { return run_remove(order); });
}

void WorkloadMaker::delete_pod(DeletePod order, bool may_delete) {
    if (!may_delete) {
        done_(PodDeleteOutcome{
            order.id, order.pod.uid, false,
            "pod " + to_string(order.pod.key) +
                " has no controller that would create it again, so gpuctld does not delete it"});
        return;
    }
    queue_.add([this, order = std::move(order)] { return run_delete_pod(order); });
}

WorkloadMaker::Step WorkloadMaker::failed(std::string what, const ApiError& error) {
    Step step;
    step.ok = false;
    step.message = std::move(what) + ": " + error.message;
    if (error.is_namespace_terminating()) {
        step.message += "; submit the job to another namespace, or again when this one is gone";
        step.code = ErrorCode::Conflict;
        return step;
    }
    switch (error.code) {
        case ErrorCode::NotFound:  // of a write: its namespace does not exist
            step.code = ErrorCode::NamespaceNotFound;
            step.message += "; create the namespace first, or name another one in job.namespace";
            break;
        case ErrorCode::Forbidden:
        case ErrorCode::BadRequest:
        case ErrorCode::ValidationFailed:
        case ErrorCode::Conflict:
            step.code = error.code;
            break;
        default:
            step.retryable = true;
    }
    return step;
}

aio::Task<void> WorkloadMaker::run_create(CreateWorkload order) {
    const EffectId id = order.id;
    const ObjectKey key = order.job->spec.key;
    if (order.deadline.happened() && aio::Loop::wall_ms() >= order.deadline.ms()) {
        done_(WorkloadOutcome{
            id, key, false, true,
            "create job " + to_string(key) + ": not sent, its deadline passed while it waited",
            ErrorCode::Timeout});
        co_return;
    }
    const Step step = co_await create_steps(std::move(order));
    done_(WorkloadOutcome{id, key, step.ok, step.retryable, step.message, step.code});
}

WorkloadMaker::Step WorkloadMaker::not_makeable(const Error& error) {
    Step refused;
    refused.ok = false;
    refused.message = error.message;
    refused.code = error.code;
    return refused;
}

aio::Task<Result<void>> WorkloadMaker::try_create(JobRecord job, Epoch epoch) {
    auto body = workload_body(job, settings_);
    if (!body) co_return body.error();
    Step step = co_await check_name(job);
    if (step.ok) {
        const WorkloadPaths paths = workload_paths(job.spec.kind, job.spec.key);
        step = co_await apply(paths.object, std::move(*body), epoch, true);
    }
    if (step.ok) step = co_await ensure_claims(job, epoch, true);
    if (step.ok) co_return Result<void>{};
    co_return make_error(step.code, "check job " + to_string(job.spec.key) +
                                        ": the cluster would refuse it: " + step.message);
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::create_steps(CreateWorkload order) {
    const JobRecord& job = *order.job;
    auto body = workload_body(job, settings_);
    if (!body) co_return not_makeable(body.error());
    Step step = co_await ensure_priority_class(job.spec.priority, order.epoch);
    if (!step.ok) co_return step;
    step = co_await check_name(job);
    if (!step.ok) co_return step;
    const WorkloadPaths paths = workload_paths(job.spec.kind, job.spec.key);
    if (!job.spec.claims.empty()) {
        std::string tried = *body;
        step = co_await apply(paths.object, std::move(tried), order.epoch, true);
        if (step.ok) step = co_await ensure_claims(job, order.epoch, false);
        if (!step.ok) co_return step;
    }
    Step made = co_await apply(paths.object, std::move(*body), order.epoch);
    if (!made.ok && !made.retryable) {
        // The last attempt was refused; an earlier one, whose answer was lost, may have created it.
        Step there = co_await read_object(paths.object, job.uid);
        if (there.retryable || (there.ok && there.found)) made = std::move(there);
    }
    if (!made.ok) co_return made;
    Step owned = co_await make_owned(job, made.uid, order.epoch);
    if (!owned.ok && !owned.retryable) {
        // A workload without its other objects is a failed create: delete it again.
        const Step undone = co_await send_delete(paths.object, made.uid, false, order.epoch);
        if (!undone.ok) owned.message += "; and " + undone.message;
        owned.retryable = undone.retryable;  // retried rather than left half made
    }
    co_return owned;
}

// The value of a PriorityClass cannot be changed, so a different one is only reported.
aio::Task<WorkloadMaker::Step> WorkloadMaker::ensure_priority_class(JobPriority priority,
                                                                    Epoch epoch) {
    if (classes_ensured_.contains(priority)) co_return Step{};
    const std::string name = priority_class_name(priority);
    const std::string collection = "/apis/scheduling.k8s.io/v1/priorityclasses";
    auto found = co_await client_.get(collection + "/" + name, call_deadline());
    if (!found && found.error().http_status == 404) {
        ApiCall call;
        call.method = "POST";
        call.path = collection + "?fieldManager=gpuctl";
        call.body = priority_class_body(priority);
        call.fenced_by = epoch;
        auto made = co_await client_.call(std::move(call), call_deadline());
        if (!made && made.error().http_status != 409) {
            co_return failed("create PriorityClass " + name, made.error());
        }
    } else if (!found) {
        co_return failed("read PriorityClass " + name, found.error());
    } else if (const auto value = json_member(found->body, "value");
               value != std::to_string(priority_value(priority))) {
        Step wrong;
        wrong.ok = false;
        wrong.message = "PriorityClass " + name + " exists with another value than " +
                        std::to_string(priority_value(priority)) +
                        "; delete it, and gpuctld creates it with the right value";
        co_return wrong;
    }
    classes_ensured_.insert(priority);
    co_return Step{};
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::read_object(std::string path, std::string job_uid) {
    auto found = co_await client_.get(path, call_deadline());
    Step step;
    if (!found) {
        if (found.error().http_status != 404) co_return failed("read " + path, found.error());
        step.found = false;
        co_return step;
    }
    const ObjectMark mark = read_mark(found->body, settings_.labels);
    step.uid = mark.uid;
    step.version = mark.version;
    step.is_made_here = !mark.job_type.empty();
    step.ok = !job_uid.empty() && mark.job_uid == job_uid;
    co_return step;
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::check_name(JobRecord job) {
    // The name is the job's id over all kinds of workload in its namespace.
    for (const JobKind kind : {JobKind::training, JobKind::inference, JobKind::notebook}) {
        const WorkloadPaths paths = workload_paths(kind, job.spec.key);
        Step step = co_await read_object(paths.object, job.uid);
        if (!step.ok && step.message.empty()) {
            step.message = std::string(paths.kind) + " " + to_string(job.spec.key) +
                           " exists already and was not created for this job";
            step.code = ErrorCode::JobExists;
        }
        if (!step.ok) co_return step;
    }
    Step owned = co_await check_owned(std::move(job));
    co_return owned;
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::apply(std::string path, std::string body, Epoch epoch,
                                                    bool is_dry_run) {
    ApiCall call;
    call.method = "PATCH";
    // Without force: a field that another manager owns is a conflict to report, not to overwrite.
    call.path = path + "?fieldManager=gpuctl" + (is_dry_run ? "&dryRun=All" : "");
    call.body = std::move(body);
    call.content_type = kApplyPatch;
    call.retry = RetryClass::safe;
    call.fenced_by = epoch;
    auto answer = co_await client_.call(std::move(call), call_deadline());
    if (!answer) co_return failed("apply " + path, answer.error());
    Step step;
    step.uid = read_mark(answer->body, settings_.labels).uid;
    co_return step;
}

aio::Task<void> WorkloadMaker::run_remove(DeleteWorkload order) {
    const EffectId id = order.id;
    const ObjectKey key = order.key;
    const Step step = co_await remove_steps(std::move(order));
    done_(WorkloadOutcome{id, key, step.ok, step.retryable, step.message, step.code});
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::remove_steps(DeleteWorkload order) {
    // Never created, so nothing exists; and a path with such a name would lead elsewhere.
    if (!is_addressable(order.key)) co_return Step{};
    const WorkloadPaths paths = workload_paths(order.kind, order.key);
    Step workload = co_await remove_object(paths.object, order.force, order.epoch);
    if (!workload.ok) co_return workload;
    const Step service = co_await remove_object(paths.service, false, order.epoch);
    // A foreign Service of that name is left alone.
    if (!service.ok && service.retryable) co_return service;
    if (workload.found && !order.force) co_return workload;
    // No parent, so its pods are not garbage-collected; or the user wants them deleted at once.
    Step pods = co_await remove_pods(order.key, order.force, order.epoch);
    co_return pods;
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::remove_object(std::string path, bool force,
                                                            Epoch epoch) {
    auto found = co_await client_.get(path, call_deadline());
    if (!found) {
        if (found.error().http_status != 404) co_return failed("read " + path, found.error());
        Step gone;
        gone.found = false;
        co_return gone;
    }
    const ObjectMark mark = read_mark(found->body, settings_.labels);
    if (mark.job_type.empty()) {
        Step foreign;
        foreign.ok = false;
        foreign.message = path + " was not created by gpuctl and is not changed";
        co_return foreign;
    }
    Step step = co_await send_delete(path, mark.uid, force, epoch);
    co_return step;
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::send_delete(std::string path, std::string uid,
                                                          bool force, Epoch epoch) {
    ApiCall call;
    call.method = "DELETE";
    call.path = path;
    call.body = delete_options(uid, force);
    call.retry = RetryClass::safe;  // the uid identifies the incarnation
    call.fenced_by = epoch;
    auto answer = co_await client_.call(std::move(call), call_deadline());
    // 404: gone. 409: this incarnation is gone, another one has its name.
    if (!answer && answer.error().http_status != 404 && answer.error().http_status != 409) {
        co_return failed("delete " + path, answer.error());
    }
    co_return Step{};
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::remove_pods(ObjectKey job, bool force, Epoch epoch) {
    const std::string collection =
        "/api/v1/namespaces/" + net::percent_encode(job.namespace_name) + "/pods";
    const std::string selector = settings_.labels.text(OwnKey::name) + "=" + job.name;
    auto list = co_await client_.get(collection + "?labelSelector=" + net::percent_encode(selector),
                                     call_deadline());
    if (!list) co_return failed("list the pods of " + to_string(job), list.error());
    std::vector<ObjectIdentity> pods;
    JsonCursor cursor{list->body};
    cursor.object([&](std::string_view key) {
        if (key != "items") return cursor.skip();
        cursor.array([&] {
            if (auto pod = identity_of(cursor.raw())) pods.push_back(std::move(*pod));
        });
    });
    Step result;
    for (const ObjectIdentity& pod : pods) {
        const Step step = co_await send_delete(collection + "/" + net::percent_encode(pod.name),
                                               pod.uid, force, epoch);
        if (!step.ok) result = step;
    }
    if (result.ok && !pods.empty()) {
        result.message = "deleted " + std::to_string(pods.size()) + " pod(s) of " + to_string(job);
    }
    co_return result;
}

aio::Task<void> WorkloadMaker::run_delete_pod(DeletePod order) {
    const std::string path = "/api/v1/namespaces/" +
                             net::percent_encode(order.pod.key.namespace_name) + "/pods/" +
                             net::percent_encode(order.pod.key.name);
    const Step step = co_await send_delete(path, order.pod.uid, false, order.epoch);
    done_(PodDeleteOutcome{order.id, order.pod.uid, step.ok, step.message});
}

}  // namespace gpuctl::k8s
