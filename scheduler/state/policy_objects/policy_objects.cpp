#include "scheduler/state/policy_objects/policy_objects.hpp"

namespace gpuctl {

// Deletions come first: an object that replaces another of its name is in both lists.
void PolicyObjects::on(const PolicyObjectsChanged& event) {
    for (const PolicyObjectGone& gone : event.gone) {
        const auto known = by_key_.find(gone.key);
        if (known != by_key_.end() && known->second.uid == gone.uid) by_key_.erase(known);
    }
    for (const PolicyObject& object : event.put) {
        const auto [known, is_new] = by_key_.try_emplace(object.key, object);
        if (is_new || object.version <= known->second.version) continue;
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
