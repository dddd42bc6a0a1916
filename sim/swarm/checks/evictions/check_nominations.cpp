// I17 and I14 of nominations: the beneficiary fits once its victims are gone, every victim is
// needed, and the earmarked capacity is used or released.

#include <algorithm>

#include "sim/swarm/checks/checker.hpp"

namespace gpuctl::sim {
namespace {

bool is_part(const PodFacts& pod) { return amounts_of(pod.request).gpus % kGpuMilliPerGpu != 0; }

// True if the devices of the node are overbooked: a GPU with fractions is not a whole GPU, and the
// fractions on one device must not exceed it.
bool lacks_devices(const ReferenceModel& reference, const NodeFacts& node, const PodFacts& pod,
                   std::int32_t device) {
    if (amounts_of(pod.request).gpus == 0) return false;
    const DeviceCount devices = reference.devices_on(node.name);
    return devices.in_use() > amounts_of(node.allocatable).gpus ||
           (device >= 0 && devices.on_device(device) > kGpuMilliPerGpu);
}

}  // namespace

void Checker::check_nomination(const Evictions& of, const ClusterState& after, const Places& others,
                               ReferenceModel then) {
    const std::string what = "for job " + to_string(of.preemptor) + " ";
    const JobRow& row = after.job(after.jobs.find_job(of.preemptor));
    // The beneficiary starts when the slowest victim may be gone.
    for (const EvictPod& eviction : of.pods) {
        const Duration grace = reference_.pods.at(eviction.pod.uid).facts.stop_grace;
        then.starts_within = std::max(then.starts_within, grace + Duration::seconds(60));
    }
    const Wish nominated = check_nominated_nodes(row, after, then);
    check_nominated_topology(row, nominated.like, after);
    for (const PodId id : row.pods) then.pods.at(after.pod(id).facts.uid).nominated_node.clear();
    if (!then.limit_crossed(nominated.like, nominated.ask).empty()) {
        fail("I17", what + "pods are evicted in vain: it would cross the limit of " +
                        then.limit_crossed(nominated.like, nominated.ask));
    }
    check_reclaim(of.pods, nominated.like, nominated.ask, then, of.before);
    check_victims(of, nominated, after);
    // Capacity that is reserved under limits is not available, and the reference model does not
    // know its nodes.
    const auto units = units_of(of);
    const auto& reservations = after.pool(row.pool).reservations;
    if (!reservations.under_limits.empty() || reservations.head.job.exists()) return;
    for (const auto& [name, uids] : units) {
        ReferenceModel spared = then;
        for (const std::string& uid : uids) spared.pods.at(uid).facts.phase = PodPhase::running;
        for (const auto& [uid, place] : others) nominate(spared, uid, place);
        if (spared.limit_crossed(nominated.like, nominated.ask).empty() &&
            spared.fitting_in_models(nominated.like, nominated.ranks) >= nominated.ranks) {
            fail("I17", what + to_string(name) + " is evicted without need");
        }
    }
}

// Each nominated node admits its pods and has room for them once the victims are gone.
Wish Checker::check_nominated_nodes(const JobRow& row, const ClusterState& after,
                                    const ReferenceModel& then) {
    const std::string what = "for job " + to_string(row.key) + " ";
    const std::string pool = after.pool(row.pool).name;
    Wish out;
    Gang gang = reference_.gang_of(row.key);
    for (const PodId id : row.pods) {
        if (after.pod(id).bind.state != BindState::nominated) continue;
        out.like = after.pod(id).facts;
        gang.hold(out.like.role);
        ++out.ranks;
        out.ask.add(amounts_of(out.like.request));
        const NodeFacts& node = reference_.nodes.at(after.node(after.pod(id).node).facts.name);
        if (node.pool != pool || !then.admits(node, out.like)) {
            fail("I17", what + "node " + node.name + " is nominated, which it may not use");
        }
        const Amounts left = then.free_on(node);
        const bool lacks_gpus = lacks_devices(then, node, out.like, after.pod(id).gpu_device);
        if (left.cpu < 0 || left.memory < 0 || left.slots < 0 || lacks_gpus) {
            fail("I17", what + "more is nominated on node " + node.name + " than will be free");
        }
    }
    if (gang.size > 0 && !gang.is_whole()) {
        fail("I17", what + "fewer ranks are nominated than its gang needs");
    }
    return out;
}

void Checker::check_victims(const Evictions& of, const Wish& nominated, const ClusterState& after) {
    const QueueName mine = reference_.queue_of(nominated.like);
    for (const EvictPod& eviction : of.pods) {
        record_kept_work(eviction, after);
        const PodFacts& victim = reference_.pods.at(eviction.pod.uid).facts;
        if (is_part(victim)) ++probes.parts_evicted;
        if (is_part(nominated.like)) ++probes.evicted_for_parts;
        if (is_stranded(victim)) {
            ++probes.stranded_evicted;
            continue;
        }
        const QueueName theirs = reference_.queue_of(victim);
        const bool is_by_remaining_time =
            theirs == mine ? nominated.like.priority <= victim.priority
                           : !is_below_guarantee(diverging_queues(mine, theirs).first, mine,
                                                 nominated.ask, of.before);
        if (is_by_remaining_time) check_shortest_remaining(eviction, after);
    }
}

// The pods that are evicted together: a gang as a whole, other pods one by one.
std::map<ObjectKey, std::vector<std::string>> Checker::units_of(const Evictions& of) {
    std::map<ObjectKey, std::vector<std::string>> units;
    for (const EvictPod& eviction : of.pods) {
        const bool is_gang = reference_.gang_of(eviction.job).size > 0;
        units[is_gang ? eviction.job : eviction.pod.key].push_back(eviction.pod.uid);
        if (is_gang && reference_.gang_of(eviction.job).bound > 0) {
            fail("I17", "for job " + to_string(of.preemptor) + " only a part of gang " +
                            to_string(eviction.job) + " is evicted");
        }
    }
    return units;
}

// I14: no nomination outlives its deadline or its job, or is kept although its capacity is free.
void Checker::check_nominations(const ClusterState& state) {
    for (const JobId id : state.nominations.nominated_jobs()) {
        const JobRow& job = state.job(id);
        if (job.workload.state == WorkloadState::deleting) {
            fail("I14", "job " + to_string(job.key) + " is being deleted and has a nomination");
        }
        bool is_free = true;
        std::vector<std::string> models;  // of the nominated nodes
        ReferenceModel then = reference_;
        Amounts ask;
        PodFacts like;
        for (const PodId pod_id : job.pods) {
            const PodRow& pod = state.pod(pod_id);
            if (pod.bind.state != BindState::nominated) continue;
            like = pod.facts;
            ask.add(amounts_of(like.request));
            then.pods.at(like.uid).nominated_node.clear();
            const auto node = reference_.nodes.find(state.node(pod.node).facts.name);
            if (node == reference_.nodes.end()) continue;
            models.push_back(node->second.gpu_model);
            const Amounts left = reference_.free_on(node->second);
            const bool lacks_gpus =
                lacks_devices(reference_, node->second, pod.facts, pod.gpu_device);
            const bool lacks_ports =
                reference_.is_port_taken(node->first, like.request.host_ports, like.uid);
            is_free = is_free && left.cpu >= 0 && left.memory >= 0 && left.slots >= 0 &&
                      !lacks_gpus && !lacks_ports;
        }
        for (const std::string& model : models) {
            is_free = is_free && then.model_allowed(like, ask.gpus, model);
        }
        if (is_free && then.limit_crossed(like, ask, LetIn::when_nominated).empty()) {
            fail("I14",
                 "job " + to_string(job.key) + " has a nomination for capacity that is free");
        }
        if (job.nomination.until <= state.now()) {
            fail("I14", "job " + to_string(job.key) + " has an expired nomination");
        }
    }
}

}  // namespace gpuctl::sim
