#pragma once
// From informers to engine events. Each feed stores a fingerprint of what it reported, so that an
// update without a relevant change ends here. When the sink is full, the feed refuses the object,
// and the informer reports it again after a relist.
//
// Thread: the loop's. Memory: an entry per pod that holds or waits for capacity, per node, per
// PodGroup, and per object of a submitted job.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "k8s/cluster/node_feed.hpp"
#include "k8s/convert/convert_group.hpp"
#include "k8s/convert/convert_pod.hpp"
#include "k8s/convert/convert_workload.hpp"
#include "k8s/json/labels.hpp"
#include "k8s/watch/feed.hpp"
#include "k8s/watch/volumes.hpp"
#include "k8s/write/event_recorder.hpp"
#include "k8s/write/status_writer.hpp"
#include "scheduler/model/job/workload.hpp"

namespace gpuctl::k8s {

// Writers of pod events and conditions: informed of the pod's stored condition and of its end.
struct PodNews {
    StatusWriter& conditions;
    EventRecorder& events;
};

// A pod with claims waits here until all claims and volumes are read, and is reported again when
// the constraints from its claims change: for this its facts are stored, packed.
class PodFeed : public Feed {
public:
    PodFeed(Outbox& outbox, PodReadSettings settings, PodNews news, Volumes& volumes,
            OnSynced on_synced);

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

    // All claims and volumes are read: pods with claims are reported from now on.
    void volumes_are_read();

    // Whether the pod has a controller: only such pods are created again after an eviction.
    [[nodiscard]] bool has_controller(const std::string& uid) const;
    // Whether a pod of ours was ever seen on a node: then another process has led before.
    [[nodiscard]] bool has_seen_bound() const { return has_seen_bound_; }

private:
    struct Claims {
        std::string facts;  // archived, before its claims were applied
        ObjectKey key;
        std::vector<std::string> names;
    };
    struct Known {
        std::uint64_t fingerprint = 0;  // 0: not reported yet
        bool has_controller = false;
        std::unique_ptr<Claims> claims;
    };
    void report_state(const PodReading& reading);
    void forget(const std::string& uid);
    bool keep_claims(PodReading& reading);
    void forget_claims(const std::string& uid, const Claims& claims);
    void report_again(const std::string& uid);

    PodReadSettings settings_;
    PodNews news_;
    Volumes& volumes_;
    std::unordered_map<std::string, Known> pods_;       // by uid
    std::map<ObjectKey, std::set<std::string>> using_;  // claim -> uids
    bool are_volumes_read_ = false;
    bool has_seen_bound_ = false;
    std::string scratch_;
};

// One kind of object; those that we made.
class WorkloadFeed : public Feed {
public:
    WorkloadFeed(Outbox& outbox, LabelKeys labels, ReadSpec read_spec, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)),
          labels_(std::move(labels)),
          read_spec_(std::move(read_spec)) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

    // The object that was made for this job; empty: there is none of this kind.
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
    std::map<ObjectKey, Gangs> objects_;  // object -> the gangs that it describes
};

class DeviceClassFeed : public Feed {
public:
    using Feed::Feed;

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

private:
    std::map<std::string, std::string> classes_;  // class -> the resource that it serves
};

}  // namespace gpuctl::k8s
