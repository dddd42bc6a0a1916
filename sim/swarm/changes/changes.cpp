#include "sim/swarm/changes/changes.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::sim {
namespace {

constexpr std::uint64_t kChangesStream = 0x6368616e67;
constexpr const char* kPoolLabel = "runwhere.ai/pool";
constexpr const char* kDrainLabel = "runwhere.ai/drain";
// A change that is refused because of an earlier one is repeated this often at the end.
constexpr int kResumesMost = 10;

const std::string* label_of(const NodeFacts& node, const std::string& key) {
    const auto label = node.labels.find(key);
    return label == node.labels.end() ? nullptr : &label->second;
}

}  // namespace

Changes::Changes(std::uint64_t seed, Policy base, Checker& checker)
    : rng_(seed ^ kChangesStream),
      base_(std::move(base)),
      edits_(seed ^ ~kChangesStream),
      checks_(checker, probes_) {}

void Changes::route(JobSpec& spec) {
    if (rng_.chance(1, 8)) spec.pool = kExtraPool;
    if (rng_.chance(1, 8)) spec.queue = "made";
}

void Changes::act(Simulation& simulation) {
    const std::uint64_t dice = rng_.below(24);
    if (dice < 4) return change_job(JobChangeKind::pause, simulation);
    if (dice < 7) return change_job(JobChangeKind::resume, simulation);
    if (dice < 9) return change_job(JobChangeKind::apply, simulation);
    if (dice < 11) return change_job(JobChangeKind::scale, simulation);
    if (dice < 17) return change_node(simulation);
    edit_policy(simulation);
}

const JobRow* Changes::any_job(const Simulation& simulation) {
    const ClusterState& state = simulation.engine().state();
    const auto& all = state.jobs.jobs_by_key();
    if (all.empty()) return nullptr;
    auto chosen = all.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(rng_.below(all.size())));
    const JobRow& job = state.job(chosen->second);
    return job.record ? &job : nullptr;
}

