#include "scheduler/state/policy_objects/policy_objects.hpp"

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

// Deletions come first: an object that replaces another of its name is in both lists.
void PolicyObjects::on(const PolicyObjectsChanged& event) {
    for (const PolicyObjectGone& gone : event.gone) {
        const auto known = by_key_.find(gone.key);
        if (known == by_key_.end()) continue;
        const bool is_it = known->second.uid == gone.uid;
        if (is_it || has_fault(SeededFault::delete_replaced_policy_objects)) by_key_.erase(known);
    }
    for (const PolicyObject& object : event.put) {
        const auto [known, is_new] = by_key_.try_emplace(object.key, object);
        const bool is_older = object.version <= known->second.version;
        if (is_new || (is_older && !has_fault(SeededFault::take_stale_policy_objects))) continue;
        known->second = object;
    }
}

const PolicyObject* PolicyObjects::find(const PolicyKey& key) const {
    const auto known = by_key_.find(key);
    return known == by_key_.end() ? nullptr : &known->second;
}

std::vector<PolicyObject> PolicyObjects::image() const {
    std::vector<PolicyObject> out;
    out.reserve(by_key_.size());
    for (const auto& [key, object] : by_key_) out.push_back(object);
    if (has_fault(SeededFault::forget_policy_objects_on_disk) && !out.empty()) out.pop_back();
    return out;
}

bool PolicyObjects::restore(std::vector<PolicyObject> objects, Key<StateReader>) {
    for (PolicyObject& object : objects) {
        const bool is_one = object.key.kind <= PolicyKind::name_space && !object.key.name.empty() &&
                            !object.uid.empty() && object.source <= PolicySource::crd;
        const PolicyKey key = object.key;
        if (!is_one || !by_key_.try_emplace(key, std::move(object)).second) return false;
    }
    return true;
}

}  // namespace gpuctl
