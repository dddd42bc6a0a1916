#pragma once
// Placement constraints of pods from their claims: joins the claims and volumes that the watches
// report.
//
//   claim absent, unbound, terminating, for one pod only, its volume gone -> held by name
//   bound to a volume that every node reaches                             -> nothing
//   bound to a volume with a node affinity or zones                       -> a rule
//
// Memory: of each claim its key and its volume's name, of each volume its name; node affinities are
// kept once each. Thread: the loop's.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "k8s/convert/convert_volume.hpp"
#include "k8s/watch/feed.hpp"

namespace gpuctl::k8s {

class Volumes {
public:
    using OnChange = std::function<void(const ObjectKey& claim)>;

    // Called after each change of a claim's constraints.
    void on_change(OnChange callback) { on_change_ = std::move(callback); }
    void set(ClaimReading claim);
    void remove_claim(const ObjectKey& key);
    void set(VolumeReading volume);
    void remove_volume(const std::string& name);

    // Adds the constraints of the pod's claims to its facts.
    void apply(const std::vector<std::string>& claims, PodFacts& facts) const;

    [[nodiscard]] std::size_t claims() const { return claims_.size(); }
    [[nodiscard]] std::size_t reaches() const { return reaches_.size(); }

private:
    struct Claim {
        std::string volume;
        bool is_for_one_pod = false;
        bool is_terminating = false;
        friend bool operator==(const Claim&, const Claim&) = default;
    };
    struct Volume {
        ObjectKey claim;
        std::shared_ptr<const Reach> reach;  // null: every node
    };
    [[nodiscard]] std::string problem_with(const ObjectKey& key, const Reach*& reach) const;
    std::shared_ptr<const Reach> shared(Reach reach);
    void drop(std::shared_ptr<const Reach> reach);
    void report_change(const ObjectKey& claim) const {
        if (on_change_ && claims_.contains(claim)) on_change_(claim);
    }

    std::map<ObjectKey, Claim> claims_;
    std::unordered_map<std::string, Volume> volumes_;
    std::map<std::string, std::shared_ptr<const Reach>> reaches_;  // by their archive
    OnChange on_change_;
};

class ClaimFeed : public Feed {
public:
    ClaimFeed(Outbox& outbox, Volumes& volumes, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)), volumes_(volumes) {}
    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

private:
    Volumes& volumes_;
};

class VolumeFeed : public Feed {
public:
    VolumeFeed(Outbox& outbox, Volumes& volumes, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)), volumes_(volumes) {}
    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

private:
    Volumes& volumes_;
};

}  // namespace gpuctl::k8s
