#include "k8s/watch/volumes.hpp"

#include "k8s/convert/convert_pod_parts.hpp"
#include "scheduler/base/archive.hpp"

namespace gpuctl::k8s {

void Volumes::set(ClaimReading claim) {
    Claim now{std::move(claim.volume), claim.is_for_one_pod, claim.is_terminating};
    const auto [known, is_new] = claims_.try_emplace(claim.key);
    if (!is_new && known->second == now) return;
    known->second = std::move(now);
    report_change(claim.key);
}

void Volumes::remove_claim(const ObjectKey& key) {
    if (claims_.erase(key) > 0 && on_change_) on_change_(key);
}

std::shared_ptr<const Reach> Volumes::shared(Reach reach) {
    if (reach.empty()) return nullptr;
    std::string text = to_archive(reach);
    if (const auto known = reaches_.find(text); known != reaches_.end()) return known->second;
    auto made = std::make_shared<const Reach>(std::move(reach));
    reaches_.emplace(std::move(text), made);
    return made;
}

void Volumes::drop(std::shared_ptr<const Reach> reach) {
    constexpr int kOursAndTheTables = 2;
    if (reach && reach.use_count() <= kOursAndTheTables) reaches_.erase(to_archive(*reach));
}

void Volumes::set(VolumeReading volume) {
    std::shared_ptr<const Reach> reach = shared(std::move(volume.reach));
    const auto [known, is_new] = volumes_.try_emplace(volume.name);
    if (!is_new && known->second.reach == reach && known->second.claim == volume.claim) return;
    drop(std::exchange(known->second.reach, std::move(reach)));
    const ObjectKey before = std::exchange(known->second.claim, std::move(volume.claim));
    report_change(before);
    if (known->second.claim != before) report_change(known->second.claim);
}

void Volumes::remove_volume(const std::string& name) {
    const auto known = volumes_.find(name);
    if (known == volumes_.end()) return;
    Volume gone = std::move(known->second);
    volumes_.erase(known);
    drop(std::move(gone.reach));
    report_change(gone.claim);
}

// Empty: no restriction; `reach` gives the nodes, null: all.
std::string Volumes::problem_with(const ObjectKey& key, const Reach*& reach) const {
    const auto claim = claims_.find(key);
    if (claim == claims_.end()) return " before it exists";
    if (claim->second.is_terminating) return " while it is being deleted";
    if (claim->second.volume.empty()) {
        return " while it is not bound to a volume (gpuctl does not bind volumes, as "
               "WaitForFirstConsumer requires)";
    }
    if (claim->second.is_for_one_pod) return " with access mode ReadWriteOncePod";
    const auto volume = volumes_.find(claim->second.volume);
    if (volume == volumes_.end()) {
        return " while its volume " + claim->second.volume + " does not exist";
    }
    reach = volume->second.reach.get();
    return "";
}

void Volumes::apply(const std::vector<std::string>& claims, PodFacts& facts) const {
    for (const std::string& name : claims) {
        const Reach* reach = nullptr;
        const std::string problem = problem_with({facts.key.namespace_name, name}, reach);
        if (!problem.empty()) {
            facts.unsupported.push_back("persistentVolumeClaim " + name + problem);
        } else if (reach != nullptr) {
            for (const std::vector<SelectorTerm>& terms : *reach) {
                facts.rules.volumes.push_back({name, terms});
            }
        }
    }
    if (facts.ours && !facts.pin.exists()) facts.pin = pin_of(facts.rules);
}

bool ClaimFeed::on_object(Change /*change*/, const ObjectIdentity& /*identity*/,
                          std::string_view object) {
    auto claim = read_claim(object);
    if (claim) {
        volumes_.set(std::move(*claim));
    } else {
        ++figures_.unreadable;
    }
    return true;
}

bool ClaimFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    volumes_.remove_claim({identity.namespace_name, identity.name});
    return true;
}

bool VolumeFeed::on_object(Change /*change*/, const ObjectIdentity& /*identity*/,
                           std::string_view object) {
    auto volume = read_volume_object(object);
    if (volume) {
        volumes_.set(std::move(*volume));
    } else {
        ++figures_.unreadable;
    }
    return true;
}

bool VolumeFeed::on_deleted(const ObjectIdentity& identity, std::string_view /*last_state*/) {
    volumes_.remove_volume(identity.name);
    return true;
}

}  // namespace gpuctl::k8s
