// I17 again: nominations, their victims, and the rows from which victims are chosen.

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/invariants/invariants.hpp"

namespace gpuctl {

// Friend of ClusterState: the invariants also concern its private tables.
class EvictionVerifier {
public:
    EvictionVerifier(const ClusterState& state, std::vector<Violation>& found)
        : state_(state), found_(found) {}
    void run() {
        check_nominations();
        check_stoppable();
        check_uncharged();
    }

private:
    void fail(const char* id, std::string what) { found_.push_back({id, std::move(what)}); }

    // For a job of higher priority, by the policy as configured.
    [[nodiscard]] bool may_go(const PodRow& pod, const JobRow& job) const {
        const auto asks_users = [&](const PoolPolicy& pool) {
            return pool.name == state_.tree.pool_rows()[job.pool.value()].name &&
                   pool.preemption.victims == PreemptionVictims::preemptible;
        };
        const std::vector<PoolPolicy>& pools = state_.session.policy().pools;
        return pod.facts.preemptible || (pod.facts.preemptible_is_default &&
                                         std::none_of(pools.begin(), pools.end(), asks_users));
    }

    // I17: room is nominated for jobs that wait, and pods are evicted for jobs with nominated room.
    void check_nominations() {
        std::set<JobId> listed(state_.nominations.nominated_jobs().begin(),
                               state_.nominations.nominated_jobs().end());
        if (listed.size() != state_.nominations.nominated_jobs().size())
            fail("I17", "a nomination is listed twice");
        for (const auto& [key, id] : state_.jobs.job_ids()) {
            const JobRow& job = state_.jobs.rows()[id.value()];
            const bool has_nomination = job.nomination.exists();
            if (has_nomination != listed.contains(id)) {
                fail("I17", "the nomination of job " + to_string(key) + " is not listed");
            }
            std::int64_t nominated = 0;
            for (const PodId pod : job.pods) {
                if (state_.pods.rows()[pod.value()].bind.state == BindState::nominated) ++nominated;
            }
            const bool is_whole = nominated == job.nomination.pods;
            if (has_nomination ? !is_whole && !job.is_dirty
                               : nominated != 0 || !job.nomination.victims.empty()) {
                fail("I17", "job " + to_string(key) + " has nominated room for " +
                                std::to_string(nominated) + " of " +
                                std::to_string(job.nomination.pods) + " pods");
            }
            if (has_nomination && job.waiting.in_class.exists()) {
                fail("I17", "job " + to_string(key) + " waits its turn and has nominated room");
            }
        }
        std::map<QueueId, std::map<std::int32_t, std::int64_t>> preemptible;
        for (const PodRow& pod : state_.pods.rows()) {
            if (pod.facts.uid.empty()) continue;
            if (pod.node.exists() && pod.job.exists()) {
                const JobRow& job = state_.jobs.rows()[pod.job.value()];
                if (job.queue.exists() && job.priority < kSystemPriority && may_go(pod, job)) {
                    ++preemptible[job.queue][job.priority];
                }
            }
            if (pod.eviction.state == EvictionState::none) continue;
            const std::string name = "pod " + to_string(pod.facts.key);
            if (pod.bind.state != BindState::bound) fail("I17", name + " is evicted unbound");
            if (pod.eviction.preemptor == ObjectKey{}) continue;  // for a maintenance window
            const auto found = state_.jobs.job_ids().find(pod.eviction.preemptor);
            if (found == state_.jobs.job_ids().end() || !listed.contains(found->second)) {
                fail("I17", name + " is evicted for a job without a nomination");
            }
        }
        for (std::uint32_t i = 0; i < state_.tree.queue_rows().size(); ++i) {
            for (const auto& [priority, pods] : state_.tree.queue_rows()[i].preemptible) {
                if (preemptible[QueueId{i}][priority] != pods) {
                    fail("I17", "queue " + state_.tree.queue_rows()[i].name +
                                    " counts another number of pods that may be stopped");
                }
            }
        }
    }

    // I17: victims are chosen from rows of exactly the pods that may be evicted, as they are now;
    // and all terminating pods are listed.
    void check_stoppable() {
        std::map<PoolId, std::int64_t> without_gpus;
        for (const QueueRow& queue : state_.tree.queue_rows()) {
            std::int64_t counted = 0;
            for (const auto& [priority, pods] : queue.preemptible) counted += pods;
            const auto has_none = std::count_if(
                queue.stoppable.begin(), queue.stoppable.end(), [&](const StoppablePod& row) {
                    const PodRow& pod = state_.pods.rows()[row.pod.value()];
                    return pod.facts.preemptible && pod.facts.request.gpus.empty();
                });
            without_gpus[queue.pool] += has_none;
            if (has_none != queue.stoppable_without_gpus) {
                fail("I17", "queue " + queue.name +
                                " counts another number of pods without GPUs that may be stopped");
            }
            const bool is_right = std::all_of(
                queue.stoppable.begin(), queue.stoppable.end(), [&](const StoppablePod& row) {
                    const PodRow& pod = state_.pods.rows()[row.pod.value()];
                    const auto at = static_cast<std::size_t>(&row - queue.stoppable.data());
                    return pod.node.exists() && pod.stoppable_at == at &&
                           row == state_.evictions.stoppable_row(row.pod) &&
                           may_go(pod, state_.jobs.rows()[pod.job.value()]);
                });
            if (!is_right || static_cast<std::int64_t>(queue.stoppable.size()) != counted) {
                fail("I17", "the pods of queue " + queue.name +
                                " that may be stopped are not those in its row");
            }
        }
        for (std::uint32_t i = 0; i < state_.tree.pool_rows().size(); ++i) {
            if (without_gpus[PoolId{i}] == state_.tree.pool_rows()[i].stoppable_without_gpus)
                continue;
            fail("I17", "pool " + state_.tree.pool_rows()[i].name +
                            " counts another number of pods without GPUs that may be stopped");
        }
        for (std::uint32_t i = 0; i < state_.pods.rows().size(); ++i) {
            const PodRow& pod = state_.pods.rows()[i];
            const bool is_known = state_.pods.maybe_terminating().contains(PodId{i});
            if (pod.node.exists() ? pod.is_terminating() && !is_known : is_known) {
                fail("I17", "pod " + to_string(pod.facts.key) +
                                " is terminating and not listed as such, or the other way round");
            }
        }
    }

    // An eviction that is still to be charged is of a pod that holds resources and was requested to
    // go.
    void check_uncharged() {
        for (const PodRow& pod : state_.pods.rows()) {
            const EvictionRequest& request = pod.eviction.request;
            const bool is_asked = pod.eviction.state == EvictionState::asked ||
                                  pod.eviction.state == EvictionState::postponed;
            const auto name = [&pod] { return "pod " + to_string(pod.facts.key); };
            if (request.is_uncharged && pod.bind.state != BindState::bound) {
                fail("I17", name() + " is to be charged for an eviction and is not bound");
            }
            if (is_asked && !request.why) {
                fail("I17", name() + " is evicted without a reason");
            }
        }
    }

    const ClusterState& state_;
    std::vector<Violation>& found_;
};

void verify_evictions(const ClusterState& state, std::vector<Violation>& found) {
    EvictionVerifier{state, found}.run();
}

}  // namespace gpuctl
