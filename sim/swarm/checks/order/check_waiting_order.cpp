// I8: no job is placed while an equal job before it still waits.

#include <algorithm>
#include <tuple>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {
namespace {

// True if the queue or a queue above it has this limit.
template <typename Limit>
bool has_limit(const ReferenceModel& reference, const QueueName& name, Limit QueuePolicy::* limit) {
    const std::vector<QueueName> chain = reference.chain(name);
    return std::any_of(chain.begin(), chain.end(), [&](const QueueName& level) {
        return (reference.policy_or_default(level).*limit).has_value();
    });
}

}  // namespace

void Checker::compare_waiting(const PlacedJob& placed_job, const ClusterState& after) {
    if (placed_job.resumes) return;
    const BackfillPolicy backfill =
        reference_.backfill_of(reference_.queue_of(placed_job.pod).pool);
    if (reference_.order_of(reference_.queue_of(placed_job.pod)) == QueueOrder::shortest) return;
    Readiness ready;
    for (const auto& [key, id] : after.jobs.jobs_by_key()) {
        const JobRow& other = after.job(id);
        if (key == placed_job.job || key.namespace_name != placed_job.job.namespace_name) continue;
        const bool by_age =
            reference_.order_of(reference_.queue_of(placed_job.pod)) == QueueOrder::fifo;
        const std::int64_t x =
            by_age ? 0 : reference_.aged(placed_job.pod.priority, placed_job.submitted_at);
        const std::int64_t y = by_age ? 0 : reference_.aged(other.priority, other.submitted_at);
        if (std::tie(x, other.submitted_at, other.arrival) >=
            std::tie(y, placed_job.submitted_at, placed_job.arrival)) {
            continue;  // it is after the placed job
        }
        after.waiting.read_readiness(id, ready);
        if (!ready.can_be_tried() || ready.resume) continue;
        if (ready.all_or_nothing != placed_job.gang) continue;
        if (placed_job.gang && ready.ranks_needed != placed_job.ranks) continue;
        const PodFacts& pod = after.pod(ready.pods.front()).facts;
        if (pod.request != placed_job.pod.request || pod.rules != placed_job.pod.rules ||
            reference_.queue_of(pod) != reference_.queue_of(placed_job.pod)) {
            continue;
        }
        // With a reservation, backfill depends on the run time limit.
        if (backfill.head == HeadOfLine::reserve &&
            pod.run_time_max != placed_job.pod.run_time_max) {
            continue;
        }
        // Only one of both jobs may use the reserve.
        if (reference_.has_reserve(reference_.queue_of(pod).pool)) continue;
        // One of both jobs may need more budget.
        if (!reference_.budgets().empty() && pod.run_time_max != placed_job.pod.run_time_max)
            continue;
        // Maintenance may close nodes to one of both jobs only.
        const bool is_closed_to_one =
            std::any_of(reference_.nodes.begin(), reference_.nodes.end(), [&](const auto& node) {
                return reference_.admits(node.second, pod) !=
                       reference_.admits(node.second, placed_job.pod);
            });
        if (is_closed_to_one) continue;
        // One of both jobs may run already, and then it does not count as another job.
        const QueueName queue = reference_.queue_of(pod);
        if (has_limit(reference_, queue, &QueuePolicy::jobs_maximum)) continue;
        // Its running ranks count against the limit per job.
        if (reference_.gpus_of_job(key) > 0 &&
            has_limit(reference_, queue, &QueuePolicy::gpus_per_job_maximum))
            continue;
        // Its running ranks decide where it may be placed.
        const bool depends_on_ranks = pod.rules.topology.any() || pod.rules.takes_several_models();
        if (depends_on_ranks && reference_.pods_held(key) > 0) continue;
        ++probes.orders_compared;
        if (x > y) continue;
        fail("I8", placed_before(placed_job.job, key) +
                       "which has an equal request, comes first and still waits");
    }
}

}  // namespace gpuctl::sim
