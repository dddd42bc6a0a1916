#include "k8s/policy/policy_feed.hpp"

#include <charconv>

namespace gpuctl::k8s {

std::uint64_t version_number(std::string_view resource_version) {
    std::uint64_t number = 0;
    const char* const end = resource_version.data() + resource_version.size();
    const auto [stop, problem] = std::from_chars(resource_version.data(), end, number);
    return problem == std::errc{} && stop == end ? number : 0;
}

bool PolicyFeed::on_object(Change /*change*/, const ObjectIdentity& identity,
                           std::string_view object) {
    std::optional<PolicyReading> reading = read_policy_object(kind_, object, labels_);
    if (!reading) {
        ++figures_.unreadable;
        return true;
    }
    PolicyKey before;
    std::uint64_t said_since = version_number(identity.resource_version);
    if (const auto known = objects_.find(identity.uid); known != objects_.end()) {
        before = known->second.reading.key;
        const bool is_same = known->second.reading.document == reading->document;
        if (is_same) said_since = known->second.said_since;
        drop_candidate(known->second);
    }
    const PolicyKey key = reading->key;
    const bool counts = !reading->document.empty() && !reading->is_deleting;
    if (counts) candidates_[key].insert({reading->created_at, identity.uid});
    objects_.insert_or_assign(identity.uid,
                              WatchedPolicyObject{std::move(*reading), identity, said_since, {}});
    unsettled_.insert(before);
    unsettled_.insert(key);
    const bool room = settle_all();
    if (say_) say_();
    return room;
}

bool PolicyFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    const auto known = objects_.find(identity.uid);
    if (known == objects_.end()) return true;
    const PolicyKey key = known->second.reading.key;
    drop_candidate(known->second);
    unsettled_.insert(key);
    if (!settle_all()) return false;
    objects_.erase(identity.uid);
    if (say_) say_();
    return true;
}

void PolicyFeed::drop_candidate(const WatchedPolicyObject& object) {
    const auto found = candidates_.find(object.reading.key);
    if (found == candidates_.end()) return;
    found->second.erase({object.reading.created_at, object.identity.uid});
    if (found->second.empty()) candidates_.erase(found);
}

void PolicyFeed::mark_hidden(const PolicyKey& key) {
    const auto found = candidates_.find(key);
    if (found == candidates_.end()) return;
    const std::string& first = found->second.begin()->second;
    for (const Age& one : found->second) {
        objects_.at(one.second).hidden_by =
            one.second == first ? std::string{} : objects_.at(first).identity.name;
    }
}

bool PolicyFeed::settle_all() {
    while (!unsettled_.empty()) {
        if (!settle(*unsettled_.begin())) return false;
        unsettled_.erase(unsettled_.begin());
    }
    return true;
}

// Reports what the objects under this key mean now. False: the sink is full.
bool PolicyFeed::settle(const PolicyKey& key) {
    if (key.name.empty()) return true;
    mark_hidden(key);
    const auto known = reported_.find(key);
    const auto found = candidates_.find(key);
    PolicyObjectsChanged change;
    if (found == candidates_.end()) {
        if (known == reported_.end()) return true;
        change.gone.push_back({key, known->second.uid});
        if (!outbox_.offer(std::move(change))) return false;
        ++figures_.reported;
        reported_.erase(key);
        return true;
    }
    const WatchedPolicyObject& first = objects_.at(found->second.begin()->second);
    const PolicyReading& reading = first.reading;
    if (known != reported_.end() && known->second.uid == first.identity.uid &&
        known->second.document == reading.document && known->second.source == reading.source) {
        ++figures_.unchanged;
        return true;
    }
    if (known == reported_.end() && reported_.size() >= kPolicyObjectsMaximum) return true;
    if (known != reported_.end() && known->second.uid != first.identity.uid) {
        change.gone.push_back({key, known->second.uid});
    }
    PolicyObject object;
    object.key = key;
    object.uid = first.identity.uid;
    object.version = version_number(first.identity.resource_version);
    object.source = reading.source;
    object.created_at = object.changed_at = reading.created_at;
    object.document = reading.document;
    change.put.push_back(std::move(object));
    if (!outbox_.offer(std::move(change))) return false;
    ++figures_.reported;
    reported_[key] = {first.identity.uid, reading.document, reading.source};
    return true;
}

const WatchedPolicyObject* PolicyFeed::find(const PolicyKey& key) const {
    const auto found = candidates_.find(key);
    return found == candidates_.end() ? nullptr : &objects_.at(found->second.begin()->second);
}

}  // namespace gpuctl::k8s