// In place only what Kubernetes can change of an object; otherwise the job is made again.
JobRecord Changes::other_record(const JobRecord& known) {
    JobRecord record = known;
    JobSpec& spec = record.spec;
    spec.image = "repo/image:" + std::to_string(rng_.between(2, 4));
    const bool is_service = spec.kind == JobKind::inference || spec.kind == JobKind::compute;
    if (is_service && rng_.chance(1, 2)) {
        spec.replicas_min = spec.replicas_max = static_cast<std::int32_t>(rng_.between(1, 4));
        spec.service.replicas = spec.replicas_max;
    }
    if (rng_.chance(1, 2)) {
        ++probes_.applies_in_place;
        return record;
    }
    ++probes_.applies_again;
    record.uid = "again-" + std::to_string(++applies_) + "-" + known.uid;
    if (rng_.chance(1, 2)) spec.priority = static_cast<JobPriority>(rng_.below(3));
    if (rng_.chance(1, 2)) spec.cpu = CpuMilli{rng_.between(100, 4'000)};
    if (rng_.chance(1, 2)) spec.memory = Bytes{rng_.between(1, 8) << 30};
    if (spec.gpu.mode == GpuMode::exclusive && rng_.chance(1, 2)) {
        spec.gpu.count = rng_.between(1, 4);
        spec.gpu.amount = whole_gpus(spec.gpu.count);
    }
    return record;
}

void Changes::change_job(JobChangeKind kind, Simulation& simulation) {
    const JobRow* const job = any_job(simulation);
    if (job == nullptr) return;
    JobUpdated event;
    event.key = job->key;
    event.uid = rng_.chance(1, 12) ? "former-" + job->record->uid : job->record->uid;
    event.change.kind = kind;
    event.change.replicas = static_cast<std::int32_t>(rng_.between(0, 4));
    if (rng_.chance(1, 2)) {
        event.revision = job->change.revision + 1;
        if (rng_.chance(1, 4)) event.revision += rng_.chance(1, 2) ? 1U : 2U;
    }
    switch (kind) {
        case JobChangeKind::pause:
            event.change.releases = rng_.chance(1, 4);
            ++(event.change.releases ? probes_.pauses_that_release : probes_.pauses);
            break;
        case JobChangeKind::resume:
            ++probes_.resumes;
            break;
        case JobChangeKind::apply:
            event.change.record = other_record(*job->record);
            break;
        case JobChangeKind::scale:
            ++probes_.scales;
    }
    if (event.revision == 0 || !rng_.chance(1, 3)) return simulation.change(std::move(event));
    ++probes_.changes_at_once;
    simulation.change(event);
    event.change.kind = JobChangeKind::pause;
    simulation.change(std::move(event));
}

void Changes::request(NodeChange change, Simulation& simulation) {
    // As wide as the number, so that the order of names is that of the requests.
    const std::string digits = std::to_string(++requests_);
    simulation.change_node(
        {"request-" + std::string(6 - digits.size(), '0') + digits, std::move(change)});
}

void Changes::move_node(const std::string& node, const std::string& pool, Simulation& simulation) {
    NodeChange change;
    change.node = node;
    change.overwrite = true;
    if (pool == kDefaultPool) {
        change.remove.emplace_back(kPoolLabel);
    } else {
        change.set[kPoolLabel] = pool;
    }
    ++probes_.nodes_moved;
    request(std::move(change), simulation);
}

// Sometimes several changes of a node at once.
void Changes::change_node(Simulation& simulation) {
    const auto& nodes = simulation.engine().state().nodes.nodes_by_name();
    if (nodes.empty()) return;
    auto chosen = nodes.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(rng_.below(nodes.size())));
    const std::string name = chosen->first;
    for (std::int64_t left = rng_.between(1, 3); left > 0; --left) {
        NodeChange change;
        change.node = name;
        change.overwrite = rng_.chance(3, 4);
        const std::uint64_t dice = rng_.below(10);
        if (dice < 3) {
            change.set["team"] = "t" + std::to_string(rng_.between(0, 2));
            if (rng_.chance(1, 3))
                change.expected["team"] = "t" + std::to_string(rng_.between(0, 2));
            ++probes_.labels_set;
        } else if (dice < 4) {
            change.cordon = NodeCordon::cordon;
            ++probes_.cordons;
        } else if (dice < 6) {
            change.overwrite = true;
            change.cordon = NodeCordon::uncordon;
            change.remove.emplace_back(kDrainLabel);
            ++probes_.uncordons;
        } else if (dice < 7) {
            change.overwrite = true;
            change.cordon = NodeCordon::cordon;
            change.set[kDrainLabel] = "true";
            ++probes_.drains;
        } else {
            constexpr const char* pools[] = {kDefaultPool, "training", kExtraPool};
            move_node(name, pools[rng_.below(3)], simulation);
            continue;
        }
        request(std::move(change), simulation);
    }
}

void Changes::count_uses(const PolicyObjectsChanged& event, const ClusterState& state) {
    for (const PolicyObject& put : event.put) {
        if (put.key.kind == PolicyKind::pool) {
            const PoolId pool = state.tree.find_pool(put.key.name);
            if (!pool.exists() || state.pool(pool).nodes == 0) ++probes_.pools_without_nodes;
        }
        if (put.key.kind != PolicyKind::quota) continue;
        const std::optional<GpuMilli> quota = edits_.quota_in(put.document);
        GpuMilli held;
        for (const auto& [key, id] : state.jobs.jobs_by_key()) {
            if (key.namespace_name == put.key.name) held += state.job(id).holding.gpus;
        }
        if (quota && *quota < held) ++probes_.quotas_below_use;
    }
    for (const PolicyObjectGone& gone : event.gone) {
        if (gone.key.kind != PolicyKind::pool) continue;
        const bool is_used = std::any_of(
            state.jobs.jobs_by_key().begin(), state.jobs.jobs_by_key().end(), [&](const auto& one) {
                const JobRow& job = state.job(one.second);
                return job.pool_wanted == gone.key.name && job.holding.pods > 0;
            });
        if (is_used) ++probes_.pools_deleted_in_use;
    }
}

// The nodes of a deleted pool go back to the default pool.
void Changes::empty_deleted_pools(const PolicyObjectsChanged& event, Simulation& simulation) {
    std::vector<std::string> nodes;
    for (const PolicyObjectGone& gone : event.gone) {
        if (gone.key.kind != PolicyKind::pool || checks_.objects().contains(gone.key)) continue;
        for (const auto& [name, id] : simulation.engine().state().nodes.nodes_by_name()) {
            const std::string* pool =
                label_of(simulation.engine().state().node(id).facts, kPoolLabel);
            if (pool != nullptr && *pool == gone.key.name) nodes.push_back(name);
        }
    }
    for (const std::string& node : nodes) move_node(node, kDefaultPool, simulation);
}

void Changes::edit_policy(Simulation& simulation) {
    const PolicyObjectsChanged event = edits_.draw(checks_.objects(), simulation.now(), probes_);
    PolicyObjects objects = checks_.objects();
    PolicyEdits::apply(event, objects);
    count_uses(event, simulation.engine().state());
    Policy policy = edits_.merged(base_, objects);
    if (rng_.chance(1, 8)) {  // gpuctld ends before it has stored the objects
        ++probes_.edits_lost;
        simulation.change_policy(std::move(policy));
        simulation.restart_scheduler(rng_.chance(1, 2));
        return read_back(simulation);
    }
    simulation.change_objects(std::move(policy), event);
    empty_deleted_pools(event, simulation);
}

void Changes::change_base(Policy base, Simulation& simulation) {
    base_ = std::move(base);
    simulation.change_policy(edits_.merged(base_, checks_.objects()));
}

void Changes::read_back(Simulation& simulation) {
    const PolicyObjects& stored = simulation.engine().state().policy_objects.by_key();
    if (!stored.empty()) ++probes_.policies_read_back;
    simulation.change_policy(edits_.merged(base_, stored));
}

void Changes::resume_all(Simulation& simulation) {
    std::vector<JobUpdated> resumes;
    const ClusterState& state = simulation.engine().state();
    for (const auto& [key, id] : state.jobs.jobs_by_key()) {
        const JobRow& job = state.job(id);
        if (!job.record || !Seats::is_paused(job)) continue;
        JobUpdated event{key, job.record->uid, 0, {}};
        event.change.kind = JobChangeKind::resume;
        resumes.push_back(std::move(event));
    }
    for (JobUpdated& event : resumes) simulation.change(std::move(event));
}

void Changes::end(Simulation& simulation) {
    simulation.run_for(Duration::seconds(60));
    simulation.change_objects(base_, PolicyEdits::removal(checks_.objects()));
    for (int left = kResumesMost; left > 0; --left) {
        resume_all(simulation);
        simulation.run_for(Duration::seconds(20));
    }
}

}  // namespace gpuctl::sim
