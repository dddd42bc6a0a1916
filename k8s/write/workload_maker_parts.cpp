// The objects of a job besides its workload: Service, ConfigMap, claims.

#include "k8s/json/json_cursor.hpp"
#include "k8s/json/json_text.hpp"
#include "k8s/write/workload_maker.hpp"
#include "net/http/http_types.hpp"

namespace gpuctl::k8s {

namespace {

aio::Deadline part_deadline() { return aio::Deadline::in(std::chrono::seconds{10}); }

struct PodMark {
    std::string app;
    std::string name;  // label prefix/name
    std::string job_type;
    bool has_controller = false;
    bool is_terminating = false;
};

PodMark read_pod_mark(std::string_view json, const LabelKeys& labels) {
    PodMark mark;
    JsonCursor cursor{json};
    const auto read_label = [&](std::string_view label) {
        const std::string_view value = cursor.string();
        const OwnKey own = labels.recognise(label).key;
        if (label == "app") mark.app = value;
        if (own == OwnKey::name) mark.name = value;
        if (own == OwnKey::job_type) mark.job_type = value;
    };
    const auto read_owner = [&](std::string_view member) {
        if (member != "controller") return cursor.skip();
        mark.has_controller = cursor.boolean() || mark.has_controller;
    };
    cursor.object([&](std::string_view part) {
        if (part != "metadata") return cursor.skip();
        cursor.object([&](std::string_view key) {
            if (key == "labels") {
                cursor.object(read_label);
            } else if (key == "ownerReferences") {
                cursor.array([&] { cursor.object(read_owner); });
            } else if (key == "deletionTimestamp") {
                mark.is_terminating = !cursor.string().empty();
            } else {
                cursor.skip();
            }
        });
    });
    return mark;
}

// The pods of a PodList that were made for this job and that no controller would create again.
std::vector<ObjectIdentity> orphans_in(std::string_view list, const std::string& job, bool force,
                                       const LabelKeys& labels) {
    std::vector<ObjectIdentity> orphans;
    JsonCursor cursor{list};
    cursor.object([&](std::string_view key) {
        if (key != "items") return cursor.skip();
        cursor.array([&] {
            const std::string_view pod = cursor.raw();
            const PodMark mark = read_pod_mark(pod, labels);
            if (mark.job_type.empty() || mark.has_controller) return;
            if ((mark.name.empty() ? mark.app : mark.name) != job) return;
            if (mark.is_terminating && !force) return;
            if (auto identity = identity_of(pod)) orphans.push_back(std::move(*identity));
        });
    });
    return orphans;
}

}  // namespace

aio::Task<WorkloadMaker::Step> WorkloadMaker::check_owned(JobRecord job) {
    const WorkloadPaths paths = workload_paths(job.spec.kind, job.spec.key);
    Step step;
    if (needs_service(job.spec)) {
        std::string kind = "Service";
        step = co_await check_owned_object(std::move(kind), paths.service, job);
    }
    if (step.ok && needs_config_map(job.spec)) {
        std::string kind = "ConfigMap";
        step = co_await check_owned_object(std::move(kind), paths.config_map, job);
    }
    co_return step;
}

// If ours were applied over a foreign Service, it would redirect that Service's traffic to the job
// and delete the Service with the job; a ConfigMap likewise.
aio::Task<WorkloadMaker::Step> WorkloadMaker::check_owned_object(std::string kind, std::string path,
                                                                 JobRecord job) {
    Step step = co_await read_object(path, job.uid);
    if (step.ok || !step.message.empty()) co_return step;
    const std::string name =
        kind + " " + job.spec.key.namespace_name + path.substr(path.rfind('/'));
    if (step.is_made_here) {
        step.retryable = true;  // garbage-collected with the previous job of this name
        step.message = name + " of an earlier job of this name is still being removed";
        co_return step;
    }
    step.message = name + " exists already and was not created by gpuctl; the job needs a " + kind +
                   " of that name: rename or delete the existing one, or choose another name for "
                   "the job";
    step.code = ErrorCode::JobExists;
    co_return step;
}

// The ConfigMap first: pods that have a node wait for it.
aio::Task<WorkloadMaker::Step> WorkloadMaker::make_owned(JobRecord job, std::string owner_uid,
                                                         Epoch epoch) {
    const WorkloadPaths paths = workload_paths(job.spec.kind, job.spec.key);
    Step step;
    step.uid = owner_uid;
    if (needs_config_map(job.spec)) {
        std::string body = config_map_body(job, settings_, owner_uid);
        step = co_await apply(paths.config_map, std::move(body), epoch);
    }
    if (step.ok && needs_service(job.spec)) {
        std::string body = service_body(job, settings_, owner_uid);
        step = co_await apply(paths.service, std::move(body), epoch);
    }
    co_return step;
}

aio::Task<WorkloadMaker::Step> WorkloadMaker::ensure_claims(JobRecord job, Epoch epoch,
                                                            bool is_dry_run) {
    for (const VolumeClaim& claim : job.spec.claims) {
        Step step = co_await ensure_claim(job, claim, epoch, is_dry_run);
        if (!step.ok) co_return step;
    }
    co_return Step{};
}

// A claim that exists keeps its data: it is used if it is this job's and as the job wants it, and
// never changed. A create whose answer was lost is run again and finds the claim.
aio::Task<WorkloadMaker::Step> WorkloadMaker::ensure_claim(JobRecord job, VolumeClaim claim,
                                                           Epoch epoch, bool is_dry_run) {
    const std::string collection = workload_paths(job.spec.kind, job.spec.key).claims;
    const std::string name = claim_name(job.spec, claim);
    std::string path = collection + "/" + name;
    const aio::Deadline deadline = part_deadline();
    auto found = co_await client_.get(std::move(path), deadline);
    if (found) {
        const ClaimProblem problem =
            problem_with_claim(found->body, job.spec, claim, settings_.labels);
        Step step;
        step.ok = problem.message.empty();
        step.message = problem.message;
        step.retryable = problem.retryable;
        step.code = ErrorCode::Conflict;
        co_return step;
    }
    if (found.error().http_status != 404) {
        co_return failed("read PersistentVolumeClaim " + name, found.error());
    }
    ApiCall call;
    call.method = "POST";
    call.path = collection + "?fieldManager=gpuctl" + (is_dry_run ? "&dryRun=All" : "");
    call.body = claim_body(job, claim, settings_);
    call.fenced_by = epoch;
    auto made = co_await client_.call(std::move(call), deadline);
    if (made) co_return Step{};
    Step step = failed("create PersistentVolumeClaim " + name, made.error());
    // Another request has created it meanwhile: it is read and compared on the next attempt.
    if (made.error().http_status == 409) step.retryable = true;
    co_return step;
}

// ok: no workload of this name exists, of any kind and owner.
aio::Task<WorkloadMaker::Step> WorkloadMaker::find_workload(ObjectKey job) {
    for (const JobKind kind : {JobKind::training, JobKind::inference, JobKind::notebook}) {
        const WorkloadPaths paths = workload_paths(kind, job);
        std::string path = paths.object;
        const aio::Deadline deadline = part_deadline();
        auto found = co_await client_.get(std::move(path), deadline);
        Step step;
        step.ok = false;
        if (!found && found.error().http_status == 404) continue;
        if (!found) co_return failed("read " + paths.object, found.error());
        step.code = ErrorCode::Conflict;
        step.message = std::string(paths.kind) + " " + to_string(job) + " exists";
        co_return step;
    }
    co_return Step{};
}

aio::Task<Result<ports::Orphans>> WorkloadMaker::remove_orphans(ObjectKey job, bool force,
                                                                Epoch epoch) {
    ports::Orphans removed;
    if (!is_addressable(job)) co_return removed;
    const std::string doing = "remove what job " + to_string(job) + " has left behind: ";
    Step step = co_await find_workload(job);
    if (!step.ok && step.code == ErrorCode::Conflict) co_return removed;
    if (!step.ok) co_return make_error(step.code, doing + step.message);
    const std::string collection =
        "/api/v1/namespaces/" + net::percent_encode(job.namespace_name) + "/pods";
    // Pods of services have the label `app`; those of training jobs have only ours.
    const std::vector<std::string> keys = {"app", settings_.labels.text(OwnKey::name)};
    std::set<std::string> uids;
    for (const std::string& key : keys) {
        std::string path =
            collection + "?labelSelector=" + net::percent_encode(key + "=" + job.name);
        const aio::Deadline deadline = part_deadline();
        auto list = co_await client_.get(std::move(path), deadline);
        if (!list) co_return make_error(list.error().code, doing + list.error().message);
        const std::vector<ObjectIdentity> pods =
            orphans_in(list->body, job.name, force, settings_.labels);
        for (const ObjectIdentity& pod : pods) {
            if (!uids.insert(pod.uid).second) continue;
            std::string pod_path = collection + "/" + net::percent_encode(pod.name);
            Step gone = co_await send_delete(std::move(pod_path), pod.uid, force, epoch);
            if (!gone.ok) co_return make_error(gone.code, doing + gone.message);
        }
    }
    removed.pods = static_cast<std::int64_t>(uids.size());
    const WorkloadPaths paths = workload_paths(JobKind::inference, job);
    const Step service = co_await remove_object(paths.service, false, epoch);
    removed.service = service.ok && service.found;
    co_return removed;
}

}  // namespace gpuctl::k8s
