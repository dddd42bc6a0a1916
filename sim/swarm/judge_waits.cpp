// I14 and I15: at a fixed point nobody waits who could start, and what the others are told is true.

#include <algorithm>
#include <map>
#include <set>

#include "sim/swarm/judge.hpp"

namespace gpuctl::sim {

// I2: the engine waits for exactly the answers that have not come.
void Judge::check_under_way(const ClusterState& state) {
    for (const auto& [uid, pod] : books_.pods) {
        const PodId id = state.find_pod(uid);
        if (!id.exists() || !pod.facts.node.empty()) continue;
        const PodRow& row = state.pod(id);
        if (row.in_flight != pod.open) {
            fail("I2", "pod " + to_string(pod.facts.key) +
                           (pod.open ? ": its bind is under way and forgotten"
                                     : ": an answer is waited for that has come"));
        }
    }
    for (const auto& [uid, pod] : books_.pods) {
        const PodId id = state.find_pod(uid);
        if (!id.exists() || pod.facts.terminating || is_terminal(pod.facts.phase)) continue;
        if (state.pod(id).delete_in_flight && !pod.deleting) {
            fail("I2", "pod " + to_string(pod.facts.key) +
                           ": its deletion failed and is not tried again");
        }
    }
    for (const auto& [key, id] : state.jobs_by_key()) {
        if (state.job(id).workload_in_flight != workloads_open_.contains(key)) {
            fail("I3", "job " + to_string(key) + ": its workload is not where the engine thinks");
        }
    }
}

// I14: room that is kept for a failed bind is used in time or given up.
void Judge::check_reservations(const ClusterState& state) {
    for (const auto& [uid, pod] : books_.pods) {
        const PodId id = state.find_pod(uid);
        if (!id.exists()) continue;
        const PodRow& row = state.pod(id);
        if (row.standing != PodStanding::assumed || row.in_flight) continue;
        const JobRow& job = state.job(row.job);
        const bool is_open = job.gang_deadline > state.now() && !job.member_refused;
        const bool may_land = pod.lands_until.happened() && job.not_before > state.now();
        if (may_land) continue;
        const bool waits_for_others =
            std::any_of(job.pods.begin(), job.pods.end(),
                        [&](PodId other) { return state.pod(other).in_flight; });
        if (is_open ? job.not_before <= state.now() : !waits_for_others) {
            fail("I14", "pod " + to_string(pod.facts.key) + " keeps room and nobody tries it");
        }
    }
}

// I14: whose bind was refused is tried again in time.
void Judge::check_refusals(const ClusterState& state) {
    for (auto entry = refusals_.begin(); entry != refusals_.end();) {
        const PodId id = state.find_pod(entry->first);
        if (!id.exists()) {
            entry = refusals_.erase(entry);
            continue;
        }
        const PodRow& row = state.pod(id);
        if (row.bar == PodBar::refused && entry->second.until <= state.now()) {
            fail("I14", "pod " + to_string(row.facts.key) +
                            ": its bind was refused once and is not tried again");
        }
        ++entry;
    }
}

void Judge::try_waiting(const ClusterState& state, JobId id, const Readiness& ready) {
    ++probes.waits_tried;
    const PodFacts& pod = state.pod(ready.pods.front()).facts;
    const std::int64_t ranks = ready.all_or_nothing ? ready.ranks_needed : 1;
    Amounts ask;
    ask.add(amounts_of(pod.request), ranks);
    if (is_held_back(state, id)) return;
    if (!books_.limit_crossed(pod, ask).empty() || books_.fitting_in_models(pod, ranks) < ranks) {
        return try_disruption(state, id, ready);
    }
    fail("I14", "job " + to_string(state.job(id).key) + " could start and nobody tries it");
}

void Judge::recount(const ClusterState& state, const ObjectKey& job, const Readiness& ready,
                    const Explanation& told) {
    ++probes.explanations_recounted;
    const std::string name =
        "job " + to_string(job) + " (" + std::string{to_string(told.reason)} + "): ";
    if (told.reason == Reason::maintenance) ++probes.waits_for_windows;
    if (told.reason == Reason::host_port_taken) ++probes.waits_for_ports;
    if (told.reason == Reason::set_aside) ++probes.waits_for_reservations;
    if (told.reason == Reason::kept_for_growth) ++probes.waits_beside_reserves;
    if (told.reason == Reason::none || told.sentence.empty()) {
        return fail("I15", name + "waits and is not told why");
    }
    if (told.reason == Reason::gang_incomplete &&
        ready.ranks_held + ready.ranks_ready >= ready.ranks_min && ready.roles_short.empty()) {
        fail("I15", name + "all its ranks exist");
    }
    if (ready.hold != Reason::none || ready.pods.empty()) return;
    if (told.reason == Reason::turn) fail("I15", name + "nothing stands in its way, yet it waits");
    const PodFacts& pod = state.pod(ready.pods.front()).facts;
    const auto has = [&told](std::string_view figure) {
        return std::any_of(told.figures.begin(), told.figures.end(),
                           [figure](const Figure& one) { return one.name == figure; });
    };
    for (const char* unit : {"gpus", "cpu", "memory", "jobs"}) {
        if (has(std::string{unit} + "_limit")) recount_limit(name, pod, told, unit);
    }
    if (has("gpu_time_limit")) recount_budget(name, pod, ready, told);
    if (has("nodes_pool")) recount_nodes(name, pod, told);
    if (has("domains")) recount_topology(name, pod, told);
    if (has("nodes_closed")) recount_windows(name, pod, told);
}

namespace {}  // namespace

std::int64_t figure(const Explanation& told, std::string_view name) {
    for (const Figure& one : told.figures) {
        if (one.name == name) return one.value;
    }
    return -1;
}

void Judge::recount_nodes(const std::string& name, const PodFacts& pod, const Explanation& told) {
    const std::string pool = pod.pool.empty() ? kDefaultPool : pod.pool;
    const Amounts request = amounts_of(pod.request);
    const std::int64_t ranks = figure(told, "ranks_needed");
    const bool is_part = request.gpus > 0 && request.gpus < 1000;
    std::int64_t on_device = 0;
    std::int64_t in_pool = 0, matching = 0, free = 0, total = 0, most = 0, largest = 0;
    for (const auto& [node_name, node] : books_.nodes) {
        if (node.pool != pool) continue;
        ++in_pool;
        if (!books_.admits(node, pod)) continue;
        ++matching;
        const DeviceCount devices = books_.devices_on(node_name);
        const std::int64_t has = books_.room_when_empty(node).gpus;
        const std::int64_t here = is_part ? devices.free_for_parts(has)
                                          : std::max<std::int64_t>(has - devices.taken(), 0);
        on_device = std::max(on_device, devices.most_on_one_device(has));
        free += here;
        total += has;
        most = std::max(most, here);
        largest = std::max(largest, has);
    }
    const auto expect = [&](const char* what, std::int64_t counted) {
        const std::int64_t said = figure(told, what);
        if (said != counted) {
            fail("I15", name + what + " is told as " + std::to_string(said) + " and is " +
                            std::to_string(counted));
        }
    };
    expect("nodes_pool", in_pool);
    expect("nodes_matching", matching);
    expect("ranks_fitting",
           std::min(books_.fitting_in_pool(pod, ranks, false, Books::Heed::nothing), ranks));
    expect("ranks_fitting_empty",
           std::min(books_.fitting_in_pool(pod, ranks, true, Books::Heed::nothing), ranks));
    if (request.gpus == 0) return;
    expect("gpus_needed", request.gpus * ranks);
    expect("gpus_free", free);
    expect("gpus_total", total);
    expect("gpus_free_on_one_node", most);
    expect("gpus_largest_node", largest);
    if (is_part) expect("gpu_free_on_one_device", on_device);
    if (told.reason == Reason::gpu_insufficient && free >= request.gpus * ranks) {
        fail("I15", name + "there are enough free GPUs");
    }
}

// Each window with its own nodes; one that several bar counts once in all.
void Judge::recount_windows(const std::string& name, const PodFacts& pod, const Explanation& told) {
    const std::string pool = pod.pool.empty() ? kDefaultPool : pod.pool;
    std::set<std::string> closed;
    std::map<std::string, std::int64_t> by_window;
    for (const auto& [node_name, node] : books_.nodes) {
        if (node.pool != pool || !Books::may_use(pod.rules, node)) continue;
        for (const MaintenanceWindow& window : books_.policy.windows) {
            if (!books_.bars(window, node, pod)) continue;
            closed.insert(node_name);
            ++by_window[window.name];
        }
    }
    if (figure(told, "nodes_closed") != std::ssize(closed) ||
        figure(told, "windows") != std::ssize(by_window)) {
        fail("I15", name + std::to_string(by_window.size()) + " windows bar " +
                        std::to_string(closed.size()) + " nodes: " + told.sentence);
    }
    if (by_window.size() > 1) ++probes.waits_for_several_windows;
    if (told.reason != Reason::maintenance && told.reason != Reason::set_aside) return;
    if (figure(told, "nodes_closed_by_first") != by_window[told.subject]) {
        fail("I15", name + "window " + told.subject + " bars " +
                        std::to_string(by_window[told.subject]) + " nodes: " + told.sentence);
    }
}

void Judge::recount_limit(const std::string& name, const PodFacts& pod, const Explanation& told,
                          const std::string& unit) {
    ++probes.limits_recounted;
    const std::int64_t limit = figure(told, unit + "_limit");
    const std::int64_t held = figure(told, unit + "_held");
    const std::int64_t needed = figure(told, unit + "_needed");
    if (held + needed <= limit) fail("I15", name + "the limit it names is not reached");
    // A half-bound gang is told by its name and has no subject of its own to look up.
    if (told.reason != Reason::queue_limit && told.reason != Reason::tenant_quota) return;
    const bool counted = told.reason == Reason::queue_limit
                             ? is_queue_limit(pod, told, unit, limit, held)
                             : is_tenant_limit(pod, unit, limit, held);
    if (!counted) fail("I15", name + "nobody holds so much of such a limit: " + told.sentence);
}

bool Judge::is_queue_limit(const PodFacts& pod, const Explanation& told, const std::string& unit,
                           std::int64_t limit, std::int64_t held) const {
    const QueueName leaf = books_.queue_of(pod);
    const QueueName whole{leaf.pool, ""};
    if (told.subject == leaf.pool && limit == books_.offered(leaf.pool).gpus &&
        held ==
            books_.kept(whole, leaf, 0, books_.held_by_queue(leaf.pool, Books::Claims::counted))) {
        return true;
    }
    for (const std::string& model : books_.models_kept(leaf.pool)) {
        const Books::ModelLent lent = books_.model_lent(leaf, model, 0);
        const bool is_it = told.subject == leaf.pool && limit == lent.offered;
        if (is_it && lent.is_kept && held == lent.held + lent.kept) return true;
    }
    const std::string last = told.subject.substr(told.subject.rfind('/') + 1);
    const QueuePolicy* known = books_.policy_of({leaf.pool, last});
    if (known == nullptr) return false;
    const QueueName queue{leaf.pool, last};
    if (unit == "jobs") {
        return known->jobs_maximum == limit && held == books_.jobs_held(queue);
    }
    const std::int64_t gpus = books_.held_below(queue).gpus;
    if (known->maximum && known->maximum->value() == limit && held == gpus) return true;
    if (known->borrowing_limit && held == gpus &&
        books_.guaranteed(queue) + known->borrowing_limit->value() == limit) {
        return true;
    }
    if (known->gpus_per_job_maximum && known->gpus_per_job_maximum->value() == limit &&
        held == books_.gpus_of_job(job_of(pod))) {
        return true;
    }
    for (const ModelLimit& of : known->models) {
        if (of.maximum && of.maximum->value() == limit &&
            held == books_.held_of_model(queue, of.model)) {
            return true;
        }
    }
    return books_.cap(queue) == limit &&
           held ==
               books_.kept(queue, leaf, 0, books_.held_by_queue(leaf.pool, Books::Claims::counted));
}

bool Judge::is_tenant_limit(const PodFacts& pod, const std::string& unit, std::int64_t limit,
                            std::int64_t held) const {
    const TenantPolicy* tenant = books_.tenant(pod.key.namespace_name);
    if (tenant == nullptr) return false;
    const Amounts holds = books_.held_by(tenant->name);
    const auto is = [&](const auto& maximum, std::int64_t has) {
        return maximum && maximum->value() == limit && has == held;
    };
    if (unit == "cpu") return is(tenant->cpu_maximum, holds.cpu);
    if (unit == "memory") return is(tenant->memory_maximum, holds.memory);
    if (is(tenant->gpu_maximum, holds.gpus)) return true;
    const std::string pool = books_.queue_of(pod).pool;
    return std::any_of(tenant->pools.begin(), tenant->pools.end(), [&](const PoolQuota& quota) {
        return quota.pool == pool && quota.gpu_maximum && quota.gpu_maximum->value() == limit &&
               books_.held_in_pool(tenant->name, pool) == held;
    });
}

// What the queues are said to hold and to have used is what the books say.
void Judge::check_queues(const ClusterState& state) {
    for (const QueueView& view : list_queues(state)) {
        if (!view.is_declared) continue;  // of no queue, so it has no share
        const QueueName queue{view.pool, view.name};
        ++probes.usages_recounted;
        const Amounts held = books_.held_below(queue);
        const std::int64_t claimed = books_.claimed_below(queue);
        if (view.held.value() != held.gpus - claimed || view.claimed.value() != claimed) {
            fail("I15", "queue " + view.path + " is said to hold another number of GPUs");
        }
        if (view.share != books_.share(queue, "", held)) {
            fail("I15", "the share of queue " + view.path + " is told as " +
                            std::to_string(view.share) + " and is " +
                            std::to_string(books_.share(queue, "", held)));
        }
    }
}

}  // namespace gpuctl::sim
