// I14 and I15: at a fixed point no job waits that could start, and all reported reasons are true.

#include <algorithm>
#include <map>
#include <set>

#include "sim/swarm/checks/checker.hpp"
#include "wording/wording.hpp"

namespace gpuctl::sim {

// I2: the engine waits for exactly the answers that are outstanding.
void Checker::check_in_flight(const ClusterState& state) {
    for (const auto& [uid, pod] : reference_.pods) {
        const PodId id = state.pods.find_pod(uid);
        if (!id.exists() || !pod.facts.node.empty()) continue;
        const PodRow& row = state.pod(id);
        if (row.bind.in_flight != pod.open) {
            fail("I2", "pod " + to_string(pod.facts.key) +
                           (pod.open ? ": its bind is in flight and forgotten"
                                     : ": the engine waits for an answer that has come"));
        }
    }
    for (const auto& [uid, pod] : reference_.pods) {
        const PodId id = state.pods.find_pod(uid);
        if (!id.exists() || pod.facts.terminating || is_terminal(pod.facts.phase)) continue;
        if (state.pod(id).bind.delete_in_flight && !pod.deleting) {
            fail("I2",
                 "pod " + to_string(pod.facts.key) + ": its deletion failed and is not retried");
        }
    }
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        if (state.job(id).workload.in_flight != workloads_open_.contains(key)) {
            fail("I3", "job " + to_string(key) + ": the engine has another state of its workload");
        }
    }
}

// I14: capacity kept for a failed bind is used in time or released.
void Checker::check_failed_binds(const ClusterState& state) {
    for (const auto& [uid, pod] : reference_.pods) {
        const PodId id = state.pods.find_pod(uid);
        if (!id.exists()) continue;
        const PodRow& row = state.pod(id);
        if (row.bind.state != BindState::assumed || row.bind.in_flight) continue;
        const JobRow& job = state.job(row.job);
        const bool is_open = job.gang.round() == GangRound::open && job.gang.deadline > state.now();
        const bool may_land = pod.lands_until.happened() && job.binding.not_before > state.now();
        if (may_land) continue;
        const bool waits_for_others =
            std::any_of(job.pods.begin(), job.pods.end(),
                        [&](PodId other) { return state.pod(other).bind.in_flight; });
        if (is_open ? job.binding.not_before <= state.now() : !waits_for_others) {
            fail("I14", "pod " + to_string(pod.facts.key) + " keeps capacity and is not retried");
        }
    }
}

// I14: a refused bind is retried in time.
void Checker::check_refusals(const ClusterState& state) {
    for (auto entry = refusals_.begin(); entry != refusals_.end();) {
        const PodId id = state.pods.find_pod(entry->first);
        if (!id.exists()) {
            entry = refusals_.erase(entry);
            continue;
        }
        const PodRow& row = state.pod(id);
        if (row.bind.bar == PodBar::refused && entry->second.until <= state.now()) {
            fail("I14", "pod " + to_string(row.facts.key) +
                            ": its bind was refused once and is not retried");
        }
        ++entry;
    }
}

void Checker::try_waiting(const ClusterState& state, JobId id, const Readiness& ready) {
    ++probes.waits_tried;
    if (is_held_by_reservation(state, id)) return;
    if (!can_start(reference_, wish_of(state, ready))) return try_disruption(state, id, ready);
    fail("I14", "job " + to_string(state.job(id).key) + " could start and is not tried");
}

void Checker::recount(const ClusterState& state, const ObjectKey& job, const Readiness& ready,
                      const Explanation& explanation) {
    ++probes.explanations_recounted;
    const std::string name =
        "job " + to_string(job) + " (" + std::string{to_string(explanation.reason)} + "): ";
    if (explanation.reason == Reason::maintenance) ++probes.waits_for_windows;
    if (explanation.reason == Reason::host_port_taken) ++probes.waits_for_ports;
    if (explanation.reason == Reason::set_aside) ++probes.waits_for_reservations;
    if (explanation.reason == Reason::reserved_for_growth) ++probes.waits_for_reserves;
    if (explanation.reason == Reason::none || wording::sentence(explanation).empty()) {
        return fail("I15", name + "waits without a reason");
    }
    if (explanation.reason == Reason::gang_incomplete &&
        ready.ranks_held + ready.ranks_ready >= ready.ranks_min && ready.roles_short.empty()) {
        fail("I15", name + "all its ranks exist");
    }
    if (!ready.can_be_tried()) return;
    if (explanation.reason == Reason::turn) fail("I15", name + "nothing blocks it, yet it waits");
    const PodFacts& pod = state.pod(ready.pods.front()).facts;
    const auto has = [&explanation](std::string_view figure) {
        return std::any_of(explanation.figures.begin(), explanation.figures.end(),
                           [figure](const Figure& one) { return one.name == figure; });
    };
    for (const char* unit : {"gpus", "cpu", "memory", "jobs"}) {
        if (has(std::string{unit} + "_limit")) recount_limit(name, pod, explanation, unit);
    }
    if (has("gpu_time_limit")) recount_budget(name, pod, ready, explanation);
    if (has("nodes_pool")) recount_nodes(name, pod, explanation);
    if (has("domains")) recount_topology(name, pod, explanation);
    if (has("nodes_closed")) recount_windows(name, pod, explanation);
}

