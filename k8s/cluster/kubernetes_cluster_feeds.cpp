#include "k8s/cluster/kubernetes_cluster_feeds.hpp"

#include <algorithm>
#include <utility>

#include "k8s/convert/convert_workload.hpp"
#include "scheduler/base/archive.hpp"

namespace gpuctl::k8s {

PodFeed::PodFeed(Outbox& outbox, PodReadSettings settings, PodNews news, Volumes& volumes,
                 OnSynced on_synced)
    : Feed(outbox, std::move(on_synced)),
      settings_(std::move(settings)),
      news_(news),
      volumes_(volumes) {
    volumes_.on_change([this](const ObjectKey& claim) {
        const auto pods = using_.find(claim);
        if (pods == using_.end() || !are_volumes_read_) return;
        for (const std::string& uid : pods->second) report_again(uid);
    });
}

bool PodFeed::on_object(Change /*change*/, const ObjectIdentity& identity,
                        std::string_view object) {
    auto reading = read_pod(object, settings_);
    if (!reading) {
        ++figures_.unreadable;  // reporting it again would not help
        return true;
    }
    PodFacts& facts = reading->facts;
    const auto known = pods_.find(identity.uid);
    // Pods of other schedulers count from when they are bound to a node.
    if (known == pods_.end() && !facts.ours && facts.node.empty()) return true;
    has_seen_bound_ = has_seen_bound_ || (facts.ours && !facts.node.empty());
    report_state(*reading);
    if (!keep_claims(*reading)) return true;
    const std::uint64_t print = fingerprint(facts, scratch_);
    Known& of = pods_[identity.uid];
    if (of.fingerprint == print) {
        ++figures_.unchanged;
        return true;
    }
    const bool has_controller = facts.has_controller;
    if (!outbox_.offer(PodObserved{std::move(facts)})) {
        if (of.fingerprint == 0 && !of.claims) pods_.erase(identity.uid);
        return false;
    }
    ++figures_.reported;
    of.fingerprint = print;
    of.has_controller = has_controller;
    return true;
}

// The volumes of other schedulers' pods do not matter here, nor those of ended pods. False: the pod
// is reported when all claims are read.
bool PodFeed::keep_claims(PodReading& reading) {
    PodFacts& facts = reading.facts;
    if (const auto known = pods_.find(facts.uid); known != pods_.end() && known->second.claims) {
        forget_claims(facts.uid, *known->second.claims);
        known->second.claims = nullptr;
    }
    if (!facts.ours || is_terminal(facts.phase) || reading.claims.empty()) return true;
    auto claims = std::make_unique<Claims>();
    claims->facts = to_archive(facts);
    claims->key = facts.key;
    claims->names = std::move(reading.claims);
    for (const std::string& name : claims->names) {
        using_[{facts.key.namespace_name, name}].insert(facts.uid);
    }
    Known& of = pods_[facts.uid];
    of.has_controller = facts.has_controller;
    of.claims = std::move(claims);
    if (are_volumes_read_) volumes_.apply(of.claims->names, facts);
    return are_volumes_read_;
}

void PodFeed::forget_claims(const std::string& uid, const Claims& claims) {
    for (const std::string& name : claims.names) {
        const auto pods = using_.find({claims.key.namespace_name, name});
        if (pods == using_.end()) continue;
        pods->second.erase(uid);
        if (pods->second.empty()) using_.erase(pods);
    }
}

// No watch event repeats this: the change is outside the pod.
void PodFeed::report_again(const std::string& uid) {
    Known& of = pods_.at(uid);
    PodFacts facts;
    if (!from_archive(of.claims->facts, facts)) return;
    volumes_.apply(of.claims->names, facts);
    const std::uint64_t print = fingerprint(facts, scratch_);
    if (of.fingerprint == print) return;
    outbox_.deliver(PodObserved{std::move(facts)});
    ++figures_.reported;
    of.fingerprint = print;
}

void PodFeed::volumes_are_read() {
    if (std::exchange(are_volumes_read_, true)) return;
    std::vector<std::string> uids;
    for (const auto& [uid, known] : pods_) {
        if (known.claims) uids.push_back(uid);
    }
    std::sort(uids.begin(), uids.end());  // for a deterministic order of events
    for (const std::string& uid : uids) report_again(uid);
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
        news_.conditions.observed(
            {facts.key, facts.uid}, reading.generation, reading.stored_unscheduled,
            {reading.stored_reason, reading.stored_message}, reading.stored_since);
    }
}

