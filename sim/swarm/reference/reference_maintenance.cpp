// Maintenance windows, computed occurrence by occurrence.

#include <algorithm>
#include <optional>

#include "sim/swarm/reference/reference_model.hpp"

namespace gpuctl::sim {
namespace {

bool is_in(const MaintenanceWindow& window, const NodeFacts& node) {
    bool in = window.pool.empty() || window.pool == node.pool;
    if (!window.nodes.empty()) {
        in = in && std::count(window.nodes.begin(), window.nodes.end(), node.name) > 0;
    }
    for (const auto& [key, value] : window.labels) {
        const auto label = node.labels.find(key);
        in = in && label != node.labels.end() && label->second == value;
    }
    return in;
}

// Start of the current or next occurrence.
std::optional<Instant> begin_of(const MaintenanceWindow& window, Instant now) {
    Instant begin = window.begin;
    while (begin + window.length <= now) {
        if (window.every == Duration{}) return std::nullopt;
        begin = begin + window.every;
    }
    return begin;
}

bool stops(Drain drain, const PodFacts& pod) {
    if (!pod.has_controller || drain == Drain::none) return false;
    return drain == Drain::all || pod.preemptible;
}

}  // namespace

bool ReferenceModel::is_for(const MaintenanceWindow& window, const PodFacts& pod) const {
    if (std::count(window.tenants.begin(), window.tenants.end(), pod.key.namespace_name) > 0) {
        return true;
    }
    const QueueName leaf = queue_of(pod);
    if (!exists(leaf)) return false;
    const std::vector<QueueName> of = chain(leaf);
    return std::any_of(of.begin(), of.end(), [&window](const QueueName& queue) {
        return std::count(window.queues.begin(), window.queues.end(), queue.queue) > 0;
    });
}

bool ReferenceModel::bars(const MaintenanceWindow& window, const NodeFacts& node,
                          const PodFacts& pod) const {
    const std::optional<Instant> begin = begin_of(window, now);
    if (!begin || !is_in(window, node) || is_for(window, pod)) return false;
    const Instant last = now + starts_within;
    if (*begin <= last) return true;
    const auto estimate = estimates.find(job_of(pod));
    Duration time = pod.run_time_max;
    if (time == Duration{} && estimate != estimates.end()) time = estimate->second;
    if (time > Duration{} && last + time <= *begin) return false;
    const Duration left = *begin - last;
    if (stops(window.drain, pod)) return left <= window.notice || left <= pod.stop_grace;
    return time > Duration{} || left <= window.closes_ahead;
}

bool ReferenceModel::is_open(const NodeFacts& node, const PodFacts& pod) const {
    return std::none_of(policy.windows.begin(), policy.windows.end(),
                        [&](const MaintenanceWindow& window) { return bars(window, node, pod); });
}

bool ReferenceModel::must_be_drained(const NodeFacts& node, const PodFacts& pod,
                                     Instant ends) const {
    if (!node.unhealthy.empty() && stops(policy.unhealthy_drain, pod)) return true;
    if (node.draining && stops(Drain::all, pod)) return true;
    return std::any_of(policy.windows.begin(), policy.windows.end(),
                       [&](const MaintenanceWindow& window) {
                           const std::optional<Instant> begin = begin_of(window, now);
                           if (!begin || !is_in(window, node) || !stops(window.drain, pod))
                               return false;
                           if (is_for(window, pod)) return false;
                           if (ends.happened() && ends <= *begin) return false;
                           return *begin - now <= std::max(window.notice, pod.stop_grace);
                       });
}

std::set<Instant> ReferenceModel::openings() const {
    std::set<Instant> out;
    for (const MaintenanceWindow& window : policy.windows) {
        const std::optional<Instant> begin = begin_of(window, now);
        if (begin) out.insert(*begin + window.length);
    }
    return out;
}

}  // namespace gpuctl::sim
