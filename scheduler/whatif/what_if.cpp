#include "scheduler/whatif/what_if.hpp"

#include "scheduler/whatif/foresee.hpp"
#include "scheduler/whatif/trial.hpp"

namespace gpuctl::whatif {
Result<Answer> simulate_submission(std::string_view exported, const JobRecord& job,
                                   const std::string& label_prefix, Instant now, GoOn go_on) {
    Result<Trial> trial = Trial::of(exported, now);
    if (!trial) return trial.error();
    const ObjectKey& key = job.spec.key;
    const Result<JobView> existing = find_job(trial->state(), key.namespace_name, whole_name(key));
    if (existing && existing->key == key && !existing->never_made) {
        return make_error(ErrorCode::JobExists,
                          "try job " + to_string(key) + ": a job of that name exists and is " +
                              existing->status + "; see `gpuctl explain job`");
    }
    Answer answer;
    answer.never = preflight(trial->state(), job.spec);
    if (answer.never) return answer;
    trial->settle();  // first starts what would start without the job
    const std::size_t evicted_before = trial->evicted().size();
    trial->submit(job, label_prefix);
    trial->settle();
    const Result<JobView> view = find_job(trial->state(), key.namespace_name, whole_name(key));
    if (!view) return while_doing("try job " + to_string(key), view.error());
    answer.stops = by_job(trial->evicted(), evicted_before);
    for (const PodView& pod : view->pods) {
        if (!pod.node.empty()) answer.placements.push_back({pod.facts.key.name, pod.node});
    }
    answer.blockers = explain_job(trial->state(), key);
    answer.starts = answer.blockers.empty();
    if (answer.starts) return answer;
    answer.position = view->position;
    answer.start = foresee_start(trial->exported(), key, now, view->start, go_on);
    for (Explanation& blocker : answer.blockers) keep_to(answer.start, blocker);
    Result<Remedies> remedies = find_remedies(trial->exported(), key, now, std::move(go_on));
    if (!remedies) return remedies.error();
    answer.remedies = std::move(*remedies);
    return answer;
}

}  // namespace gpuctl::whatif
