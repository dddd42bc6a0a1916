#include "daemon/api/policy/reported_objects.hpp"

#include <algorithm>
#include <utility>

#include "daemon/diagnostics/log.hpp"
#include "scheduler/engine/views.hpp"

namespace gpuctl::api {

ports::NodeMemberships memberships(const config::MergedPolicy& merged) {
    ports::NodeMemberships all;
    for (const auto& [node, of] : merged.nodes) all[node] = {of.pool, of.gpu_model};
    return all;
}

void PolicyLayers::use(Objects reported) {
    reported_ = std::move(reported);
    config::UsableObjects usable = config::usable_objects(file_, *reported_);
    for (const auto& [key, problem] : usable.problems) {
        const auto known = problems_.find(key);
        if (known != problems_.end() && known->second.why.message == problem.why.message) continue;
        log::warn("an object of the cluster is not used as it is",
                  {{"object", config::in_words(key)}, {"err", problem.why.message}});
    }
    problems_ = std::move(usable.problems);
    Result<config::MergedPolicy> merged = config::merge_layers(file_, usable.objects);
    if (!merged) {  // each part was merged; together they are not: the policy stays as it is
        log::error("the objects of the cluster cannot be merged, the policy stays as it was",
                   {{"err", merged.error().message}});
        return;
    }
    store_.assign(memberships(*merged));
    if (policy_ == merged->policy) return;
    policy_ = merged->policy;
    engine_.change_policy(std::move(merged->policy));
}

std::optional<Error> PolicyLayers::refusal(const PolicyRequest& request) const {
    std::optional<Error> refused;
    for (const config::ObjectDraft& wanted : request.put) {
        if (!refused) refused = store_.refusal(wanted.key.kind);
    }
    for (const PolicyKey& key : request.gone) {
        if (!refused) refused = store_.refusal(key.kind);
    }
    return refused;
}

// What this change does not write, and others wrote so that it cannot be used, does not stop it.
Result<config::MergedPolicy> PolicyLayers::merge_draft(const Draft& draft) const {
    if (!store_.has_other_writers()) return config::merge_layers(file_, draft.objects);
    Objects merged = config::usable_objects(file_, draft.objects).objects;
    for (const PolicyObject& put : draft.event.put) merged.insert_or_assign(put.key, put);
    return config::merge_layers(file_, merged);
}

void ReportedObjects::apply(const PolicyObjectsChanged& change) {
    for (const PolicyObjectGone& gone : change.gone) {
        const auto known = objects_.find(gone.key);
        if (known != objects_.end() && known->second.uid == gone.uid) objects_.erase(known);
    }
    for (const PolicyObject& put : change.put) objects_.insert_or_assign(put.key, put);
}

// What the cluster reports holds, even if its versions have gone back with a restored backup: such
// an object is put as a new one.
PolicyObjectsChanged ReportedObjects::replacing(PolicyObjectsChanged change) const {
    for (const PolicyObject& put : change.put) {
        const auto known = objects_.find(put.key);
        if (known == objects_.end()) continue;
        const PolicyObject& had = known->second;
        if (had.uid != put.uid || had.version >= put.version) {
            change.gone.push_back({had.key, had.uid});
        }
    }
    return change;
}

bool ReportedObjects::offer(Event event) {
    if (auto* const change = std::get_if<PolicyObjectsChanged>(&event)) {
        return take_change(std::move(*change));
    }
    const bool ends_first_lists = std::holds_alternative<CacheSynced>(event) && !is_synced_;
    if (ends_first_lists && !end_first_lists()) return false;
    return engine_.offer(std::move(event));
}

// The pools of nodes and the policy come first: a reader of the objects finds what follows from
// them.
bool ReportedObjects::take_change(PolicyObjectsChanged change) {
    for (const PolicyObject& put : change.put) listed_.insert(put.key);
    change = replacing(std::move(change));
    if (is_synced_) {
        Objects after = std::exchange(objects_, {});
        objects_ = after;
        apply(change);
        layers_.use(objects_);
        if (engine_.offer(std::move(change))) return true;
        objects_ = std::move(after);  // reported again
        return false;
    }
    PolicyObjectsChanged copy = change;
    if (!engine_.offer(std::move(change))) return false;
    apply(copy);
    return true;
}

// Objects that the journal has and the cluster did not list are gone.
bool ReportedObjects::end_first_lists() {
    PolicyObjectsChanged change;
    for (const auto& [key, object] : objects_) {
        if (!listed_.contains(key)) change.gone.push_back({key, object.uid});
    }
    if (!change.gone.empty()) {
        PolicyObjectsChanged copy = change;
        if (!engine_.offer(std::move(change))) return false;
        apply(copy);
    }
    is_synced_ = true;
    layers_.use(objects_);
    return true;
}

std::vector<ports::PolicyObjectStatus> policy_statuses(core::EngineLoop& engine,
                                                       const PolicyLayers& layers) {
    std::vector<ports::PolicyObjectStatus> all;
    std::map<std::string, const PoolView*> by_name;
    std::vector<PoolView> pools;
    const ClusterState& state = engine.engine().state();
    for (const auto& [key, object] : layers.objects()) {
        if (key.kind != PolicyKind::pool && key.kind != PolicyKind::queue) continue;
        if (pools.empty()) {
            pools = list_pools(engine.listing());
            for (const PoolView& pool : pools) by_name[pool.name] = &pool;
        }
        ports::PolicyObjectStatus& status = all.emplace_back();
        status.key = key;
        status.uid = object.uid;
        status.version = object.version;
        const auto problem = layers.problems().find(key);
        if (problem != layers.problems().end()) {
            status.problem = problem->second.why.message;
            status.problem_code = std::string{to_string(problem->second.why.code)};
            status.is_used = !problem->second.is_left_out;
        }
        const auto pool = by_name.find(key.name);
        if (key.kind != PolicyKind::pool || pool == by_name.end() || !status.is_used) continue;
        status.nodes = static_cast<std::int64_t>(pool->second->nodes.size());
        status.gpus = pool->second->gpus_total;
        status.gpus_used = pool->second->gpus_used;
        const Result<config::PoolObject> read = config::pool_in(object.document);
        if (!read) continue;
        for (const auto& [node, type] : read->nodes) {
            const auto known = state.nodes.nodes_by_name().find(node);
            const bool is_there =
                known != state.nodes.nodes_by_name().end() && state.node(known->second).known;
            if (!is_there) status.nodes_gone.push_back(node);
        }
    }
    return all;
}

aio::Task<void> report_policy(core::EngineLoop& engine, const PolicyLayers& layers,
                              ports::PolicyObjectPort& objects) {
    constexpr std::chrono::seconds between{1};
    for (;;) {
        const aio::Deadline next = aio::Deadline::in(between);
        const bool running = co_await aio::sleep_until(next);
        if (!running) co_return;
        if (engine.leading()) objects.report(policy_statuses(engine, layers));
    }
}

}  // namespace gpuctl::api
