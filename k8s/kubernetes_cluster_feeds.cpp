#include "k8s/kubernetes_cluster_feeds.hpp"

#include "daemon/aio/loop.hpp"
#include "k8s/convert_node.hpp"
#include "k8s/convert_workload.hpp"

namespace gpuctl::k8s {

bool Outbox::offer(Event event) {
    // What waits here came first.
    flush();
    return waiting_.empty() && sink_ != nullptr && sink_->offer(std::move(event));
}

void Outbox::deliver(Event event) {
    waiting_.push_back(std::move(event));
    flush();
    if (!waiting_.empty()) added_.notify_all();
}

void Outbox::flush() {
    while (!waiting_.empty() && sink_ != nullptr) {
        // Offered as a copy: a refusal must leave us the event.
        if (!sink_->offer(waiting_.front())) return;
        waiting_.pop_front();
    }
}

aio::Task<void> Outbox::run() {
    constexpr std::chrono::milliseconds again{20};  // the loop drains its mailbox faster than that
    constexpr std::chrono::seconds idle{60};
    for (;;) {
        if (waiting_.empty()) {
            const bool notified = co_await added_.wait(aio::Deadline::in(idle));
            if (!notified) {
                const bool running = co_await aio::sleep_until(aio::Deadline::in({}));
                if (!running) co_return;
            }
            continue;
        }
        const bool running = co_await aio::sleep_until(aio::Deadline::in(again));
        if (!running) co_return;
        flush();
    }
}

bool PodFeed::on_object(Change /*change*/, const ObjectIdentity& identity,
                        std::string_view object) {
    auto reading = read_pod(object, settings_);
    if (!reading) {
        ++figures_.unreadable;  // telling it again would not help
        return true;
    }
    PodFacts& facts = reading->facts;
    const auto known = pods_.find(identity.uid);
    // Other schedulers' pods matter from the moment they hold a node (S12).
    if (known == pods_.end() && !facts.ours && facts.node.empty()) return true;
    has_seen_bound_ = has_seen_bound_ || (facts.ours && !facts.node.empty());
    report_state(*reading);
    const std::uint64_t print = fingerprint(facts, scratch_);
    if (known != pods_.end() && known->second.fingerprint == print) {
        ++figures_.unchanged;
        return true;
    }
    const bool has_controller = facts.has_controller;
    if (!outbox_.offer(PodObserved{std::move(facts)})) return false;
    ++figures_.told;
    pods_.insert_or_assign(identity.uid, Known{print, has_controller});
    return true;
}

void PodFeed::forget(const std::string& uid) {
    news_.conditions.forget(uid);
    news_.events.forget(uid);
}

void PodFeed::report_state(const PodReading& reading) {
    const PodFacts& facts = reading.facts;
    if (!facts.ours) return;
    if (!facts.node.empty() || facts.terminating || is_terminal(facts.phase)) {
        forget(facts.uid);
    } else {
        news_.conditions.observed({facts.key, facts.uid}, reading.generation,
                                  reading.told_unscheduled,
                                  {reading.told_reason, reading.told_message}, reading.told_since);
    }
}

bool PodFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    // Nothing is read from the last state: it may be older than the truth (M15).
    forget(identity.uid);
    const auto known = pods_.find(identity.uid);
    if (known == pods_.end()) return true;
    if (!outbox_.offer(PodRemoved{identity.uid})) return false;
    pods_.erase(known);
    return true;
}

bool PodFeed::has_controller(const std::string& uid) const {
    const auto known = pods_.find(uid);
    return known != pods_.end() && known->second.has_controller;
}

bool NodeFeed::on_object(Change /*change*/, const ObjectIdentity& identity,
                         std::string_view object) {
    auto facts = read_node(object, labels_);
    if (!facts) {
        ++figures_.unreadable;
        return true;
    }
    const std::uint64_t print = fingerprint(*facts, scratch_);
    const auto known = nodes_.find(identity.name);
    if (known != nodes_.end() && known->second == print) {
        ++figures_.unchanged;
        return true;
    }
    if (!outbox_.offer(NodeObserved{std::move(*facts)})) return false;
    ++figures_.told;
    nodes_.insert_or_assign(identity.name, print);
    return true;
}

bool NodeFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    if (!nodes_.contains(identity.name)) return true;
    if (!outbox_.offer(NodeRemoved{identity.name})) return false;
    nodes_.erase(identity.name);
    return true;
}

bool WorkloadFeed::on_object(Change /*change*/, const ObjectIdentity& identity,
                             std::string_view object) {
    auto facts = read_workload(object, labels_);
    if (!facts) {
        ++figures_.unreadable;
        return true;
    }
    if (facts->job_uid.empty()) return true;  // somebody borrowed our managed-by label
    const auto known = workloads_.find(identity.uid);
    if (known != workloads_.end() && known->second == *facts) {
        ++figures_.unchanged;
        return true;
    }
    if (known == workloads_.end() && !offer_job(object)) return false;
    if (!outbox_.offer(WorkloadObserved{*facts})) return false;
    ++figures_.told;
    workloads_.insert_or_assign(identity.uid, std::move(*facts));
    return true;
}

// Offered again when the workload itself could not be: the engine takes it once.
bool WorkloadFeed::offer_job(std::string_view object) {
    const std::optional<WorkloadOrigin> origin = read_origin(object, labels_);
    if (!origin || origin->leaving || !read_spec_) return true;
    std::optional<JobSpec> spec = read_spec_(*origin);
    if (!spec) return true;
    JobRecord job;
    job.uid = origin->job_uid;
    job.spec = std::move(*spec);
    job.spec.key = origin->key;
    job.source = origin->source;
    job.submitted_at = origin->created_at;
    return outbox_.offer(JobAdopted{std::move(job)});
}

bool WorkloadFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    const auto known = workloads_.find(identity.uid);
    if (known == workloads_.end()) return true;
    if (!outbox_.offer(WorkloadRemoved{known->second.key, known->second.job_uid})) return false;
    workloads_.erase(known);
    return true;
}

std::string WorkloadFeed::uid_of(const ObjectKey& job) const {
    for (const auto& [uid, facts] : workloads_) {
        if (facts.key == job) return uid;
    }
    return {};
}

namespace {

// The job that pods of the group are: ours say their size themselves.
ObjectKey gang_of(const ObjectKey& group) {
    return {group.namespace_name, std::string{kForeignGangPrefix} + group.name};
}

}  // namespace

bool GangFeed::on_object(Change /*change*/, const ObjectIdentity& /*identity*/,
                         std::string_view object) {
    const auto gang = read_gang(object, field_);
    if (!gang) {
        ++figures_.unreadable;
        return true;
    }
    const ObjectKey key = gang_of(gang->key);
    const auto known = gangs_.find(key);
    if (known != gangs_.end() && known->second == gang->size) {
        ++figures_.unchanged;
        return true;
    }
    if (gang->size.ranks == 0 && known == gangs_.end()) return true;  // a group, but no gang
    if (!outbox_.offer(GangObserved{key, gang->size})) return false;
    ++figures_.told;
    gangs_.insert_or_assign(key, gang->size);
    return true;
}

bool GangFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    const ObjectKey key = gang_of({identity.namespace_name, identity.name});
    if (!gangs_.contains(key)) return true;
    if (!outbox_.offer(GangRemoved{key})) return false;
    gangs_.erase(key);
    return true;
}

}  // namespace gpuctl::k8s
