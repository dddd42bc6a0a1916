#pragma once
// Creates and removes the objects of submitted jobs, and deletes single pods (gang rollback).
//
//   create: PriorityClass exists -> names are free or ours -> claims -> apply the workload -> apply
//           its ConfigMap and Service with an ownerReference. Every step may be repeated, so a
//           create whose answer was lost is run again; an object with our job's uid counts as
//           created. Claims are made only for a workload that a dry run has accepted: they stay
//           when a job is deleted, so nothing would remove those of a refused one.
//   update: the object is that of the job -> patch it with the version that was read -> its
//           Service.
//           An object that cannot be patched: a dry run of the new one -> delete -> create.
//   remove: workload in the background, its Service, and pods that a lost parent left behind. Only
//           objects with our labels are changed. An object that does not exist is a success.
//
// Thread: the loop's. Each call ends at its own deadline; the engine repeats what is retryable.

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "aio/task_group.hpp"
#include "k8s/client/client.hpp"
#include "k8s/workload/workload.hpp"
#include "k8s/write/work_queue.hpp"
#include "ports/cluster.hpp"
#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::k8s {

class WorkloadMaker {
public:
    using Done = std::function<void(Event outcome)>;

    WorkloadMaker(aio::TaskGroup& group, Client& client, WorkloadSettings settings, Done done);

    void create(CreateWorkload order);
    void update(UpdateWorkload order);  // workload_update.cpp
    void remove(DeleteWorkload order);
    // `may_delete`: whether the pod is known to have a controller that creates it again.
    void delete_pod(DeletePod order, bool may_delete);

    // Whether the API server would accept the workload, by its dry run: namespace, rights, quota,
    // admission. Creates nothing.
    aio::Task<Result<void>> try_create(JobRecord job, Epoch epoch);

    // ports/cluster.hpp. Only pods with our labels and without a controller, which would create
    // them again.
    aio::Task<Result<ports::Orphans>> remove_orphans(ObjectKey job, bool force, Epoch epoch);

    [[nodiscard]] bool idle() const { return queue_.idle(); }

private:
    // The result of one step; `ok`: continue with the next.
    struct Step {
        bool ok = true;
        bool retryable = false;
        std::string message;
        ErrorCode code = ErrorCode::ClusterUnavailable;
        std::string uid;            // of the object concerned
        std::string version;        // its resourceVersion
        bool found = true;          // of a look-up
        bool is_made_here = false;  // the object was made for a job of ours
    };
    static Step failed(std::string what, const ApiError& error);
    static Step not_makeable(const Error& error);
    static Step missing(const ObjectKey& key);
    static Step of_another(const ObjectKey& key);

    aio::Task<void> run_create(CreateWorkload order);
    aio::Task<void> run_update(UpdateWorkload order);
    aio::Task<void> run_remove(DeleteWorkload order);
    aio::Task<void> run_delete_pod(DeletePod order);

    aio::Task<Step> create_steps(CreateWorkload order);
    aio::Task<Step> ensure_priority_class(JobPriority priority, Epoch epoch);
    // ok: no object of this name, or one of this job (then with its uid).
    aio::Task<Step> check_name(JobRecord job);
    // workload_maker_parts.cpp
    // ok: no foreign object has a name that the job's Service or ConfigMap needs.
    aio::Task<Step> check_owned(JobRecord job);
    aio::Task<Step> check_owned_object(std::string kind, std::string path, JobRecord job);
    aio::Task<Step> make_owned(JobRecord job, std::string owner_uid, Epoch epoch);
    aio::Task<Step> ensure_claims(JobRecord job, Epoch epoch, bool is_dry_run);
    aio::Task<Step> ensure_claim(JobRecord job, VolumeClaim claim, Epoch epoch, bool is_dry_run);
    aio::Task<Step> read_object(std::string path, std::string job_uid);
    aio::Task<Step> apply(std::string path, std::string body, Epoch epoch, bool is_dry_run = false);

    aio::Task<Step> change(UpdateWorkload order);
    aio::Task<Step> make_again(UpdateWorkload order);
    aio::Task<Step> rehearse(JobRecord job, Epoch epoch);  // a dry run under another name

    aio::Task<Step> remove_steps(DeleteWorkload order);
    // Deletes the object at `path` if it is ours; `found` says whether there was one.
    aio::Task<Step> remove_object(std::string path, bool force, Epoch epoch);
    // workload_maker_parts.cpp
    aio::Task<Step> find_workload(ObjectKey job);
    aio::Task<Step> remove_pods(ObjectKey job, bool force, Epoch epoch);
    aio::Task<Step> send_delete(std::string path, std::string uid, bool force, Epoch epoch);

    Client& client_;
    WorkloadSettings settings_;
    Done done_;
    std::set<JobPriority> classes_ensured_;
    WorkQueue queue_;
};

// The owner of an object, from its JSON.
struct ObjectMark {
    std::string uid;
    std::string version;   // resourceVersion
    std::string job_uid;   // label prefix/job-uid
    std::string job_type;  // label prefix/job-type: on every object that we create
};
ObjectMark read_mark(std::string_view json, const LabelKeys& labels);

std::string delete_options(std::string_view uid, bool force);

}  // namespace gpuctl::k8s