std::int64_t figure(const Explanation& explanation, std::string_view name) {
    for (const Figure& one : explanation.figures) {
        if (one.name == name) return one.value;
    }
    return -1;
}

void Checker::recount_nodes(const std::string& name, const PodFacts& pod,
                            const Explanation& explanation) {
    const std::string pool = pod.pool.empty() ? kDefaultPool : pod.pool;
    const Amounts request = amounts_of(pod.request);
    const std::int64_t ranks = figure(explanation, "ranks_needed");
    const bool is_part = request.gpus > 0 && request.gpus < 1000;
    std::int64_t on_device = 0;
    std::int64_t in_pool = 0, matching = 0, free = 0, total = 0, most = 0, largest = 0;
    for (const auto& [node_name, node] : reference_.nodes) {
        if (node.pool != pool) continue;
        ++in_pool;
        if (!reference_.admits(node, pod)) continue;
        ++matching;
        const DeviceCount devices = reference_.devices_on(node_name);
        const std::int64_t has = reference_.free_when_empty(node).gpus;
        const std::int64_t here = is_part ? devices.free_for_parts(has)
                                          : std::max<std::int64_t>(has - devices.in_use(), 0);
        on_device = std::max(on_device, devices.most_on_one_device(has));
        free += here;
        total += has;
        most = std::max(most, here);
        largest = std::max(largest, has);
    }
    const auto expect = [&](const char* what, std::int64_t counted) {
        const std::int64_t said = figure(explanation, what);
        if (said != counted) {
            fail("I15", name + what + " is reported as " + std::to_string(said) + " and is " +
                            std::to_string(counted));
        }
    };
    expect("nodes_pool", in_pool);
    expect("nodes_matching", matching);
    expect("ranks_fitting", std::min(reference_.fitting_in_pool(
                                         pod, ranks, false, ReferenceModel::TopologyMode::ignored),
                                     ranks));
    expect("ranks_fitting_empty",
           std::min(
               reference_.fitting_in_pool(pod, ranks, true, ReferenceModel::TopologyMode::ignored),
               ranks));
    if (request.gpus == 0) return;
    expect("gpus_needed", request.gpus * ranks);
    expect("gpus_free", free);
    expect("gpus_total", total);
    expect("gpus_free_on_one_node", most);
    expect("gpus_largest_node", largest);
    if (is_part) expect("gpu_free_on_one_device", on_device);
    if (explanation.reason == Reason::gpu_insufficient && free >= request.gpus * ranks) {
        fail("I15", name + "there are enough free GPUs");
    }
}

// The numbers of nodes by window. In the sum, a node that several windows close counts once.
void Checker::recount_windows(const std::string& name, const PodFacts& pod,
                              const Explanation& explanation) {
    const std::string pool = pod.pool.empty() ? kDefaultPool : pod.pool;
    std::set<std::string> closed;
    std::map<std::string, std::int64_t> by_window;
    for (const auto& [node_name, node] : reference_.nodes) {
        if (node.pool != pool || !ReferenceModel::may_use(pod.rules, node)) continue;
        for (const MaintenanceWindow& window : reference_.policy.windows) {
            if (!reference_.bars(window, node, pod)) continue;
            closed.insert(node_name);
            ++by_window[window.name];
        }
    }
    if (figure(explanation, "nodes_closed") != std::ssize(closed) ||
        figure(explanation, "windows") != std::ssize(by_window)) {
        fail("I15", name + std::to_string(by_window.size()) + " windows bar " +
                        std::to_string(closed.size()) +
                        " nodes: " + wording::sentence(explanation));
    }
    if (by_window.size() > 1) ++probes.waits_for_several_windows;
    if (explanation.reason != Reason::maintenance && explanation.reason != Reason::set_aside)
        return;
    if (figure(explanation, "nodes_closed_by_first") != by_window[explanation.subject]) {
        fail("I15", name + "window " + explanation.subject + " bars " +
                        std::to_string(by_window[explanation.subject]) +
                        " nodes: " + wording::sentence(explanation));
    }
}

