// Changes the object of a job: read, compare its owner, patch with the resourceVersion that was
// read. An answer that is lost is no problem: the engine sends the order again, and the object is
// read again.

#include <utility>

#include "aio/loop.hpp"
#include "k8s/workload/workload_update.hpp"
#include "k8s/write/workload_maker.hpp"

namespace gpuctl::k8s {
namespace {

constexpr std::chrono::seconds kUpdateTimeout{10};

aio::Deadline update_deadline() { return aio::Deadline::in(kUpdateTimeout); }

// Of an object whose name the new one takes; the last segment is the name.
std::string rehearsal_path(const std::string& path, std::string_view name) {
    return path.substr(0, path.rfind('/') + 1) + std::string{name};
}

}  // namespace

void WorkloadMaker::update(UpdateWorkload order) {
    queue_.add([this, order = std::move(order)] { return run_update(order); });
}

aio::Task<void> WorkloadMaker::run_update(UpdateWorkload order) {
    const EffectId id = order.id;
    const ObjectKey key = order.job->spec.key;
    if (order.deadline.happened() && aio::Loop::wall_ms() >= order.deadline.ms()) {
        done_(WorkloadOutcome{
            id, key, false, true,
            "change job " + to_string(key) + ": not sent, its deadline passed while it waited",
            ErrorCode::Timeout});
        co_return;
    }
    const bool is_made_again = order.job->uid != order.job_uid;
    Step step;
    if (!is_addressable(key)) {  // possible in an older journal
        step = missing(key);
    } else if (is_made_again) {
        step = co_await make_again(std::move(order));
    } else {
        step = co_await change(std::move(order));
    }
    done_(WorkloadOutcome{id, key, step.ok, step.retryable, step.message, step.code});
}

WorkloadMaker::Step WorkloadMaker::missing(const ObjectKey& key) {
    Step step;
    step.ok = false;
    step.message = "the object of job " + to_string(key) + " does not exist any more";
    step.code = ErrorCode::JobNotFound;
    return step;
}

WorkloadMaker::Step WorkloadMaker::of_another(const ObjectKey& key) {
    Step step;
    step.ok = false;
    step.message = "the object named " + to_string(key) + " is that of another job by now";
    step.code = ErrorCode::Conflict;
    return step;
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::change(UpdateWorkload order) {
    const JobRecord& job = *order.job;
    const WorkloadPaths paths = workload_paths(order.kind, job.spec.key);
    const Step there = co_await read_object(paths.object, order.job_uid);
    if (there.retryable || (!there.ok && !there.message.empty())) co_return there;
    if (!there.found) co_return missing(job.spec.key);
    if (!there.ok) co_return of_another(job.spec.key);
    Result<UpdateBody> body = update_body(order, settings_, there.version);
    if (!body) co_return not_makeable(body.error());
    if (order.part == WorkloadPart::whole) {
        const Step ready = co_await ensure_priority_class(job.spec.priority, order.epoch);
        if (!ready.ok) co_return ready;
        const Step volumes = co_await ensure_claims(job, order.epoch, false);
        if (!volumes.ok) co_return volumes;
    }
    ApiCall call;
    call.method = "PATCH";
    call.path = paths.object + "?fieldManager=gpuctl" + (body->overrides ? "&force=true" : "");
    call.body = std::move(body->text);
    call.content_type = body->content_type;
    call.retry = RetryClass::safe;  // a second one has a version that is not the object's any more
    call.fenced_by = order.epoch;
    auto answer = co_await client_.call(std::move(call), update_deadline());
    if (!answer) {
        Step refused = failed("change " + paths.object, answer.error());
        // Changed between reading and patching: it is read again with the next try.
        if (answer.error().http_status == 409) refused.retryable = true;
        if (answer.error().http_status == 404) refused.code = ErrorCode::JobNotFound;
        co_return refused;
    }
    if (order.part != WorkloadPart::whole) co_return Step{};
    // The ports of its Service keep their numbers on the nodes: they are not among our fields.
    Step owned = co_await make_owned(job, there.uid, order.epoch);
    co_return owned;
}

// Everything is checked before anything is deleted. The Service outlives the object without an
// owner, and so keeps its ports.
aio::Task<WorkloadMaker::Step> WorkloadMaker::make_again(UpdateWorkload order) {
    const JobRecord& job = *order.job;
    const WorkloadPaths before = workload_paths(order.kind, job.spec.key);
    const Step there = co_await read_object(before.object, order.job_uid);
    if (there.retryable) co_return there;
    if (there.found && !there.ok) {
        const Step made_before = co_await read_object(before.object, job.uid);
        if (made_before.retryable) co_return made_before;
        if (made_before.found && !made_before.ok) co_return of_another(job.spec.key);
    }
    if (there.found && there.ok) {
        Step rehearsed = co_await rehearse(job, order.epoch);
        if (!rehearsed.ok) co_return rehearsed;
        if (needs_service(job.spec) && order.kind == job.spec.kind) {
            std::string service = service_body(job, settings_, "");
            Step freed = co_await apply(before.service, std::move(service), order.epoch);
            if (!freed.ok) co_return freed;
        }
        Step gone = co_await send_delete(before.object, there.uid, false, order.epoch);
        if (!gone.ok) co_return gone;
    }
    CreateWorkload creation;
    creation.id = order.id;
    creation.epoch = order.epoch;
    creation.job = job;
    Step made = co_await create_steps(std::move(creation));
    // The former object may still be there for a while. It must not stay without a successor.
    if (!made.ok) made.retryable = true;
    co_return made;
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::rehearse(JobRecord job, Epoch epoch) {
    auto body = rehearsal_body(job, settings_);
    if (!body) co_return not_makeable(body.error());
    const WorkloadPaths paths = workload_paths(job.spec.kind, job.spec.key);
    const std::string path = rehearsal_path(paths.object, rehearsal_name(job.spec.key.name));
    Step step = co_await apply(path, std::move(*body), epoch, true);
    co_return step;
}

}  // namespace gpuctl::k8s
