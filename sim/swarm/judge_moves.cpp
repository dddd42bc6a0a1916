// I17, how often jobs are moved: evictions that happened, counted by hand. Each pod of a service
// has a budget of its own, which the pod made in its place takes over; a gang has one for all its
// ranks.

#include <algorithm>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {
namespace {

constexpr Duration kHour = Duration::seconds(3600);

std::int64_t within_the_hour(const std::vector<Instant>& moments, Instant now) {
    return std::count_if(moments.begin(), moments.end(),
                         [now](Instant at) { return at + kHour > now; });
}

}  // namespace

// Before the books take it.
void Judge::note_moves(const Input& input) {
    if (const auto* seen = std::get_if<PodObserved>(&input.event)) {
        const auto known = books_.pods.find(seen->pod.uid);
        if (known == books_.pods.end()) return take_place(seen->pod, input.now);
        if (seen->pod.terminating && !known->second.facts.terminating) {
            note_going(seen->pod.uid, input.now);
        } else if (is_terminal(seen->pod.phase)) {
            asked_moves_.erase(seen->pod.uid);  // it ended by itself
        }
    } else if (const auto* removed = std::get_if<PodRemoved>(&input.event)) {
        note_going(removed->uid, input.now);
        asked_moves_.erase(removed->uid);
        moved_at_.erase(removed->uid);
    } else if (const auto* outcome = std::get_if<PodEvictOutcome>(&input.event)) {
        const auto asked = asked_moves_.find(outcome->uid);
        if (asked == asked_moves_.end() || asked->second.effect != outcome->effect) return;
        const bool goes =
            outcome->result == EvictResult::evicted || outcome->result == EvictResult::gone;
        if (goes) {
            count_move(outcome->uid, input.now);
        } else {
            asked->second.is_refused = true;
        }
    }
}

void Judge::note_going(const std::string& uid, Instant now) {
    const auto asked = asked_moves_.find(uid);
    if (asked != asked_moves_.end() && !asked->second.is_refused) count_move(uid, now);
}

void Judge::count_move(const std::string& uid, Instant now) {
    AskedMove& asked = asked_moves_.at(uid);
    if (std::exchange(asked.is_counted, true)) return;
    ++probes.moves_counted;
    const PodFacts& pod = books_.pods.at(uid).facts;
    const ObjectKey job = job_of(pod);
    if (const auto kept = asked_kept_.find(job); kept != asked_kept_.end()) {
        if (kept->second.uid == uid) kept_[job] = kept->second;
    }
    if (books_.gang_of(job).size == 0) {
        std::vector<Instant>& moved = moved_at_[uid];
        moved.push_back(now);
        places_left_[job].push_back({pod.rank, moved});
        return;
    }
    if (asked.goes_along) return;
    gang_moved_at_[job].push_back(now);
    for (const std::string& rank : books_.jobs.at(job)) {
        const auto other = asked_moves_.find(rank);
        if (other != asked_moves_.end()) other->second.goes_along = !other->second.is_counted;
    }
}

void Judge::take_place(const PodFacts& pod, Instant now) {
    const auto of_job = places_left_.find(job_of(pod));
    if (of_job == places_left_.end() || pod.gang || is_terminal(pod.phase)) return;
    std::vector<PlaceLeft>& places = of_job->second;
    const auto own = std::find_if(places.begin(), places.end(), [&](const PlaceLeft& place) {
        return place.rank == pod.rank && place.moved_at.back() + kHour > now;
    });
    if (own == places.end()) return;
    moved_at_[pod.uid] = own->moved_at;
    places.erase(own);
}

void Judge::note_asked(const EvictPod& eviction) {
    const auto [asked, is_new] = asked_moves_.try_emplace(eviction.pod.uid);
    asked->second.effect = eviction.id;
    asked->second.is_refused = false;
    if (!is_new) return;                              // asked again, not decided again
    if (eviction.beneficiary == ObjectKey{}) return;  // a window waits for no budget
    if (may_be_moved(eviction.pod.uid)) return;
    fail("I17", "eviction of " + to_string(eviction.pod.key) +
                    ": it was moved as often as it may be in an hour");
}

// Of what was answered, and is asked for no more, nothing is left to be counted.
void Judge::forget_withdrawn(const ClusterState& after) {
    std::erase_if(asked_moves_, [&](const auto& one) {
        const PodId id = after.find_pod(one.first);
        const bool is_answered = one.second.is_refused || one.second.is_counted;
        return is_answered && id.exists() && after.pod(id).eviction == Eviction::none;
    });
}

bool Judge::may_be_moved(const std::string& uid) const {
    const std::int64_t most = books_.policy.evictions_per_job_per_hour;
    const ObjectKey job = job_of(books_.pods.at(uid).facts);
    static const std::vector<Instant> never;
    const auto known = [](const auto& all, const auto& key) -> const std::vector<Instant>& {
        const auto found = all.find(key);
        return found == all.end() ? never : found->second;
    };
    const std::vector<Instant>& moved =
        books_.gang_of(job).size > 0 ? known(gang_moved_at_, job) : known(moved_at_, uid);
    return within_the_hour(moved, books_.now) < most;
}

}  // namespace gpuctl::sim
