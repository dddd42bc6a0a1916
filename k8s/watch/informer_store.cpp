#include "k8s/watch/informer_store.hpp"

#include <algorithm>

namespace gpuctl::k8s {

std::string_view InformerStore::key_of(const ObjectIdentity& identity) {
    key_.assign(identity.namespace_name);
    key_.push_back('/');
    key_.append(identity.name);
    return key_;
}

bool InformerStore::saw(const ObjectIdentity& identity, std::string_view object) {
    const std::string_view key = key_of(identity);
    auto found = known_.find(key);
    if (found != known_.end() && found->second.uid != identity.uid) {
        // Same name, new incarnation: the delete of the old one was missed.
        const ObjectIdentity old{identity.namespace_name, identity.name, found->second.uid,
                                 found->second.resource_version};
        ++figures_.deletes_inferred;
        if (!handler_.on_deleted(old, {})) return false;
        forget(found);
        found = known_.end();
    }
    if (found == known_.end())
        found = known_.emplace(std::string{key}, Known{identity.uid, {}, 0}).first;
    Known& known = found->second;
    if (known.generation != generation_) ++seen_;
    known.generation = generation_;
    if (!known.resource_version.empty() && known.resource_version == identity.resource_version) {
        ++figures_.events_unchanged;
        return true;
    }
    const bool is_new = known.resource_version.empty();
    const bool accepted =
        handler_.on_object(is_new ? Change::added : Change::modified, identity, object);
    known.resource_version = accepted ? identity.resource_version : std::string{};
    return accepted;
}

bool InformerStore::saw_delete(const ObjectIdentity& identity, std::string_view last_state) {
    const auto found = known_.find(key_of(identity));
    // Unknown, or of an earlier incarnation whose delete was reported already.
    if (found == known_.end() || found->second.uid != identity.uid) return true;
    if (!handler_.on_deleted(identity, last_state)) return false;
    forget(found);
    return true;
}

void InformerStore::forget(Objects::iterator object) {
    if (object->second.generation == generation_) --seen_;
    known_.erase(object);
}

bool InformerStore::end_list() {
    // The common case, which saves a search through many objects.
    if (seen_ == known_.size()) return true;
    // In order of their names, so that equal histories give equal event sequences.
    std::vector<std::string> missing;
    for (const auto& [key, known] : known_) {
        if (known.generation != generation_) missing.push_back(key);
    }
    std::sort(missing.begin(), missing.end());
    for (const std::string& key : missing) {
        const auto found = known_.find(key);
        const std::size_t slash = key.find('/');
        const ObjectIdentity gone{key.substr(0, slash), key.substr(slash + 1), found->second.uid,
                                  found->second.resource_version};
        ++figures_.deletes_inferred;
        if (!handler_.on_deleted(gone, {})) return false;
        forget(found);
    }
    return true;
}

}  // namespace gpuctl::k8s
