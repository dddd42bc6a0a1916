// The rows of seats: room of a paused job (scheduler/state/seats/seats.cpp).

#include <algorithm>
#include <tuple>
#include <utility>

#include "scheduler/base/check.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// No pod of Kubernetes has such a name or uid.
constexpr std::string_view kSeatPrefix = "seat:";

}  // namespace

void Pods::add_seat(const PodFacts& pod, const Placement& place, JobId job) {
    PodFacts facts = pod;
    facts.uid = std::string{kSeatPrefix} + pod.uid;
    facts.key.name = std::string{kSeatPrefix} + pod.key.name;
    facts.node = state_.nodes.rows()[place.node.value()].facts.name;
    facts.phase = PodPhase::pending;
    facts.status.clear();
    facts.terminating = false;
    facts.started_at = facts.finished_at = Instant{};
    facts.preemptible = facts.preemptible_is_default = false;  // nothing of it can be evicted
    hold_seat(std::move(facts), place, job);
    state_.jobs.mark_dirty(job);
}

void Pods::restore_seat(PodFacts facts, const Placement& place, JobId job, Key<StateReader>) {
    hold_seat(std::move(facts), place, job);
}

void Pods::hold_seat(PodFacts facts, const Placement& place, JobId job) {
    GPUCTL_CHECK(!find_pod(facts.uid).exists(), "a pod leaves one seat");
    const PodId id = pods_.add({});
    PodBase& own = pods_.base(id, {});
    own.facts = std::move(facts);
    own.seen_at = state_.session.event_time();
    own.job = job;
    own.shape =
        shapes_.acquire(own.facts.request, own.facts.rules, state_.nodes.capacity(Key<Pods>{}));
    pod_ids_.emplace(own.facts.uid, id);
    const auto comes_before = [this](PodId a, PodId b) {
        const PodFacts& x = pods_[a.value()].facts;
        const PodFacts& y = pods_[b.value()].facts;
        return std::tie(x.rank, x.uid) < std::tie(y.rank, y.uid);
    };
    std::vector<PodId>& seats = state_.jobs.rows().seats(job, {});
    seats.insert(std::lower_bound(seats.begin(), seats.end(), id, comes_before), id);
    state_.bindings.begin_seat(id);
    hold(id, place.node, place.device);
}

void Pods::drop_seat(PodId id) {
    const JobId job = pods_[id.value()].job;
    release(id);
    std::erase(state_.jobs.rows().seats(job, {}), id);
    pod_ids_.erase(pods_[id.value()].facts.uid);
    shapes_.release(pods_[id.value()].shape, state_.nodes.capacity(Key<Pods>{}));
    pods_.remove(id, {});
    state_.jobs.mark_dirty(job);
}

}  // namespace gpuctl
