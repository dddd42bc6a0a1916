#pragma once
// Reports the objects of one kind of the policy as PolicyObjectsChanged. Of two objects that mean
// the same (two quotas of one namespace), the older one is reported.
//
// Thread: the loop's. Memory: the document of each object; at most kPolicyObjectsMaximum of a kind
// are reported.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "k8s/policy/policy_codec.hpp"
#include "k8s/watch/feed.hpp"

namespace gpuctl::k8s {

// An object as the watch showed it last.
struct WatchedPolicyObject {
    PolicyReading reading;
    ObjectIdentity identity;
    std::uint64_t said_since = 0;  // the version that first had this document
    std::string hidden_by;         // the name of an older object that means the same
};

class PolicyFeed final : public Feed {
public:
    PolicyFeed(Outbox& outbox, PolicyKind kind, LabelKeys labels, OnSynced on_synced)
        : Feed(outbox, std::move(on_synced)), kind_(kind), labels_(std::move(labels)) {}

    bool on_object(Change change, const ObjectIdentity& identity, std::string_view object) override;
    bool on_deleted(const ObjectIdentity& identity, std::string_view last_state) override;

    // Called after each object that was shown.
    void on_change(std::function<void()> say) { say_ = std::move(say); }
    // The object that is reported under this key; null: there is none.
    [[nodiscard]] const WatchedPolicyObject* find(const PolicyKey& key) const;
    [[nodiscard]] const std::map<std::string, WatchedPolicyObject>& all() const { return objects_; }

private:
    struct Reported {
        std::string uid;
        std::string document;
        PolicySource source{};
    };
    using Age = std::pair<Instant, std::string>;  // and uid

    bool settle_all();
    bool settle(const PolicyKey& key);
    void mark_hidden(const PolicyKey& key);
    void drop_candidate(const WatchedPolicyObject& object);

    PolicyKind kind_;
    LabelKeys labels_;
    std::function<void()> say_;
    std::map<std::string, WatchedPolicyObject> objects_;  // by uid
    std::map<PolicyKey, std::set<Age>> candidates_;
    std::map<PolicyKey, Reported> reported_;
    // Not reported yet. An object that was refused may mean something else, or nothing, when it is
    // shown again.
    std::set<PolicyKey> unsettled_;
};

// The resourceVersion as a number: later ones are larger. 0: it is none.
std::uint64_t version_number(std::string_view resource_version);

}  // namespace gpuctl::k8s
