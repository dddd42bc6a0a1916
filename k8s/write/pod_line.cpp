#include "k8s/write/pod_line.hpp"

#include <algorithm>

namespace gpuctl::k8s {

void PodLine::add(const ObjectKey& job, const std::string& uid, Time due) {
    remove(uid);
    const Place place{job, due, ++tickets_, false};
    places_.emplace(uid, place);
    later_.emplace(std::pair{due, place.ticket}, uid);
}

void PodLine::remove(const std::string& uid) {
    const auto found = places_.find(uid);
    if (found == places_.end()) return;
    const Place& place = found->second;
    if (place.is_ready) {
        const auto job = jobs_.find(place.job);
        job->second.ready.erase(place.ticket);
        drop_if_empty(job);
    } else {
        later_.erase({place.due, place.ticket});
    }
    places_.erase(found);
}

// Pods that are due by now enter their job's queue, in the order in which they became due.
void PodLine::let_in(Time now) {
    while (!later_.empty() && later_.begin()->first.first <= now) {
        std::string uid = std::move(later_.begin()->second);
        later_.erase(later_.begin());
        Place& place = places_.at(uid);
        place.is_ready = true;
        place.ticket = ++tickets_;
        const auto [job, is_new] = jobs_.try_emplace(place.job);
        if (is_new) job->second.turn = turns_.insert(turns_.end(), place.job);
        job->second.ready.emplace(place.ticket, std::move(uid));
    }
}

void PodLine::drop_if_empty(std::map<ObjectKey, Job>::iterator job) {
    if (!job->second.ready.empty()) return;
    turns_.erase(job->second.turn);
    jobs_.erase(job);
}

std::optional<std::string> PodLine::pop(Time now) {
    let_in(now);
    if (turns_.empty()) return std::nullopt;
    const auto job = jobs_.find(turns_.front());
    auto& ready = job->second.ready;
    std::string uid = std::move(ready.begin()->second);
    ready.erase(ready.begin());
    places_.erase(uid);
    turns_.splice(turns_.end(), turns_, job->second.turn);
    drop_if_empty(job);
    return uid;
}

PodLine::Time PodLine::next_at() const {
    if (!turns_.empty()) return Time::min();
    return later_.empty() ? Time::max() : later_.begin()->first.first;
}

std::chrono::milliseconds PodPause::of(std::size_t pods) const {
    constexpr std::size_t many = 1'000'000;
    const auto count = static_cast<std::int64_t>(std::min(pods, many));
    return std::clamp(each * count, least, std::max(least, most));
}

}  // namespace gpuctl::k8s