void Checker::recount_limit(const std::string& name, const PodFacts& pod,
                            const Explanation& explanation, const std::string& unit) {
    ++probes.limits_recounted;
    const std::int64_t limit = figure(explanation, unit + "_limit");
    const std::int64_t held = figure(explanation, unit + "_held");
    const std::int64_t needed = figure(explanation, unit + "_needed");
    if (held + needed <= limit) fail("I15", name + "the named limit is not reached");
    // The explanation of a half-bound gang has no subject to look up.
    if (explanation.reason != Reason::queue_limit && explanation.reason != Reason::tenant_quota)
        return;
    const bool counted = explanation.reason == Reason::queue_limit
                             ? is_queue_limit(pod, explanation, unit, limit, held)
                             : is_tenant_limit(pod, unit, limit, held);
    if (!counted)
        fail("I15", name + "no such limit with this usage: " + wording::sentence(explanation));
}

bool Checker::is_queue_limit(const PodFacts& pod, const Explanation& explanation,
                             const std::string& unit, std::int64_t limit, std::int64_t held) const {
    const QueueName leaf = reference_.queue_of(pod);
    const QueueName whole{leaf.pool, ""};
    if (explanation.subject == leaf.pool && limit == reference_.offered(leaf.pool).gpus &&
        held == reference_.gpus_reserved(
                    whole, leaf, 0,
                    reference_.held_by_queue(leaf.pool, ReferenceModel::Nominations::counted))) {
        return true;
    }
    for (const std::string& model : reference_.models_reserved(leaf.pool)) {
        const ReferenceModel::ModelUse use = reference_.model_use(leaf, model, 0);
        const bool is_it = explanation.subject == leaf.pool && limit == use.offered;
        if (is_it && use.is_reserved && held == use.held + use.reserved) return true;
    }
    const std::string last = explanation.subject.substr(explanation.subject.rfind('/') + 1);
    const QueuePolicy* known = reference_.policy_of({leaf.pool, last});
    if (known == nullptr) return false;
    const QueueName queue{leaf.pool, last};
    if (unit == "jobs") {
        return known->jobs_maximum == limit && held == reference_.jobs_held(queue);
    }
    const std::int64_t gpus = reference_.held_below(queue).gpus;
    if (known->maximum && known->maximum->value() == limit && held == gpus) return true;
    if (known->borrowing_limit && held == gpus &&
        reference_.guaranteed(queue) + known->borrowing_limit->value() == limit) {
        return true;
    }
    if (known->gpus_per_job_maximum && known->gpus_per_job_maximum->value() == limit &&
        held == reference_.gpus_of_job(job_of(pod))) {
        return true;
    }
    for (const ModelLimit& of : known->models) {
        if (of.maximum && of.maximum->value() == limit &&
            held == reference_.held_of_model(queue, of.model)) {
            return true;
        }
    }
    return reference_.cap(queue) == limit &&
           held == reference_.gpus_reserved(
                       queue, leaf, 0,
                       reference_.held_by_queue(leaf.pool, ReferenceModel::Nominations::counted));
}

bool Checker::is_tenant_limit(const PodFacts& pod, const std::string& unit, std::int64_t limit,
                              std::int64_t held) const {
    const TenantPolicy* tenant = reference_.tenant(pod.key.namespace_name);
    if (tenant == nullptr) return false;
    const Amounts holds = reference_.held_by(tenant->name);
    const auto is = [&](const auto& maximum, std::int64_t has) {
        return maximum && maximum->value() == limit && has == held;
    };
    if (unit == "cpu") return is(tenant->cpu_maximum, holds.cpu);
    if (unit == "memory") return is(tenant->memory_maximum, holds.memory);
    if (is(tenant->gpu_maximum, holds.gpus)) return true;
    const std::string pool = reference_.queue_of(pod).pool;
    return std::any_of(tenant->pools.begin(), tenant->pools.end(), [&](const PoolQuota& quota) {
        return quota.pool == pool && quota.gpu_maximum && quota.gpu_maximum->value() == limit &&
               reference_.held_in_pool(tenant->name, pool) == held;
    });
}

// The listed usage and shares of queues are those of the reference model.
void Checker::check_queues(const ClusterState& state) {
    for (const QueueView& view : list_queues(state)) {
        if (!view.is_declared) continue;  // not a queue of the policy, so it has no share
        const QueueName queue{view.pool, view.name};
        ++probes.usages_recounted;
        const Amounts held = reference_.held_below(queue);
        const std::int64_t nominated = reference_.nominated_below(queue);
        if (view.held.value() != held.gpus - nominated || view.nominated.value() != nominated) {
            fail("I15", "queue " + view.path + " is listed with another number of GPUs");
        }
        if (view.share != reference_.share(queue, "", held)) {
            fail("I15", "the share of queue " + view.path + " is reported as " +
                            std::to_string(view.share) + " and is " +
                            std::to_string(reference_.share(queue, "", held)));
        }
    }
}

}  // namespace gpuctl::sim
