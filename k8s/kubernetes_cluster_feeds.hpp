#pragma once
// From informers to engine events. Each feed remembers a fingerprint of what it told, so that an
// update that changes nothing for us ends here; and each says "no room" to its informer when the
// sink is full, which then tells again after a relist.
//
// Thread: the loop's. Memory: an entry per pod that holds or wants room, per node, per PodGroup,
// and per object of a submitted job.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "k8s/convert_group.hpp"
#include "k8s/convert_pod.hpp"
#include "k8s/convert_workload.hpp"
#include "k8s/event_recorder.hpp"
#include "k8s/feed.hpp"
#include "k8s/labels.hpp"
#include "k8s/status_writer.hpp"
#include "k8s/volumes.hpp"
#include "scheduler/model/workload.hpp"

namespace gpuctl::k8s {

// What is written about a pod: told of what the API server has, and of its end.
struct PodNews {
    StatusWriter& conditions;
    EventRecorder& events;
};

// A pod with claims waits here until all claims and volumes are read, and is told again when what
// its claims mean changes: of those the facts are kept, packed.
class PodFeed : public Feed {
public:
    PodFeed(Outbox& outbox, PodReadSettings settings, PodNews news, Volumes& volumes,
            OnSynced on_synced);

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

    // All claims and volumes are read: pods with claims are told from now on.
    void volumes_are_read();

    // Ruling 26: only such pods are made again by somebody.
    [[nodiscard]] bool has_controller(const std::string& uid) const;
    // Was a pod of ours ever seen on a node? Then somebody led before.
    [[nodiscard]] bool has_seen_bound() const { return has_seen_bound_; }

private:
    struct Claims {
        std::string facts;  // archived, before the claims were looked at
        ObjectKey key;
        std::vector<std::string> names;
    };
    struct Known {
        std::uint64_t fingerprint = 0;  // 0: it waits to be told
        bool has_controller = false;
        std::unique_ptr<Claims> claims;
    };
    void report_state(const PodReading& reading);
    void forget(const std::string& uid);
    bool keep_claims(PodReading& reading);
    void forget_claims(const std::string& uid, const Claims& claims);
    void tell_again(const std::string& uid);

    PodReadSettings settings_;
    PodNews news_;
    Volumes& volumes_;
    std::unordered_map<std::string, Known> pods_;       // by uid
    std::map<ObjectKey, std::set<std::string>> using_;  // by claim: uids
    bool are_volumes_read_ = false;
    bool has_seen_bound_ = false;
    std::string scratch_;
};

class NodeFeed : public Feed {
public:
    NodeFeed(Outbox& outbox, LabelKeys labels, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)), labels_(std::move(labels)) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

private:
    LabelKeys labels_;
    std::unordered_map<std::string, std::uint64_t> nodes_;  // name -> fingerprint
    std::string scratch_;
};

// Of one kind of object, those that we made.
class WorkloadFeed : public Feed {
public:
    WorkloadFeed(Outbox& outbox, LabelKeys labels, ReadSpec read_spec, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)),
          labels_(std::move(labels)),
          read_spec_(std::move(read_spec)) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

    // Of the object that was made for this job; empty: there is none of this kind.
    [[nodiscard]] std::string uid_of(const ObjectKey& job) const;

private:
    bool offer_job(std::string_view object);

    LabelKeys labels_;
    ReadSpec read_spec_;
    std::unordered_map<std::string, WorkloadFacts> workloads_;  // by the object's uid
};

class GangFeed : public Feed {
public:
    GangFeed(Outbox& outbox, GangField field, LabelKeys labels, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)), field_(field), labels_(std::move(labels)) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

private:
    using Gangs = std::map<ObjectKey, std::pair<GangSize, GangNote>>;
    bool forget_all_but(Gangs& known, const std::vector<GangReading>& kept);

    GangField field_;
    LabelKeys labels_;
    std::map<ObjectKey, Gangs> objects_;  // by the object: the gangs it says something of
};

class DeviceClassFeed : public Feed {
public:
    using Feed::Feed;

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

private:
    std::map<std::string, std::string> classes_;  // of those that serve one: the resource
};

}  // namespace gpuctl::k8s
