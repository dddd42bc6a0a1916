#include "scheduler/state/jobs/finished_jobs.hpp"

#include <algorithm>

#include "scheduler/base/check.hpp"

namespace gpuctl {

const FinishedJob* FinishedJobs::find(const ObjectKey& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second;
}

const FinishedJob* FinishedJobs::oldest() const {
    return by_end_.empty() ? nullptr : *by_end_.begin();
}

void FinishedJobs::add(FinishedJob job) {
    const ObjectKey key = job.key;
    const auto [entry, is_new] = by_key_.emplace(key, std::move(job));
    GPUCTL_CHECK(is_new, "a finished job is summarized once");
    by_end_.insert(&entry->second);
    add_pods(entry->second.ended_pods, entry->first);
}

FinishedJob FinishedJobs::extract(const ObjectKey& key) {
    const auto found = by_key_.find(key);
    GPUCTL_CHECK(found != by_key_.end(), "only a summary that is there is taken");
    by_end_.erase(&found->second);
    for (const EndedPod& pod : found->second.ended_pods) ended_pods_.erase(pod.uid);
    FinishedJob job = std::move(found->second);
    by_key_.erase(found);
    return job;
}

void FinishedJobs::remove_oldest(Instant now) {
    const FinishedJob job = extract(ObjectKey{oldest()->key});
    std::pair<Instant, ObjectKey> reached{job.ended_at, job.key};
    if (reached <= removed_until_) return;
    removed_until_ = std::move(reached);
    RemovedJobs& removed = removed_[job.key.namespace_name];
    ++removed.count;
    removed.last_at = now;
}

Instant FinishedJobs::next_end(Duration find_reservation) const {
    Instant oldest_end;
    if (!in_full_.empty()) oldest_end = std::get<Instant>(*in_full_.begin());
    if (const FinishedJob* first = oldest()) {
        const bool is_older = !oldest_end.happened() || first->ended_at < oldest_end;
        if (is_older) oldest_end = first->ended_at;
    }
    return oldest_end.happened() ? oldest_end + find_reservation : Instant{};
}

void FinishedJobs::add_pods(const std::vector<EndedPod>& pods, const ObjectKey& job) {
    for (const EndedPod& pod : pods) ended_pods_.insert_or_assign(pod.uid, &job);
}

const ObjectKey* FinishedJobs::job_of(const CompactUid& pod) const {
    const auto found = ended_pods_.find(pod);
    return found == ended_pods_.end() ? nullptr : found->second;
}

void FinishedJobs::remove_pod(const ObjectKey& job, const CompactUid& uid) {
    std::erase_if(by_key_.at(job).ended_pods,
                  [&uid](const EndedPod& pod) { return pod.uid == uid; });
    ended_pods_.erase(uid);
}

}  // namespace gpuctl
