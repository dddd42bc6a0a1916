// The API server: carries out the engine's effects.

#include <algorithm>

#include "sim/cluster.hpp"
#include "sim/draw.hpp"
#include "wording/wording.hpp"

namespace gpuctl::sim {

namespace {

constexpr std::size_t kUserEventsPerJobMax = 16;

std::string subject_of(EffectId id) { return std::to_string(static_cast<std::uint64_t>(id)); }

bool happens(const Settings& settings, EffectId id, std::string_view what, std::int64_t per_mille) {
    if (per_mille <= 0) return false;
    Rng rng = draw(settings.seed, subject_of(id), what);
    return rng.chance(static_cast<std::uint64_t>(per_mille), 1'000);
}

}  // namespace

void Cluster::carry_out(const Effect& effect, Instant now, Out& out) {
    advance(now, out);
    std::visit(
        [&](const auto& one) {
            // An effect with an answer has a number; effects without a number are carried out at
            // once
            if constexpr (requires { one.id; }) {
                // The latency is drawn by the number of the effect, not by its content: the wording
                // of a reason must not change the world of a seed.
                Rng rng = draw(settings_.seed, subject_of(one.id), "latency");
                const Duration latency{
                    rng.between(settings_.api_latency_min.ms(), settings_.api_latency_max.ms())};
                plan(EffectDue{effect}, now_ + latency);
            } else {
                deliver(one, now_, out);
            }
        },
        effect);
}

void Cluster::deliver(const BindPod& effect, Instant now, Out& out) {
    BindOutcome outcome{effect.id, effect.pod.uid, BindResult::bound, ""};
    const std::string doing = "bind pod " + to_string(effect.pod.key) + " to " + effect.node + ": ";
    const auto found = pods_.find(effect.pod.uid);
    const auto turn_down = [&](BindResult result, const std::string& why) {
        outcome.result = result;
        outcome.message = doing + why;
        ++figures_.binds_turned_down;
        out.push_back(outcome);
    };
    if (effect.deadline.happened() && now > effect.deadline) {
        return turn_down(BindResult::failed, "not sent before its deadline");
    }
    if (happens(settings_, effect.id, "bind fails", settings_.faults.bind_failed_per_mille)) {
        return turn_down(BindResult::failed, "the virtual API server answered 500");
    }
    if (found == pods_.end()) return turn_down(BindResult::gone, "no such pod incarnation");
    PodState& pod = found->second;
    if (pod.facts.node == effect.node) return out.push_back(outcome);
    if (!pod.facts.node.empty()) {
        return turn_down(BindResult::elsewhere, "pod is already on " + pod.facts.node);
    }
    if (pod.facts.terminating) return turn_down(BindResult::refused, "pod is being deleted");
    if (pod.facts.gated) return turn_down(BindResult::refused, "pod has scheduling gates");
    if (happens(settings_, effect.id, "bind forbidden", settings_.faults.bind_refused_per_mille)) {
        return turn_down(BindResult::refused, "the virtual API server forbids it");
    }

    ++figures_.binds_accepted;
    // The watch event and the answer are independent: either may come first, and the answer may be
    // late.
    Rng rng = draw(settings_.seed, subject_of(effect.id), "bind order");
    const bool unanswered = happens(settings_, effect.id, "bind unanswered",
                                    settings_.faults.bind_unanswered_per_mille);
    if (unanswered) {
        ++figures_.binds_unanswered;
        plan(EventDue{outcome}, now + settings_.answer_late);
        bind(pod, effect, now, out);
    } else if (rng.chance(1, 2)) {
        out.push_back(outcome);
        bind(pod, effect, now, out);
    } else {
        bind(pod, effect, now, out);
        out.push_back(outcome);
    }
}

void Cluster::bind(PodState& pod, const BindPod& effect, Instant now, Out& out) {
    const std::string& node = effect.node;
    pod.facts.node = node;
    pod.facts.gpu_device = effect.gpu_device;
    ++pod.generation;
    const auto found = nodes_.find(node);
    if (found ==
        nodes_.end()) {  // like the real API server, which does not check that the node exists
        plan_step(pod, PodStep::is_gone, now + settings_.orphan_removal);
        return observe(pod, out);
    }
    if (found->second.lost) {
        found->second.pods.insert(pod.facts.uid);
        plan_step(pod, PodStep::is_evicted, now + settings_.eviction_after);
        return observe(pod, out);
    }
    if (!admit(pod, now, out)) return;
    found->second.pods.insert(pod.facts.uid);
    pod.facts.status = "ContainerCreating";
    begin_pull(pod, now);
    observe(pod, out);
}

void Cluster::deliver(const DeletePod& effect, Instant now, Out& out) {
    PodDeleteOutcome outcome{effect.id, effect.pod.uid, true, ""};
    if (happens(settings_, effect.id, "delete fails", settings_.faults.delete_failed_per_mille)) {
        outcome.deleted = false;
        outcome.message =
            "delete pod " + to_string(effect.pod.key) + ": the virtual API server answered 500";
        return out.push_back(outcome);
    }
    out.push_back(outcome);  // deleting a missing pod succeeds
    delete_pod(effect.pod.uid, false, now, out);
}

// The containers stop within Settings::container_stop_max, whatever the grace period. The
// controller creates a replacement.
void Cluster::deliver(const EvictPod& effect, Instant now, Out& out) {
    PodEvictOutcome outcome{effect.id, effect.pod.uid, EvictResult::evicted, ""};
    const std::string doing = "evict pod " + to_string(effect.pod.key) + ": ";
    const auto turn_down = [&](EvictResult result, const char* why) {
        ++figures_.evictions_turned_down;
        outcome.result = result;
        outcome.message = doing + why;
        out.push_back(outcome);
    };
    const Faults& faults = settings_.faults;
    if (happens(settings_, effect.id, "eviction fails", faults.delete_failed_per_mille)) {
        return turn_down(EvictResult::failed, "the virtual API server answered 500");
    }
    if (happens(settings_, effect.id, "disruption budget", faults.eviction_refused_per_mille)) {
        return turn_down(EvictResult::disruption_budget, "its disruption budget has none left");
    }
    if (happens(settings_, effect.id, "eviction forbidden",
                faults.eviction_refused_per_mille / 8)) {
        return turn_down(EvictResult::refused, "the virtual API server forbids it");
    }
    const auto found = pods_.find(effect.pod.uid);
    if (found == pods_.end()) {
        outcome.result = EvictResult::gone;
        return out.push_back(outcome);
    }
    ++figures_.evictions_accepted;
    out.push_back(outcome);
    if (!found->second.facts.terminating)
        record_user_event(effect.job, "Preempted", wording::cause_text(effect.why), now);
    delete_pod(effect.pod.uid, false, now, out);
}

void Cluster::deliver(const CreateWorkload& effect, Instant now, Out& out) {
    WorkloadOutcome outcome{effect.id, effect.job->spec.key, true, false, ""};
    const std::string doing = "create job " + to_string(effect.job->spec.key) + ": ";
    if (effect.deadline.happened() && now > effect.deadline) {
        outcome.done = false;
        outcome.retryable = true;
        outcome.message = doing + "not sent before its deadline";
        return out.push_back(outcome);
    }
    if (happens(settings_, effect.id, "create fails", settings_.faults.create_failed_per_mille)) {
        outcome.done = false;
        outcome.retryable = true;
        outcome.message = doing + "the virtual API server answered 500";
        return out.push_back(outcome);
    }
    const auto existing = workload_named_.find(effect.job->spec.key);
    if (existing != workload_named_.end() && existing->second != effect.job->uid) {
        outcome.done = false;
        outcome.message = doing + "another job of this name exists";
        return out.push_back(outcome);
    }
    out.push_back(outcome);
    if (workloads_.contains(effect.job->uid)) return;
    add_workload(*effect.job);
    sync_workload(effect.job->uid, now, out);
}

// Another uid: the job is deleted with its pods and created again, like an object whose immutable
// fields change.
void Cluster::deliver(const UpdateWorkload& effect, Instant now, Out& out) {
    const ObjectKey& key = effect.job->spec.key;
    WorkloadOutcome outcome{effect.id, key, true, false, ""};
    const auto turn_down = [&](bool is_retryable, ErrorCode code, const char* why) {
        outcome.done = false;
        outcome.retryable = is_retryable;
        outcome.code = code;
        outcome.message = "update job " + to_string(key) + ": " + why;
        out.push_back(outcome);
    };
    if (effect.deadline.happened() && now > effect.deadline)
        return turn_down(true, ErrorCode::ClusterUnavailable, "not sent before its deadline");
    if (happens(settings_, effect.id, "update fails", settings_.faults.create_failed_per_mille))
        return turn_down(true, ErrorCode::ClusterUnavailable,
                         "the virtual API server answered 500");
    if (happens(settings_, effect.id, "update forbidden",
                settings_.faults.eviction_refused_per_mille / 8))
        return turn_down(false, ErrorCode::Forbidden, "the virtual API server forbids it");
    const auto existing = workload_named_.find(key);
    if (existing == workload_named_.end())
        return turn_down(false, ErrorCode::JobNotFound, "it does not exist any more");
    const bool is_made = existing->second == effect.job->uid;
    if (!is_made && existing->second != effect.job_uid)
        return turn_down(false, ErrorCode::Conflict, "another job of this name exists");
    out.push_back(outcome);
    if (!is_made) {
        delete_workload(std::string{existing->second}, false, now, out);
        add_workload(*effect.job);
    }
    Workload& workload = workloads_.at(effect.job->uid);
    if (workload.finished) return;
    workload.job = *effect.job;
    workload.is_changed = true;
    workload.paused = effect.paused;
    observe(workload, out);
    sync_workload(effect.job->uid, now, out);
}

void Cluster::deliver(const DeleteWorkload& effect, Instant now, Out& out) {
    out.push_back(WorkloadOutcome{effect.id, effect.key, true, false, ""});
    const auto existing = workload_named_.find(effect.key);
    if (existing != workload_named_.end()) {
        delete_workload(std::string{existing->second}, effect.force, now, out);
    }
}

void Cluster::deliver(const ResizeWorkload& effect, Instant now, Out& out) {
    WorkloadResizeOutcome outcome{effect.id, effect.key, ResizeResult::resized, 0, ""};
    const auto turn_down = [&](ResizeResult result, const char* why) {
        ++figures_.resizes_turned_down;
        outcome.result = result;
        outcome.message = "resize job " + to_string(effect.key) + ": " + why;
        out.push_back(outcome);
    };
    const Faults& faults = settings_.faults;
    if (happens(settings_, effect.id, "resize fails", faults.create_failed_per_mille)) {
        return turn_down(ResizeResult::failed, "the virtual API server answered 500");
    }
    if (happens(settings_, effect.id, "resize forbidden", faults.eviction_refused_per_mille / 8)) {
        return turn_down(ResizeResult::refused, "the virtual API server forbids it");
    }
    const auto existing = workload_named_.find(effect.key);
    if (existing == workload_named_.end() || existing->second != effect.job_uid) {
        return turn_down(ResizeResult::gone, "no such job");
    }
    Workload& workload = workloads_.at(effect.job_uid);
    if (workload.finished) return turn_down(ResizeResult::gone, "it has ended");
    if (workload.ranks != effect.from && workload.ranks != effect.to) {
        outcome.size = workload.ranks;
        return turn_down(ResizeResult::other_size, "it has another size by now");
    }
    out.push_back(outcome);
    if (workload.ranks == effect.to) return;
    record_user_event(effect.key, "Resized",
                      "from " + std::to_string(effect.from) + " to " + std::to_string(effect.to) +
                          " ranks: " + wording::cause_text(effect.why),
                      now);
    resize_training(workload, effect.to, now, out);
}

void Cluster::record_user_event(const ObjectKey& job, std::string reason, std::string message,
                                Instant now) {
    if (!workload_named_.contains(job)) return;  // too late: the job does not exist any more
    std::vector<UserEvent>& events = user_events_[job];
    if (!events.empty() && events.back().reason == reason && events.back().message == message) {
        ++events.back().count;
        events.back().last_at = now;
        return;
    }
    if (events.size() == kUserEventsPerJobMax) events.erase(events.begin());
    events.push_back({std::move(reason), std::move(message), 1, now});
}

void Cluster::deliver(const ReportPending& effect, Instant now, Out&) {
    record_user_event(effect.job, "FailedScheduling",
                      wording::kubernetes_message(effect.explanation), now);
}

void Cluster::deliver(const ReportStarted& effect, Instant now, Out&) {
    std::string message = "Successfully assigned " + to_string(effect.job) + " to";
    for (const std::string& node : effect.nodes) message += " " + node;
    record_user_event(effect.job, "Scheduled", std::move(message), now);
}

void Cluster::deliver(const WakeAt& effect, Instant, Out&) {
    if (wake_) due_.erase(*wake_);
    plan(EventDue{WokeUp{}}, effect.at);
    wake_ = std::pair{std::max(effect.at, now_), plans_};
}

}  // namespace gpuctl::sim
