#pragma once
// The objects of a policy as people made them. They change no decision by themselves: the policy
// that they result in comes as PolicyChanged.
//
// Bounded where they are made: kPolicyObjectsMaximum.
//
// Owner, thread: ClusterState's.

#include <map>
#include <vector>

#include "scheduler/model/event.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class PolicyObjects {
public:
    void on(const PolicyObjectsChanged& event);

    [[nodiscard]] const std::map<PolicyKey, PolicyObject>& by_key() const { return by_key_; }
    // Null: there is none.
    [[nodiscard]] const PolicyObject* find(const PolicyKey& key) const;

    [[nodiscard]] std::vector<PolicyObject> image() const;
    // False: one without a name or uid, of an unknown kind, or given twice.
    [[nodiscard]] bool restore(std::vector<PolicyObject> objects, Key<StateReader>);

private:
    std::map<PolicyKey, PolicyObject> by_key_;
};

}  // namespace gpuctl
