#include "sim/cluster.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "scheduler/base/archive.hpp"
#include "scheduler/base/check.hpp"
#include "scheduler/base/hash.hpp"
#include "sim/draw.hpp"

namespace gpuctl::sim {

namespace {

template <typename... F>
struct Overload : F... {
    using F::operator()...;
};

}  // namespace

Cluster::Cluster(Settings settings) : settings_(std::move(settings)) {}

void Cluster::plan(Due due, Instant at) {
    due_.emplace(std::pair{std::max(at, now_), ++plans_}, std::move(due));
}

void Cluster::plan_step(PodState& pod, PodStep step, Instant at) {
    plan(PodDue{pod.facts.uid, pod.generation, step}, at);
}

std::optional<Instant> Cluster::next_due() const {
    if (due_.empty()) return std::nullopt;
    return due_.begin()->first.first;
}

void Cluster::advance(Instant to, Out& out) {
    while (!due_.empty() && due_.begin()->first.first <= to) {
        const auto entry = due_.extract(due_.begin());
        now_ = std::max(now_, entry.key().first);
        if (wake_ == entry.key()) wake_.reset();
        std::visit(Overload{[&](const PodDue& due) { run_step(due, now_, out); },
                            [&](const WorkloadDue& due) { sync_workload(due.uid, now_, out); },
                            [&](const EffectDue& due) {
                                std::visit([&](const auto& effect) { deliver(effect, now_, out); },
                                           due.effect);
                            },
                            [&](const EventDue& due) { out.push_back(due.event); }},
                   entry.mapped());
    }
    now_ = std::max(now_, to);
}

void Cluster::apply(const SimInput& input, Instant now, Out& out) {
    advance(now, out);
    std::visit(Overload{[&](const NodeJoins& joins) {
                            NodeState& node = nodes_[joins.node.name];
                            node.facts = joins.node;
                            out.push_back(NodeObserved{node.facts});
                        },
                        [&](const NodeLost& lost) {
                            const auto found = nodes_.find(lost.name);
                            if (found != nodes_.end() && !found->second.lost) {
                                lose_node(found->second, now_, out);
                            }
                        },
                        [&](const NodeReturns& returns) {
                            const auto found = nodes_.find(returns.name);
                            if (found != nodes_.end() && found->second.lost) {
                                return_node(found->second, now_, out);
                            }
                        },
                        [&](const NodeCordoned& cordoned) {
                            const auto found = nodes_.find(cordoned.name);
                            if (found == nodes_.end()) return;
                            set_cordon(found->second.facts, cordoned.cordoned);
                            out.push_back(NodeObserved{found->second.facts});
                        },
                        [&](const NodeLeaves& leaves) { remove_node(leaves.name, now_, out); },
                        [&](const ContainerKilled& killed) {
                            const auto uid = pod_named_.find(killed.pod);
                            if (uid == pod_named_.end()) return;
                            PodState& pod = pods_.at(uid->second);
                            const bool runs = pod.facts.phase == PodPhase::running &&
                                              pod.facts.status == "Running" &&
                                              !pod.facts.terminating;
                            if (runs && node_answers(pod.facts.node)) {
                                exit_container(pod, killed.status, now_, out);
                            }
                        },
                        [&](const FaultsChanged& changed) { settings_.faults = changed.faults; }},
               input);
}

void Cluster::restore(const World& world, const std::vector<NodeFacts>& nodes, Instant now) {
    GPUCTL_CHECK(nodes_.empty() && pods_.empty() && workloads_.empty(),
                 "a cluster is restored once, before anything else happens in it");
    now_ = now;
    for (const NodeFacts& facts : nodes) nodes_[facts.name].facts = facts;
    for (const NodeFacts& known : world.nodes) {
        const auto found = nodes_.find(known.name);
        if (found == nodes_.end()) continue;
        NodeState& node = found->second;
        node.lost = !known.ready;
        node.facts.ready = known.ready;
        node.facts.unschedulable = known.unschedulable;
        node.facts.taints = known.taints;
        node.facts.created_at = known.created_at;
        for (const std::string& key : known.changed_labels) {
            const auto label = known.labels.find(key);
            set_label(node.facts, key, label == known.labels.end() ? nullptr : &label->second);
        }
    }
    for (const World::Job& job : world.jobs) {
        add_workload(job.record);
        Workload& workload = workloads_.at(job.record.uid);
        workload.deleted = job.deleting;
        workload.paused = job.is_paused;
        workload.is_changed = job.is_changed;
        if (job.ranks > 0) workload.ranks = job.ranks;
    }
    restore_pods(world.pods);
    for (auto& [uid, pod] : pods_) restore_pod(pod, now);
    for (auto entry = workloads_.begin(); entry != workloads_.end();) {
        const Workload& workload = entry->second;
        plan(WorkloadDue{entry->first}, now);
        if (workload.deleted) workload_named_.erase(workload.job.spec.key);
        const bool forgotten = workload.deleted && workload.pods.empty();
        entry = forgotten ? workloads_.erase(entry) : std::next(entry);
    }
}

void Cluster::restore_pods(std::vector<PodFacts> pods) {
    std::sort(pods.begin(), pods.end(), [](const PodFacts& a, const PodFacts& b) {
        return std::tie(a.created_at, a.uid) < std::tie(b.created_at, b.uid);
    });
    for (const PodFacts& facts : pods) {
        const auto owner = workload_named_.find({facts.key.namespace_name, facts.job});
        // announce() reports that its job was removed
        if (owner == workload_named_.end()) continue;
        Workload& workload = workloads_.at(owner->second);
        workload.pods.push_back(facts.uid);
        PodState& pod = pods_[facts.uid];
        pod.facts = facts;
        pod.job_uid = workload.job.uid;
        pod_named_[facts.key] = facts.uid;
        if (nodes_.contains(facts.node) && !is_terminal(facts.phase)) {
            nodes_.at(facts.node).pods.insert(facts.uid);
        }
        if (facts.phase == PodPhase::failed) {
            rank_failed(workload, facts.status == "DeadlineExceeded", facts.finished_at);
        }
    }
}

void Cluster::announce(const World& world, Out& out) const {
    for (const NodeFacts& known : world.nodes) {
        if (!nodes_.contains(known.name)) out.push_back(NodeRemoved{known.name});
    }
    for (const PodFacts& known : world.pods) {
        if (!pods_.contains(known.uid)) out.push_back(PodRemoved{known.uid});
    }
    for (const std::string& known : world.ended_pods) {
        if (!pods_.contains(known)) out.push_back(PodRemoved{known});
    }
    for (const auto& [name, node] : nodes_) out.push_back(NodeObserved{node.facts});
    for (const auto& [uid, pod] : pods_) observe(pod, out);
    for (const auto& [uid, workload] : workloads_) {
        if (!workload.deleted) observe(workload, out);
    }
    out.push_back(CacheSynced{});
}

const PodFacts* Cluster::find_pod(const ObjectKey& key) const {
    const auto uid = pod_named_.find(key);
    return uid == pod_named_.end() ? nullptr : &pods_.at(uid->second).facts;
}

const Workload* Cluster::find_workload(const ObjectKey& job) const {
    const auto uid = workload_named_.find(job);
    if (uid == workload_named_.end()) return nullptr;
    const auto found = workloads_.find(uid->second);
    return found == workloads_.end() ? nullptr : &found->second;
}

const NodeFacts* Cluster::find_node(const std::string& name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : &found->second.facts;
}

bool Cluster::node_answers(const std::string& name) const {
    const auto found = nodes_.find(name);
    return found != nodes_.end() && !found->second.lost;
}

std::optional<LogScript> Cluster::log_of(const ObjectKey& key) const {
    const auto uid = pod_named_.find(key);
    if (uid == pod_named_.end()) return std::nullopt;
    const PodState& pod = pods_.at(uid->second);
    if (!pod.facts.started_at.happened()) return std::nullopt;
    const bool waits_for_restart =
        pod.facts.phase == PodPhase::running && pod.facts.status == "CrashLoopBackOff";
    const Instant ended_at = waits_for_restart ? pod.exit_at : pod.facts.finished_at;
    return LogScript{pod.facts, workload_of(pod).job.spec, settings_, ended_at};
}

std::vector<UserEvent> Cluster::events_of(const ObjectKey& job) const {
    const auto found = user_events_.find(job);
    return found == user_events_.end() ? std::vector<UserEvent>{} : found->second;
}

std::uint64_t Cluster::state_hash() const {
    std::string bytes;
    ArchiveWriter writer{bytes};
    writer.write(settings_);
    writer.write(now_);
    for (const auto& [key, due] : due_) {
        writer.write(key);
        writer.write(due);
    }
    for (const auto& [name, node] : nodes_) {
        writer.write(node.facts);
        writer.write(node.lost);
        for (const std::string& uid : node.pods) writer.write(uid);
    }
    writer.write(pods_);
    writer.write(workloads_);
    return hash64(bytes);
}

}  // namespace gpuctl::sim