bool PodFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    // The last state is not used: with a field selector it may be outdated.
    forget(identity.uid);
    const auto known = pods_.find(identity.uid);
    if (known == pods_.end()) return true;
    if (!outbox_.offer(PodRemoved{identity.uid})) return false;
    if (known->second.claims) forget_claims(identity.uid, *known->second.claims);
    pods_.erase(known);
    return true;
}

bool PodFeed::has_controller(const std::string& uid) const {
    const auto known = pods_.find(uid);
    return known != pods_.end() && known->second.has_controller;
}

bool WorkloadFeed::on_object(Change /*change*/, const ObjectIdentity& identity,
                             std::string_view object) {
    auto facts = read_workload(object, labels_);
    if (!facts) {
        ++figures_.unreadable;
        return true;
    }
    if (facts->job_uid.empty()) return true;  // a foreign object with our managed-by label
    const auto known = workloads_.find(identity.uid);
    if (known != workloads_.end() && known->second == *facts) {
        ++figures_.unchanged;
        return true;
    }
    if (known == workloads_.end() && !offer_job(object)) return false;
    if (!outbox_.offer(WorkloadObserved{*facts})) return false;
    ++figures_.reported;
    workloads_.insert_or_assign(identity.uid, std::move(*facts));
    return true;
}

// Offered again when the workload itself could not be: the engine applies it once.
bool WorkloadFeed::offer_job(std::string_view object) {
    const std::optional<WorkloadOrigin> origin = read_origin(object, labels_);
    if (!origin || origin->is_deleting || !read_spec_) return true;
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

// False: the sink is full.
bool GangFeed::forget_all_but(Gangs& known, const std::vector<GangReading>& kept) {
    for (auto next = known.begin(); next != known.end();) {
        const bool is_kept = std::any_of(kept.begin(), kept.end(), [&](const GangReading& gang) {
            return gang.job == next->first;
        });
        if (is_kept) {
            ++next;
        } else if (outbox_.offer(GangRemoved{next->first})) {
            next = known.erase(next);
        } else {
            return false;
        }
    }
    return true;
}

bool GangFeed::on_object(Change /*change*/, const ObjectIdentity& identity,
                         std::string_view object) {
    const auto gangs = read_gangs(object, field_, labels_);
    if (!gangs) {
        ++figures_.unreadable;
        return true;
    }
    const ObjectKey key{identity.namespace_name, identity.name};
    const auto before = objects_.find(key);
    if (before != objects_.end() && !forget_all_but(before->second, *gangs)) return false;
    for (const GangReading& gang : *gangs) {
        const bool is_known = before != objects_.end() && before->second.contains(gang.job);
        if (gang.size.ranks == 0 && !is_known) continue;  // a group, but no gang
        Gangs& of = objects_[key];
        const std::pair said{gang.size, gang.note};
        if (is_known && of.at(gang.job) == said) {
            ++figures_.unchanged;
            continue;
        }
        if (!outbox_.offer(GangObserved{gang.job, gang.size, gang.note})) return false;
        ++figures_.reported;
        of.insert_or_assign(gang.job, said);
    }
    return true;
}

bool GangFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    const auto known = objects_.find({identity.namespace_name, identity.name});
    if (known == objects_.end()) return true;
    if (!forget_all_but(known->second, {})) return false;
    objects_.erase(known);
    return true;
}

bool DeviceClassFeed::on_object(Change /*change*/, const ObjectIdentity& /*identity*/,
                                std::string_view object) {
    auto reading = read_device_class(object);
    if (!reading) {
        ++figures_.unreadable;
        return true;
    }
    const auto known = classes_.find(reading->name);
    if (reading->resource == (known == classes_.end() ? "" : known->second)) {
        ++figures_.unchanged;
        return true;
    }
    if (!outbox_.offer(DeviceClassObserved{reading->name, reading->resource})) return false;
    ++figures_.reported;
    classes_[reading->name] = reading->resource;
    if (reading->resource.empty()) classes_.erase(reading->name);
    return true;
}

bool DeviceClassFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    if (!classes_.contains(identity.name)) return true;
    if (!outbox_.offer(DeviceClassRemoved{identity.name})) return false;
    classes_.erase(identity.name);
    return true;
}

}  // namespace gpuctl::k8s
