// I17 of eviction budgets: recounts the evictions that took place. Each pod of a service has its
// own budget, which its replacement inherits; a gang has one budget for all its ranks.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {
namespace {

constexpr Duration kHour = Duration::seconds(3600);

std::int64_t within_the_hour(const std::vector<Instant>& actions, Instant now) {
    return std::count_if(actions.begin(), actions.end(),
                         [now](Instant at) { return at + kHour > now; });
}

}  // namespace

// Called before the reference model applies the input.
void Checker::record_moves(const Input& input) {
    if (const auto* seen = std::get_if<PodObserved>(&input.event)) {
        const auto known = reference_.pods.find(seen->pod.uid);
        if (known == reference_.pods.end()) return fill_vacated_place(seen->pod, input.now);
        record_late_start(seen->pod);
        if (seen->pod.terminating && !known->second.facts.terminating) {
            record_departure(seen->pod.uid, input.now);
        } else if (is_terminal(seen->pod.phase)) {
            ordered_moves_.erase(seen->pod.uid);  // it ended by itself
        }
    } else if (const auto* removed = std::get_if<PodRemoved>(&input.event)) {
        record_departure(removed->uid, input.now);
        ordered_moves_.erase(removed->uid);
        moved_at_.erase(removed->uid);
    } else if (const auto* outcome = std::get_if<PodEvictOutcome>(&input.event)) {
        const auto asked = ordered_moves_.find(outcome->uid);
        if (asked == ordered_moves_.end() || asked->second.effect != outcome->effect) return;
        const bool goes =
            outcome->result == EvictResult::evicted || outcome->result == EvictResult::gone;
        if (goes) {
            count_move(outcome->uid, input.now);
        } else {
            asked->second.is_refused = true;
        }
    }
}

void Checker::record_departure(const std::string& uid, Instant now) {
    const auto asked = ordered_moves_.find(uid);
    if (asked != ordered_moves_.end() && !asked->second.is_refused) count_move(uid, now);
}

void Checker::count_move(const std::string& uid, Instant now) {
    OrderedMove& asked = ordered_moves_.at(uid);
    if (std::exchange(asked.is_counted, true)) return;
    ++probes.moves_counted;
    const PodFacts& pod = reference_.pods.at(uid).facts;
    const ObjectKey job = job_of(pod);
    if (const auto kept = kept_work_when_asked_.find(job); kept != kept_work_when_asked_.end()) {
        if (kept->second.uid == uid) kept_work_[job] = done_when_asked(kept->second, pod);
    }
    if (reference_.gang_of(job).size == 0) {
        std::vector<Instant>& moved = moved_at_[uid];
        moved.push_back(now);
        vacated_places_[job].push_back({pod.rank, moved});
        return;
    }
    if (asked.moves_with_gang) return;
    gang_moved_at_[job].push_back(now);
    for (const std::string& rank : reference_.jobs.at(job)) {
        const auto other = ordered_moves_.find(rank);
        if (other != ordered_moves_.end())
            other->second.moves_with_gang = !other->second.is_counted;
    }
}

void Checker::fill_vacated_place(const PodFacts& pod, Instant now) {
    const auto of_job = vacated_places_.find(job_of(pod));
    if (of_job == vacated_places_.end() || pod.gang || is_terminal(pod.phase)) return;
    std::vector<VacatedPlace>& places = of_job->second;
    const auto own = std::find_if(places.begin(), places.end(), [&](const VacatedPlace& place) {
        return place.rank == pod.rank && place.moved_at.back() + kHour > now;
    });
    if (own == places.end()) return;
    moved_at_[pod.uid] = own->moved_at;
    places.erase(own);
}

void Checker::record_eviction_order(const EvictPod& eviction) {
    const auto [asked, is_new] = ordered_moves_.try_emplace(eviction.pod.uid);
    asked->second.effect = eviction.id;
    asked->second.is_refused = false;
    if (!is_new) return;                            // it is sent again, not decided again
    if (eviction.preemptor == ObjectKey{}) return;  // maintenance ignores the budget
    if (may_be_moved(eviction.pod.uid)) return;
    fail("I17", "eviction of " + to_string(eviction.pod.key) +
                    ": its eviction budget of this hour is used up");
}

// Answered evictions that the engine has withdrawn are not counted any more.
void Checker::forget_withdrawn_moves(const ClusterState& after) {
    std::erase_if(ordered_moves_, [&](const auto& one) {
        const PodId id = after.pods.find_pod(one.first);
        const bool is_answered = one.second.is_refused || one.second.is_counted;
        return is_answered && id.exists() && after.pod(id).eviction.state == EvictionState::none;
    });
}

bool Checker::may_be_moved(const std::string& uid) const {
    const std::int64_t most = reference_.policy.evictions_per_job_per_hour;
    const ObjectKey job = job_of(reference_.pods.at(uid).facts);
    static const std::vector<Instant> never;
    const auto known = [](const auto& all, const auto& key) -> const std::vector<Instant>& {
        const auto found = all.find(key);
        return found == all.end() ? never : found->second;
    };
    const std::vector<Instant>& moved =
        reference_.gang_of(job).size > 0 ? known(gang_moved_at_, job) : known(moved_at_, uid);
    return within_the_hour(moved, reference_.now) < most;
}

}  // namespace gpuctl::sim
