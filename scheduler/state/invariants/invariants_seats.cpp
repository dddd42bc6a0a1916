// I26: only paused and resuming jobs keep room, and nothing of a paused job is placed.

#include <algorithm>

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/invariants/invariants_seats.hpp"

namespace gpuctl {
namespace {

void verify_job(const ClusterState& state, const ObjectKey& key, JobId id,
                std::vector<Violation>& found) {
    const JobRow& job = state.job(id);
    const auto fail = [&](const char* what) {
        found.push_back({"I26", "job " + to_string(key) + what});
    };
    const bool may_keep = job.pause.phase != PausePhase::active && !job.pause.releases;
    if (!job.seats.empty() && !may_keep) fail(" keeps room and is not paused, or released it");
    if (!job.seats.empty() && job.workload.state != WorkloadState::created)
        fail(" keeps room without an object");
    if (job.pause.phase == PausePhase::resuming && !job.pause.seats_until.happened())
        fail(" keeps its seats without an end");
    for (const PodId seat_id : job.seats) {
        const PodRow& seat = state.pod(seat_id);
        const bool is_right = Seats::is_seat(seat) && seat.job == id && seat.node.exists() &&
                              state.node(seat.node).known && !seat.is_terminating();
        if (!is_right) fail(" has a seat that holds no room of a node");
    }
    if (!Seats::is_paused(job)) return;
    for (const PodId pod_id : job.pods) {
        const PodRow& pod = state.pod(pod_id);
        if (pod.bind.state == BindState::nominated ||
            (pod.bind.state == BindState::assumed && pod.bind.placed_at > job.pause.since))
            fail(" is paused, and one of its pods was placed since");
    }
}

}  // namespace

void verify_seats(const ClusterState& state, std::vector<Violation>& found) {
    std::size_t listed = 0;
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        verify_job(state, key, id, found);
        listed += state.job(id).seats.size();
    }
    const auto seats = std::count_if(
        state.pods.rows().begin(), state.pods.rows().end(),
        [](const PodRow& pod) { return !pod.facts.uid.empty() && Seats::is_seat(pod); });
    if (static_cast<std::size_t>(seats) != listed)
        found.push_back({"I26", "a seat belongs to no job"});
}

}  // namespace gpuctl
