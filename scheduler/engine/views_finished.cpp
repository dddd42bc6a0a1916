// Views of finished jobs that are kept as a summary only.

#include "scheduler/engine/view_parts.hpp"

namespace gpuctl::view_parts {

JobView summary_view(const FinishedJob& job) {
    JobView view;
    view.key = job.key;
    if (!job.uid.empty()) view.kind = job.kind;
    view.status = job.failed ? "Failed" : "Succeeded";
    view.never_made = job.never_made;
    view.queue = job.queue;
    view.pool = job.pool;
    view.priority = job.priority;
    view.submitted_at = job.submitted_at;
    view.started_at = job.started_at;
    view.finished_at = job.finished_at;
    view.gpus_per_pod = job.gpus_per_pod;
    view.pods_wanted = job.pods;
    view.summary = &job;
    return view;
}

}  // namespace gpuctl::view_parts
