#include "daemon/core/history.hpp"
#include "wording/wording.hpp"

#include <algorithm>

#include "scheduler/listing/job_status.hpp"

namespace gpuctl::core {
namespace {

std::string pod_object(const std::string& name) { return "Pod/" + name; }
// "Deployment.6d8f:web" is shown as the Deployment (ADR 0025).
std::string job_object(const ObjectKey& job) {
    const std::size_t colon = job.name.find(':');
    if (colon == std::string::npos) return "Job/" + job.name;
    const std::string kind = job.name.substr(0, std::min(job.name.find_first_of(".@"), colon));
    if (kind + ":" == kLonePodPrefix) return "Pod/" + shown_name(job);
    return (kind + ":" == kForeignGangPrefix ? "Gang" : kind) + "/" + shown_name(job);
}

// Pods do not have their pool: the pools of one controller share a history.
std::string path_of(const ObjectKey& job) {
    return job.namespace_name + "/" + job_in_any_pool(job.name);
}

// When the pod reached its state. A pod that is new to this process, after a restart for instance,
// has the time in its own status; otherwise the event would seem to be new.
Instant time_of(const PodFacts& pod, bool is_new, Instant now) {
    if (!is_new) return now;
    const Instant stored = is_terminal(pod.phase) ? pod.finished_at : pod.started_at;
    return stored.happened() ? std::min(stored, now) : now;
}

bool is_trouble(const PodFacts& pod) {
    return pod.phase == PodPhase::failed || pod.status.find("BackOff") != std::string::npos ||
           pod.status.find("Err") != std::string::npos ||
           pod.status.find("Invalid") != std::string::npos || pod.status == "OOMKilled";
}

std::string status_words(const PodFacts& pod) {
    if (!pod.status.empty()) return pod.status;
    return std::string{to_string(pod.phase)};
}

std::string in_seconds(Duration span) {
    return std::to_string(span.ms() / 1000) + "." + std::to_string(span.ms() % 1000 / 100) + " s";
}

}  // namespace

void History::on_event(const Event& event, Instant now) {
    if (const auto* observed = std::get_if<PodObserved>(&event)) return on_pod(observed->pod, now);
    if (const auto* removed = std::get_if<PodRemoved>(&event)) {
        const auto found = pods_.find(removed->uid);
        if (found == pods_.end()) return;
        add(found->second.job,
            {now, now, false, "Removed", pod_object(found->second.name), "the pod is gone"});
        pods_.erase(found);
        return;
    }
    if (const auto* submitted = std::get_if<JobSubmitted>(&event)) {
        const ObjectKey& key = submitted->job.spec.key;
        // Events of a previous job of this name do not belong to it.
        of_job(key).events.clear();
        of_job(key).is_being_deleted = false;
        return add(key, {now, now, false, "Submitted", job_object(key), "accepted and stored"});
    }
    if (const auto* asked = std::get_if<JobDeleteRequested>(&event)) {
        of_job(asked->key).is_being_deleted = true;
        return add(asked->key, {now, now, false, "Deleting", job_object(asked->key),
                                asked->force ? "deletion was requested, without grace period"
                                             : "deletion was requested"});
    }
    if (const auto* adopted = std::get_if<JobAdopted>(&event)) {
        of_job(adopted->job.spec.key).is_being_deleted = false;
        return;
    }
    if (const auto* removed = std::get_if<WorkloadRemoved>(&event)) {
        OfJob& known = of_job(removed->key);
        if (known.is_being_deleted || removed->job_uid == known.uid_replaced) {
            return add(removed->key, {now, now, false, "Deleted", job_object(removed->key),
                                      "its object is gone from the cluster"});
        }
        return add(removed->key, {now, now, true, "WorkloadRemoved", job_object(removed->key),
                                  "its object is gone from the cluster, not deleted by gpuctl"});
    }
    if (const auto* evicted = std::get_if<PodEvictOutcome>(&event)) on_evicted(*evicted, now);
    if (const auto* outcome = std::get_if<WorkloadOutcome>(&event); outcome && !outcome->done) {
        add(outcome->key,
            {now, now, true, "WorkloadFailed", job_object(outcome->key), outcome->message});
    }
}

void History::on_pod(const PodFacts& pod, Instant now) {
    if (!pod.ours) return;
    const ObjectKey job{pod.key.namespace_name, pod.job};
    const auto [entry, is_new] = pods_.try_emplace(pod.uid);
    LastSeen& last = entry->second;
    const std::string status = status_words(pod);
    const std::string object = pod_object(pod.key.name);
    const Instant at = time_of(pod, is_new, now);
    if (!pod.node.empty() && last.node.empty()) {
        const Instant placed = is_new && pod.started_at.happened() ? pod.started_at : at;
        add(job, {placed, placed, false, "Scheduled", object, "was placed on node " + pod.node});
    }
    if (!is_new && pod.restarts > last.restarts) {
        add(job,
            {now, now, true, "Restarted", object,
             "its container started again, " + std::to_string(pod.restarts) + " times so far"});
    }
    if (status != last.status && status != "Pending") {
        add(job, {at, at, is_trouble(pod), status, object, "the pod is " + status});
    }
    last = {job, pod.key.name, status, pod.node, pod.restarts, is_terminal(pod.phase)};
}

// A request is no eviction: a disruption budget may refuse it again and again.
void History::on_evicted(const PodEvictOutcome& outcome, Instant now) {
    const auto found = evictions_.find(static_cast<std::uint64_t>(outcome.effect));
    if (found == evictions_.end()) return;  // requested before a restart
    const EvictPod eviction = std::move(found->second);
    evictions_.erase(found);
    if (outcome.result == EvictResult::evicted) {
        const char* reason = eviction.preemptor == ObjectKey{} ? "Drained" : "Preempted";
        add(eviction.job, {now, now, true, reason, pod_object(eviction.pod.key.name),
                           wording::cause_text(eviction.why)});
    } else if (outcome.result != EvictResult::gone) {
        // One line for the whole job: its pods are evicted one after another.
        add(eviction.job, {now, now, true, "EvictionRefused", job_object(eviction.job),
                           "to be " + wording::cause_text(eviction.why) +
                               ", but not evicted: " + outcome.message});
    }
}

void History::on_effect(const Effect& effect, Instant now) {
    if (const auto* pending = std::get_if<ReportPending>(&effect)) {
        return add(pending->job, {now, now, true, "FailedScheduling", job_object(pending->job),
                                  wording::sentence(pending->explanation)});
    }
    if (const auto* started = std::get_if<ReportStarted>(&effect)) {
        return add(started->job,
                   {now, now, false, "Placed", job_object(started->job),
                    (started->pods.size() == 1
                         ? std::string{"1 pod has a node"}
                         : std::to_string(started->pods.size()) + " pods have a node") +
                        ", after waiting " + in_seconds(started->waited)});
    }
    if (const auto* rollback = std::get_if<DeletePod>(&effect)) {
        const auto found = pods_.find(rollback->pod.uid);
        if (found == pods_.end()) return;
        add(found->second.job, {now, now, true, "RolledBack", pod_object(rollback->pod.key.name),
                                wording::rollback_text()});
    }
    if (const auto* eviction = std::get_if<EvictPod>(&effect)) {
        evictions_.insert_or_assign(static_cast<std::uint64_t>(eviction->id), *eviction);
    }
    if (const auto* finished = std::get_if<DropDetails>(&effect)) drop(*finished);
    if (const auto* update = std::get_if<UpdateWorkload>(&effect)) return on_update(*update, now);
    const auto* resize = std::get_if<ResizeWorkload>(&effect);
    if (resize != nullptr && resize->from != resize->to) {  // otherwise only its size was read
        add(resize->key,
            {now, now, false, "Resized", job_object(resize->key),
             "from " + std::to_string(resize->from) + " to " + std::to_string(resize->to) +
                 " ranks: " + wording::cause_text(resize->why)});
    }
}

void History::on_update(const UpdateWorkload& update, Instant now) {
    const ObjectKey& key = update.job->spec.key;
    const auto add_update = [&](const char* reason, std::string message) {
        add(key, {now, now, false, reason, job_object(key), std::move(message)});
    };
    if (update.job->uid != update.job_uid) {
        of_job(key).uid_replaced = update.job_uid;
        return add_update("Recreated", "its object is deleted and created again");
    }
    if (update.part == WorkloadPart::whole) return add_update("Updated", "its object is changed");
    if (update.paused) return add_update("Paused", "its pods stop until it is resumed");
    const JobSpec& spec = update.job->spec;
    if (spec.kind == JobKind::training) return add_update("Resumed", "its pods start again");
    add_update("Scaled", "to " + std::to_string(spec.service.replicas) + " replicas");
}

History::OfJob& History::of_job(const ObjectKey& job) {
    const std::string key = path_of(job);
    const auto [entry, is_new] = by_job_.try_emplace(key);
    if (is_new) {
        entry->second.job = job;
        entry->second.place = jobs_in_order_.insert(jobs_in_order_.end(), key);
        if (jobs_in_order_.size() > kJobsRememberedMax) {
            by_job_.erase(jobs_in_order_.front());
            jobs_in_order_.pop_front();
        }
    }
    return entry->second;
}

void History::drop(const DropDetails& finished) {
    for (const std::string& uid : finished.pods) pods_.erase(uid);
    const auto known = by_job_.find(path_of(finished.job));
    if (known == by_job_.end()) return;
    jobs_in_order_.erase(known->second.place);
    by_job_.erase(known);
}

void History::add(const ObjectKey& job, JobEvent event) {
    OfJob& of = of_job(job);
    jobs_in_order_.splice(jobs_in_order_.end(), jobs_in_order_, of.place);
    std::deque<JobEvent>& events = of.events;
    if (!events.empty() && events.back().reason == event.reason &&
        events.back().object == event.object) {
        events.back().at = event.at;
        events.back().message = std::move(event.message);
        ++events.back().count;
        return;
    }
    events.push_back(std::move(event));
    if (events.size() > kEventsPerJobMax) events.pop_front();
}

namespace {

bool says_the_same(const JobEvent& a, const JobEvent& b) {
    return a.reason == b.reason && a.object == b.object && a.message == b.message;
}

// `past` first. An event of both is one: its first time is that of the past.
std::deque<JobEvent> joined(const std::deque<JobEvent>& past, const std::deque<JobEvent>& recent) {
    std::deque<JobEvent> all = past;
    for (const JobEvent& event : recent) {
        const auto known = std::find_if(all.rbegin(), all.rend(), [&](const JobEvent& other) {
            return says_the_same(event, other);
        });
        if (known == all.rend()) {
            all.push_back(event);
        } else {
            known->at = std::max(known->at, event.at);
        }
    }
    while (all.size() > kEventsPerJobMax) all.pop_front();
    return all;
}

}  // namespace

void History::add_past(const History& past) {
    // From the newest, so that each goes before those that are newer.
    for (auto key = past.jobs_in_order_.rbegin(); key != past.jobs_in_order_.rend(); ++key) {
        const OfJob& old = past.by_job_.at(*key);
        const auto known = by_job_.find(*key);
        if (known == by_job_.end()) {
            if (by_job_.size() >= kJobsRememberedMax || old.events.empty()) continue;
            OfJob added = old;
            added.place = jobs_in_order_.insert(jobs_in_order_.begin(), *key);
            by_job_.emplace(*key, std::move(added));
            continue;
        }
        std::deque<JobEvent>& events = known->second.events;
        const bool is_new_job = std::any_of(events.begin(), events.end(), [](const auto& event) {
            return event.reason == "Submitted";
        });
        if (!is_new_job) events = joined(old.events, events);
    }
}

std::vector<JobEvent> History::of(const ObjectKey& job) const {
    const auto found = by_job_.find(path_of(job));
    if (found == by_job_.end()) return {};
    std::vector<JobEvent> newest_first{found->second.events.rbegin(), found->second.events.rend()};
    // Past events of pods arrive in the order of their names.
    std::stable_sort(newest_first.begin(), newest_first.end(),
                     [](const JobEvent& a, const JobEvent& b) { return a.at > b.at; });
    return newest_first;
}

std::vector<EventOfJob> History::recent(std::string_view namespace_name) const {
    std::vector<EventOfJob> all;
    std::size_t jobs = 0;
    for (auto key = jobs_in_order_.rbegin(); key != jobs_in_order_.rend(); ++key) {
        const OfJob& of = by_job_.at(*key);
        const bool is_wanted = namespace_name.empty() || of.job.namespace_name == namespace_name;
        if (!is_wanted) continue;
        for (const JobEvent& event : of.events) all.push_back({of.job, event});
        if (++jobs == kJobsListedMax) break;
    }
    std::stable_sort(all.begin(), all.end(), [](const EventOfJob& a, const EventOfJob& b) {
        return a.event.at > b.event.at;
    });
    return all;
}

bool History::pod_runs(const std::string& uid) const {
    const auto found = pods_.find(uid);
    return found != pods_.end() && !found->second.terminal;
}

}  // namespace gpuctl::core
