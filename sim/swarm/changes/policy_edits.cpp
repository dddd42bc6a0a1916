#include "sim/swarm/changes/policy_edits.hpp"

#include <algorithm>

namespace gpuctl::sim {
namespace {

PoolPolicy& pool_of(Policy& policy, const std::string& name) {
    const auto known = std::find_if(policy.pools.begin(), policy.pools.end(),
                                    [&](const PoolPolicy& pool) { return pool.name == name; });
    if (known != policy.pools.end()) return *known;
    PoolPolicy& made = policy.pools.emplace_back();
    made.name = name;
    return made;
}

QueuePolicy& queue_in(PoolPolicy& pool, const std::string& name) {
    const auto known = std::find_if(pool.queues.begin(), pool.queues.end(),
                                    [&](const QueuePolicy& queue) { return queue.name == name; });
    if (known != pool.queues.end()) return *known;
    QueuePolicy& made = pool.queues.emplace_back();
    made.name = name;
    return made;
}

TenantPolicy& tenant_of(Policy& policy, const std::string& name) {
    const auto known =
        std::find_if(policy.tenants.begin(), policy.tenants.end(),
                     [&](const TenantPolicy& tenant) { return tenant.name == name; });
    if (known != policy.tenants.end()) return *known;
    TenantPolicy& made = policy.tenants.emplace_back();
    made.name = name;
    return made;
}

}  // namespace

PolicyKey PolicyEdits::draw_key() {
    const auto kind = static_cast<PolicyKind>(rng_.below(4));
    const std::string tenant = rng_.chance(1, 2) ? "team-a" : "team-b";
    if (kind == PolicyKind::quota || kind == PolicyKind::name_space) return {kind, tenant};
    constexpr const char* pools[] = {"training", kExtraPool, kExtraPool, "default"};
    const std::string pool = pools[rng_.below(4)];
    if (kind == PolicyKind::pool) return {kind, pool};
    constexpr const char* queues[] = {"small", "urgent", "made", "made"};
    return {kind, pool + "/" + queues[rng_.below(4)]};
}

std::string PolicyEdits::draw_document() {
    Edit edit;
    if (rng_.chance(2, 3)) edit.maximum = whole_gpus(rng_.between(0, 8));
    if (rng_.chance(1, 4)) edit.jobs_maximum = rng_.between(1, 3);
    if (rng_.chance(1, 3)) edit.guaranteed = whole_gpus(rng_.between(0, 3));
    if (edit.maximum) edit.guaranteed = std::min(edit.guaranteed, *edit.maximum);
    edit.priority = static_cast<std::int32_t>(rng_.between(0, 2));
    edit.weight = rng_.between(1, 3);
    edit.has_order = rng_.chance(1, 3);
    edit.order = rng_.chance(1, 2) ? QueueOrder::fifo : QueueOrder::priority;
    if (rng_.chance(1, 3)) edit.queue = rng_.chance(1, 2) ? "small" : "made";
    const std::string document = "edit " + std::to_string(edits_.size() + 1);
    edits_[document] = edit;
    return document;
}

PolicyObjectsChanged PolicyEdits::draw(const PolicyObjects& known, Instant now,
                                       ChangeProbes& probes) {
    PolicyObjectsChanged event;
    const PolicyKey key = draw_key();
    const auto object = known.find(key);
    const bool deletes = object != known.end() && rng_.chance(1, 3);
    if (deletes && rng_.chance(1, 4)) {  // an object that was replaced meanwhile
        event.gone.push_back({key, object->second.uid + "-former"});
        ++probes.objects_of_others_deleted;
        return event;
    }
    if (deletes) {
        event.gone.push_back({key, object->second.uid});
        if (key.kind == PolicyKind::pool) {  // its queues go with it
            for (const auto& [other, queue] : known) {
                const bool is_its =
                    other.kind == PolicyKind::queue && other.name.starts_with(key.name + "/");
                if (is_its) event.gone.push_back({other, queue.uid});
            }
            ++probes.pools_deleted;
        }
        if (key.kind == PolicyKind::queue) ++probes.queues_deleted;
        if (key.kind == PolicyKind::quota) ++probes.quotas_deleted;
        return event;
    }
    PolicyObject put;
    put.key = key;
    put.document = draw_document();
    put.created_at = put.changed_at = now;
    if (object == known.end()) {
        put.uid = "object-" + std::to_string(++uids_);
    } else {
        put.uid = object->second.uid;
        put.version = object->second.version + 1;
        put.created_at = object->second.created_at;
        if (rng_.chance(1, 4)) {  // made from what another has changed since
            put.version -= rng_.chance(1, 2) ? 1 : std::min<std::uint64_t>(put.version, 2);
            ++probes.objects_stale;
            event.put.push_back(std::move(put));
            return event;
        }
    }
    if (key.kind == PolicyKind::pool) ++probes.pools_put;
    if (key.kind == PolicyKind::queue) ++probes.queues_put;
    if (key.kind == PolicyKind::quota) ++probes.quotas_put;
    if (key.kind == PolicyKind::name_space) ++probes.namespaces_put;
    event.put.push_back(std::move(put));
    return event;
}

PolicyObjectsChanged PolicyEdits::removal(const PolicyObjects& known) {
    PolicyObjectsChanged event;
    for (const auto& [key, object] : known) event.gone.push_back({key, object.uid});
    return event;
}

void PolicyEdits::apply(const PolicyObjectsChanged& event, PolicyObjects& objects) {
    for (const PolicyObjectGone& gone : event.gone) {
        const auto known = objects.find(gone.key);
        if (known != objects.end() && known->second.uid == gone.uid) objects.erase(known);
    }
    for (const PolicyObject& put : event.put) {
        const auto known = objects.find(put.key);
        if (known == objects.end() || known->second.version < put.version) objects[put.key] = put;
    }
}

void PolicyEdits::merge(const PolicyKey& key, const Edit& edit, Policy& policy) const {
    if (key.kind == PolicyKind::pool) {
        PoolPolicy& pool = pool_of(policy, key.name);
        if (edit.has_order) pool.order = edit.order;
        return;
    }
    if (key.kind == PolicyKind::queue) {
        const std::size_t slash = key.name.find('/');
        QueuePolicy& queue =
            queue_in(pool_of(policy, key.name.substr(0, slash)), key.name.substr(slash + 1));
        queue.maximum = edit.maximum;
        queue.guaranteed = edit.guaranteed;
        queue.jobs_maximum = edit.jobs_maximum;
        queue.priority = edit.priority;
        queue.weight = edit.weight;
        if (queue.lending_limit)
            queue.lending_limit = std::min(*queue.lending_limit, edit.guaranteed);
        return;
    }
    TenantPolicy& tenant = tenant_of(policy, key.name);
    if (key.kind == PolicyKind::quota) {
        tenant.gpu_maximum = edit.maximum;
        return;
    }
    tenant.weight = edit.weight;
    tenant.queue = edit.queue;
}

Policy PolicyEdits::merged(Policy base, const PolicyObjects& objects) const {
    for (const auto& [key, object] : objects) {
        const auto edit = edits_.find(object.document);
        if (edit != edits_.end()) merge(key, edit->second, base);
    }
    return base;
}

std::optional<GpuMilli> PolicyEdits::quota_in(const std::string& document) const {
    const auto edit = edits_.find(document);
    return edit == edits_.end() ? std::nullopt : edit->second.maximum;
}

}  // namespace gpuctl::sim
