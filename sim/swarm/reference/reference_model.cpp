#include "sim/swarm/reference/reference_model.hpp"

#include <algorithm>
#include <utility>

namespace gpuctl::sim {

ObjectKey job_of(const PodFacts& pod) { return {pod.key.namespace_name, pod.job}; }

void Amounts::add(const Amounts& other, std::int64_t times) {
    cpu += other.cpu * times;
    memory += other.memory * times;
    slots += other.slots * times;
    gpus += other.gpus * times;
}

Amounts amounts_of(const Resources& resources) {
    Amounts out{resources.cpu.value(), resources.memory.value(), resources.pods, 0, {}};
    out.ports = resources.host_ports;
    for (const GpuAmount& gpu : resources.gpus) out.gpus += gpu.amount.value();
    return out;
}

void ReferenceModel::apply(const Input& input, const ClusterState& after) {
    advance_time(std::max(now, input.now));
    spend(std::max(now, input.now));
    now = std::max(now, input.now);
    const Event& event = input.event;
    if (const auto* node = std::get_if<NodeObserved>(&event)) {
        nodes[node->node.name] = node->node;
    } else if (const auto* gone = std::get_if<NodeRemoved>(&event)) {
        nodes.erase(gone->name);
    } else if (const auto* pod = std::get_if<PodObserved>(&event)) {
        observe(pod->pod);
    } else if (const auto* removed = std::get_if<PodRemoved>(&event)) {
        forget(removed->uid);
    } else if (const auto* outcome = std::get_if<BindOutcome>(&event)) {
        answer(*outcome);
    } else if (const auto* deletion = std::get_if<PodDeleteOutcome>(&event)) {
        const auto found = pods.find(deletion->uid);
        if (found != pods.end() && !deletion->deleted) found->second.deleting = false;
    } else if (const auto* changed = std::get_if<PolicyChanged>(&event)) {
        const Duration before = policy.usage_half_life;
        const auto budgets_before = budgets();
        policy = changed->policy;
        change_half_life(before);
        change_budgets(budgets_before);
    } else if (const auto* term = std::get_if<LeadershipChanged>(&event)) {
        leading = term->leading;
        epoch = term->epoch;
    } else if (std::holds_alternative<CacheSynced>(event)) {
        synced = true;
    }
    mark_out_of_date(after);
    release_reservations(after);
    nominated_before_.clear();
    for (const auto& [uid, pod] : pods) {
        if (pod.nominated_node.empty()) continue;
        const PodId id = after.pods.find_pod(uid);
        // A nomination that was dropped and made again in one step is a new one.
        const bool is_another =
            id.exists() && after.pod(id).bind.state == BindState::nominated &&
            after.job(after.pod(id).job).nomination.until != pod.nominated_until;
        if (!is_another) nominated_before_[uid] = pod.nominated_node;
    }
    read_nominations(after, true);
    for (const auto& [uid, pod] : pods) {
        const PodId id = spent_.empty() ? PodId::none() : after.pods.find_pod(uid);
        if (id.exists() && after.pod(id).node.exists()) ends_[uid] = after.pod(id).ends_at;
    }
    read_growing(after);
    read_seats(after);
    estimates.clear();
    for (const auto& [key, id] : after.jobs.jobs_by_key()) {
        if (policy.windows.empty()) break;
        const JobRow& job = after.job(id);
        estimates[key] = after.maintenance.stay_of(job, job.pods).time;
    }
}

void ReferenceModel::read_nominations(const ClusterState& after, bool only_old) {
    for (auto& [uid, pod] : pods) pod.nominated_node.clear();
    const std::set<std::string> evicting_before = std::exchange(evicting_, {});
    for (const std::string& uid : evicting_before) {
        if (const auto pod = pods.find(uid); pod != pods.end())
            pod->second.evicting = pod->second.surplus = false;
    }
    for (const JobId id : after.nominations.nominated_jobs()) {
        for (const PodId pod_id : after.job(id).pods) {
            const PodRow& row = after.pod(pod_id);
            if (row.bind.state != BindState::nominated) continue;
            const std::string& node = after.node(row.node).facts.name;
            if (only_old && nominated_before(row.facts.uid) != node) continue;
            pods.at(row.facts.uid).nominated_node = node;
            pods.at(row.facts.uid).nominated_device = row.gpu_device;
            pods.at(row.facts.uid).nominated_until = after.job(id).nomination.until;
        }
    }
    for (const auto& [key, id] : after.jobs.jobs_by_key()) {
        for (const PodId pod : after.job(id).pods) {
            const PodRow& row = after.pod(pod);
            if (row.eviction.state == EvictionState::none || !row.is_terminating()) continue;
            if (only_old && !evicting_before.contains(row.facts.uid)) continue;
            const auto known = pods.find(row.facts.uid);
            if (known == pods.end()) continue;
            known->second.evicting = true;
            evicting_.insert(row.facts.uid);
        }
    }
    for (const auto& [arrival, id] : after.elastic.elastic_jobs()) {
        for (const PodId pod : after.job(id).pods) {
            const std::string& uid = after.pod(pod).facts.uid;
            if (!after.pod(pod).is_surplus || (only_old && !evicting_before.contains(uid)))
                continue;
            pods.at(uid).evicting = pods.at(uid).surplus = true;
            evicting_.insert(uid);
        }
    }
}

const std::string& ReferenceModel::nominated_before(const std::string& uid) const {
    static const std::string nowhere;
    const auto found = nominated_before_.find(uid);
    return found == nominated_before_.end() ? nowhere : found->second;
}

void ReferenceModel::drop(const DropDetails& finished) {
    for (const std::string& uid : finished.pods) {
        forget(uid);
        dropped_.insert(uid);
    }
}

void ReferenceModel::observe(const PodFacts& facts) {
    if (dropped_.contains(facts.uid) && is_terminal(facts.phase)) return;
    ReferencePod& pod = pods[facts.uid];
    const bool is_new = pod.facts.node.empty() && !facts.node.empty();
    if (is_new && pod.bind_node.empty() && pod.effect != EffectId{}) ++binds_landed_late;
    const bool has_begun_to_terminate = facts.terminating && !pod.facts.terminating;
    if (has_begun_to_terminate) pod.leaves_at = now + facts.stop_grace;
    pod.facts = facts;
    jobs[job_of(facts)].insert(facts.uid);
    if (!facts.node.empty()) {
        pod.open = pod.reserved = false;
        pod.bind_node.clear();
    }
}

void ReferenceModel::forget(const std::string& uid) {
    const auto found = pods.find(uid);
    if (found == pods.end()) return;
    const auto job = jobs.find(job_of(found->second.facts));
    job->second.erase(uid);
    if (job->second.empty()) jobs.erase(job);
    pods.erase(found);
    ends_.erase(uid);
    reserved_.erase(uid);
}

void ReferenceModel::answer(const BindOutcome& outcome) {
    const auto found = pods.find(outcome.uid);
    if (found == pods.end()) return;
    ReferencePod& pod = found->second;
    const bool has_landed = pod.reserved && outcome.result == BindResult::bound;
    if (!pod.open && !has_landed) return;
    if (pod.effect != outcome.effect) {
        ++answers_stale;
        return;
    }
    pod.open = pod.reserved = false;
    if (outcome.result == BindResult::bound) return;
    pod.reserved = true;
    reserved_.insert(outcome.uid);
}

// In a new term a bind whose capacity is gone is not sent again, but may land until its deadline.
void ReferenceModel::mark_out_of_date(const ClusterState& after) {
    for (auto& [uid, pod] : pods) {
        if (!pod.open) continue;
        const PodId id = after.pods.find_pod(uid);
        if (!id.exists() || after.pod(id).bind.in_flight) continue;
        if (after.pod(id).bind.state != BindState::assumed) continue;
        pod.lands_until = std::max(pod.lands_until, pod.deadline);
        pod.open = false;
        pod.abandoned = true;
        pod.reserved = true;
        reserved_.insert(uid);
    }
}

void ReferenceModel::release_reservations(const ClusterState& after) {
    for (auto entry = reserved_.begin(); entry != reserved_.end();) {
        ReferencePod& pod = pods.at(*entry);
        const PodId id = after.pods.find_pod(*entry);
        // A pod that was released and planned again in one step may be on another GPU of the same
        // node.
        const bool is_another =
            pod.lands_until < now && id.exists() && after.pod(id).gpu_device != pod.bind_device;
        const bool kept = pod.reserved && id.exists() && !is_another &&
                          after.pod(id).bind.state == BindState::assumed &&
                          after.node(after.pod(id).node).facts.name == pod.bind_node;
        if (kept) {
            ++entry;
            continue;
        }
        if (pod.reserved) pod.bind_node.clear();
        pod.reserved = false;
        entry = reserved_.erase(entry);
    }
}

void ReferenceModel::record_bind(const BindPod& bind) {
    ReferencePod& pod = pods.at(bind.pod.uid);
    if (pod.open) pod.lands_until = std::max(pod.lands_until, pod.deadline);
    pod.deadline = bind.deadline;
    pod.bind_node = bind.node;
    pod.bind_device = bind.gpu_device;
    pod.effect = bind.id;
    pod.open = true;
    pod.abandoned = false;
    pod.reserved = false;
    reserved_.erase(bind.pod.uid);
}

Amounts ReferenceModel::used_on(const std::string& node) const {
    Amounts used;
    for (const auto& [uid, pod] : pods) {
        if (pod.holds() && pod.where() == node) used.add(amounts_of(pod.facts.request));
    }
    return used;
}

Amounts ReferenceModel::free_when_empty(const NodeFacts& node) const {
    Amounts room = amounts_of(node.allocatable);
    room.slots -= policy.pods_reserved_per_node;
    return room;
}

Amounts ReferenceModel::free_on(const NodeFacts& node) const {
    Amounts room = free_when_empty(node);
    room.add(used_on(node.name), -1);
    return room;
}

DeviceCount ReferenceModel::devices_on(const std::string& node) const {
    DeviceCount count;
    for (const auto& [uid, pod] : pods) {
        if (!pod.holds() || pod.where() != node) continue;
        count.add(amounts_of(pod.facts.request).gpus, pod.device());
    }
    return count;
}

bool ReferenceModel::is_port_taken(const std::string& node, const std::vector<HostPort>& ports,
                                   const std::string& but) const {
    const auto meet = [](const HostPort& a, const HostPort& b) {
        return a.port == b.port && a.protocol == b.protocol &&
               (a.address == b.address || a.address == "0.0.0.0" || b.address == "0.0.0.0");
    };
    for (const auto& [uid, pod] : pods) {
        if (uid == but || !pod.holds() || pod.where() != node) continue;
        for (const HostPort& theirs : pod.facts.request.host_ports) {
            for (const HostPort& own : ports) {
                if (meet(theirs, own)) return true;
            }
        }
    }
    return false;
}

std::int64_t ReferenceModel::fitting(const NodeFacts& node, const Amounts& request,
                                     std::int64_t enough, bool when_empty) const {
    const Amounts room = when_empty ? free_when_empty(node) : free_on(node);
    const auto limit = [&enough](std::int64_t has, std::int64_t asks) {
        if (asks > 0) enough = std::min(enough, std::max<std::int64_t>(has, 0) / asks);
    };
    limit(room.cpu, request.cpu);
    limit(room.memory, request.memory);
    limit(room.slots, request.slots);
    if (!request.ports.empty()) {
        enough = std::min<std::int64_t>(enough, 1);
        if (!when_empty && is_port_taken(node.name, request.ports)) return 0;
    }
    const DeviceCount devices = when_empty ? DeviceCount{} : devices_on(node.name);
    return devices.fitting(amounts_of(node.allocatable).gpus, request.gpus, enough);
}

bool ReferenceModel::may_use(const PlacementRules& rules, const NodeFacts& node) {
    if (node.unschedulable) return false;  // the pods of the swarm never tolerate that taint
    if (!node.unhealthy.empty()) return false;
    for (const Taint& taint : node.taints) {
        if (taint.effect == TaintEffect::prefer_no_schedule) continue;
        const bool tolerated = std::any_of(
            rules.tolerations.begin(), rules.tolerations.end(), [&taint](const Toleration& t) {
                return t.key == taint.key && (!t.effect || *t.effect == taint.effect) &&
                       (t.op == TolerationOperator::exists || t.value == taint.value);
            });
        if (!tolerated) return false;
    }
    for (const auto& [key, value] : rules.node_selector) {
        const auto label = node.labels.find(key);
        if (label == node.labels.end() || label->second != value) return false;
    }
    if (rules.required_affinity && node.labels.contains("runwhere.ai/pool")) return false;
    for (const VolumeRule& volume :
         rules.volumes) {  // the swarm draws volumes bound to nodes by name
        const bool is_reached = std::any_of(
            volume.terms.begin(), volume.terms.end(), [&node](const SelectorTerm& term) {
                return term.fields.front().values.front() == node.name;
            });
        if (!is_reached) return false;
    }
    for (const TopologyLevel level : {rules.topology.required, rules.topology.spread}) {
        if (level > TopologyLevel::host && node.topology.of(level).empty()) return false;
    }
    const std::vector<std::string> models = gpu_models(rules);
    return models.empty() ||
           std::find(models.begin(), models.end(), node.gpu_model) != models.end();
}

QueueName ReferenceModel::queue_of(const PodFacts& pod) const {
    QueueName out{pod.pool.empty() ? kDefaultPool : pod.pool, pod.queue};
    if (!out.queue.empty()) return out;
    const TenantPolicy* of = tenant(pod.key.namespace_name);
    const bool has_queue = of != nullptr && policy_of({out.pool, of->queue}) != nullptr;
    out.queue = has_queue ? of->queue : kDefaultQueue;
    return out;
}

const QueuePolicy* ReferenceModel::policy_of(const QueueName& name) const {
    for (const PoolPolicy& pool : policy.pools) {
        if (pool.name != name.pool) continue;
        for (const QueuePolicy& queue : pool.queues) {
            if (queue.name == name.queue) return &queue;
        }
    }
    return nullptr;
}

const QueuePolicy& ReferenceModel::policy_or_default(const QueueName& name) const {
    static const QueuePolicy plain;
    const QueuePolicy* known = policy_of(name);
    return known != nullptr ? *known : plain;
}

BackfillPolicy ReferenceModel::backfill_of(const std::string& pool) const {
    for (const PoolPolicy& known : policy.pools) {
        if (known.name == pool) return known.backfill;
    }
    return {};
}

PreemptionPolicy ReferenceModel::preemption_of(const std::string& pool) const {
    for (const PoolPolicy& known : policy.pools) {
        if (known.name == pool) return known.preemption;
    }
    return {};
}

const TenantPolicy* ReferenceModel::tenant(const std::string& name) const {
    for (const TenantPolicy& tenant : policy.tenants) {
        if (tenant.name == name) return &tenant;
    }
    return nullptr;
}

Amounts ReferenceModel::held_by(const std::string& tenant_name) const {
    Amounts sum;
    for (const auto& [uid, pod] : pods) {
        if (pod.holds() && pod.facts.key.namespace_name == tenant_name) {
            sum.add(amounts_of(pod.facts.request));
        }
    }
    return sum;
}

std::string ReferenceModel::limit_crossed(const PodFacts& pod, const Amounts& more,
                                          LetIn let_in) const {
    if (std::string crossed = queue_limit_crossed(pod, more); !crossed.empty()) return crossed;
    if (reserve_crossed(pod, more.gpus)) return "the GPUs outside the reserve of its pool";
    if (std::string crossed = budget_crossed(pod, more.gpus);
        !crossed.empty() && let_in == LetIn::now) {
        return crossed;
    }
    const TenantPolicy* of = tenant(pod.key.namespace_name);
    if (of == nullptr) return "";
    const Amounts held = held_by(of->name);
    const auto over = [](const auto& limit, std::int64_t has, std::int64_t asks) {
        return limit && asks > 0 && has + asks > limit->value();
    };
    if (over(of->gpu_maximum, held.gpus, more.gpus)) return "GPUs of namespace " + of->name;
    if (over(of->cpu_maximum, held.cpu, more.cpu)) return "CPU of namespace " + of->name;
    if (over(of->memory_maximum, held.memory, more.memory)) {
        return "memory of namespace " + of->name;
    }
    for (const PoolQuota& quota : of->pools) {
        const std::int64_t has = held_in_pool(of->name, quota.pool);
        if (quota.pool == queue_of(pod).pool && more.gpus > 0 && quota.gpu_maximum &&
            has + more.gpus > quota.gpu_maximum->value()) {
            return "namespace " + of->name + " in pool " + quota.pool;
        }
    }
    return "";
}

Gang ReferenceModel::gang_of(const ObjectKey& job) const {
    Gang gang;
    const auto found = jobs.find(job);
    if (found == jobs.end()) return gang;
    for (const std::string& uid : found->second) {
        const ReferencePod& pod = pods.at(uid);
        if (pod.facts.gang) gang.size = std::max<std::int64_t>(gang.size, pod.facts.gang_min);
        for (const RoleMinimum& role : pod.facts.gang_roles) {
            gang.minimum_of_role[role.role] =
                std::max<std::int64_t>(gang.minimum_of_role[role.role], role.ranks);
        }
        const bool succeeded = pod.facts.phase == PodPhase::succeeded;
        if (succeeded) ++gang.succeeded;
        if (succeeded || pod.stays()) {
            gang.hold(pod.facts.role);
            gang.rank_last = std::max(gang.rank_last, pod.facts.rank);
        }
        if (pod.stays() && !pod.open && !pod.reserved) ++gang.bound;
    }
    std::int64_t of_roles = 0;
    for (const auto& [role, ranks] : gang.minimum_of_role) of_roles += ranks;
    gang.size = std::max(gang.size, of_roles);
    return gang;
}

std::int64_t ReferenceModel::fitting_in_pool(const PodFacts& pod, std::int64_t pods_asked,
                                             bool when_empty, TopologyMode topology_mode) const {
    const std::string pool = pod.pool.empty() ? kDefaultPool : pod.pool;
    std::vector<const NodeFacts*> on;
    for (const auto& [name, node] : nodes) {
        if (node.pool == pool && admits(node, pod)) on.push_back(&node);
    }
    PodFacts like = pod;
    if (topology_mode == TopologyMode::ignored) like.rules.topology = {};
    return topology_mode == TopologyMode::ignored
               ? fitting_on(like, pods_asked, when_empty, on)
               : fitting_on_one_model(like, pods_asked, when_empty, on);
}

}  // namespace gpuctl::sim
