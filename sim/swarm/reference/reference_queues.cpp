// The queue tree: held and reserved GPUs, crossed limits. Every sum is over all pods, every time.

#include <algorithm>

#include "sim/swarm/reference/reference_model.hpp"

namespace gpuctl::sim {

bool ReferenceModel::exists(const QueueName& queue) const {
    return queue.queue == kDefaultQueue || policy_of(queue) != nullptr;
}

bool ReferenceModel::has_sub_queues(const QueueName& queue) const {
    for (const PoolPolicy& pool : policy.pools) {
        if (pool.name != queue.pool) continue;
        for (const QueuePolicy& other : pool.queues) {
            if (other.parent == queue.queue) return true;
        }
    }
    return false;
}

// The swarm draws no cycles and no missing parents.
std::vector<QueueName> ReferenceModel::chain(const QueueName& queue) const {
    std::vector<QueueName> out{queue};
    const QueuePolicy* known = policy_of(queue);
    while (known != nullptr && !known->parent.empty()) {
        out.push_back({queue.pool, known->parent});
        known = policy_of(out.back());
    }
    return out;
}

Amounts ReferenceModel::held_below(const QueueName& queue) const {
    Amounts sum;
    for (const auto& [uid, pod] : pods) {
        if (!pod.holds()) continue;
        const std::vector<QueueName> of = chain(queue_of(pod.facts));
        if (std::find(of.begin(), of.end(), queue) != of.end()) {
            sum.add(amounts_of(pod.facts.request));
        }
    }
    return sum;
}

std::int64_t ReferenceModel::nominated_below(const QueueName& queue) const {
    std::int64_t sum = 0;
    for (const auto& [uid, pod] : pods) {
        if (!pod.holds() || pod.is_bound() || pod.nominated_node.empty()) continue;
        const std::vector<QueueName> of = chain(queue_of(pod.facts));
        if (std::find(of.begin(), of.end(), queue) == of.end()) continue;
        sum += amounts_of(pod.facts.request).gpus;
    }
    return sum;
}

std::int64_t ReferenceModel::guaranteed(const QueueName& queue) const {
    const QueuePolicy* known = policy_of(queue);
    std::int64_t below = 0;
    for (const PoolPolicy& pool : policy.pools) {
        if (pool.name != queue.pool) continue;
        for (const QueuePolicy& other : pool.queues) {
            if (other.parent == queue.queue) below += guaranteed({pool.name, other.name});
        }
    }
    std::int64_t of_models = 0;
    if (known) {
        for (const ModelLimit& limit : known->models) of_models += limit.guaranteed.value();
    }
    return std::max({below, of_models, known ? known->guaranteed.value() : 0});
}

std::optional<std::int64_t> ReferenceModel::cap(const QueueName& queue) const {
    const QueuePolicy& known = policy_or_default(queue);
    std::optional<std::int64_t> out;
    if (known.maximum) out = known.maximum->value();
    if (known.borrowing_limit) {
        const std::int64_t most = guaranteed(queue) + known.borrowing_limit->value();
        out = std::min(out.value_or(most), most);
    }
    return out;
}

ReferenceModel::HeldGpus ReferenceModel::held_by_queue(const std::string& pool,
                                                       Nominations nominations) const {
    HeldGpus held;
    for (const auto& [uid, pod] : pods) {
        if (!pod.holds() || (nominations == Nominations::left_out && !pod.nominated_node.empty()))
            continue;
        const QueueName queue = queue_of(pod.facts);
        if (queue.pool == pool) held[queue.queue] += amounts_of(pod.facts.request).gpus;
    }
    return held;
}

std::int64_t ReferenceModel::gpus_reserved_below(const QueueName& queue, const QueueName& in,
                                                 std::int64_t more, const HeldGpus& held) const {
    std::int64_t sum = queue == in ? more : 0;
    if (const auto own = held.find(queue.queue); own != held.end()) sum += own->second;
    bool has_default = false;
    for (const PoolPolicy& pool : policy.pools) {
        if (pool.name != queue.pool) continue;
        for (const QueuePolicy& other : pool.queues) {
            has_default = has_default || other.name == kDefaultQueue;
            if (other.parent == queue.queue)
                sum += gpus_reserved({pool.name, other.name}, in, more, held);
        }
    }
    if (queue.queue.empty() && !has_default) {
        sum += gpus_reserved({queue.pool, kDefaultQueue}, in, more, held);
    }
    return sum;
}

std::int64_t ReferenceModel::gpus_reserved(const QueueName& queue, const QueueName& in,
                                           std::int64_t more, const HeldGpus& held) const {
    const std::int64_t sum = gpus_reserved_below(queue, in, more, held);
    const QueuePolicy* known = policy_of(queue);
    if (!known || !known->lending_limit) return sum;
    return std::max(sum, known->guaranteed.value() - known->lending_limit->value());
}

std::int64_t ReferenceModel::held_of_model(const QueueName& queue, const std::string& model,
                                           Nominations nominations) const {
    std::int64_t sum = 0;
    for (const auto& [uid, pod] : pods) {
        if (!pod.holds() || (nominations == Nominations::left_out && !pod.nominated_node.empty()))
            continue;
        const auto node = nodes.find(pod.where());
        if (node == nodes.end() || node->second.gpu_model != model) continue;
        const std::vector<QueueName> of = chain(queue_of(pod.facts));
        if (std::find(of.begin(), of.end(), queue) != of.end()) {
            sum += amounts_of(pod.facts.request).gpus;
        }
    }
    return sum;
}

bool ReferenceModel::model_allowed(const PodFacts& pod, std::int64_t gpus,
                                   const std::string& model) const {
    if (gpus == 0) return true;
    for (const QueueName& queue : chain(queue_of(pod))) {
        for (const ModelLimit& limit : policy_or_default(queue).models) {
            if (limit.model == model && limit.maximum &&
                held_of_model(queue, model) + gpus > limit.maximum->value()) {
                return false;
            }
        }
    }
    const ModelUse use = model_use(queue_of(pod), model, gpus);
    return use.needed <= 0 || !use.is_reserved ||
           use.held + use.reserved + use.needed <= use.offered;
}

std::set<std::string> ReferenceModel::models_reserved(const std::string& pool) const {
    std::set<std::string> out;
    for (const PoolPolicy& one : policy.pools) {
        if (one.name != pool) continue;
        for (const QueuePolicy& queue : one.queues) {
            if (!queue.lending_limit) continue;
            for (const ModelLimit& limit : queue.models) {
                if (limit.guaranteed > *queue.lending_limit) out.insert(limit.model);
            }
        }
    }
    return out;
}

std::int64_t ReferenceModel::reserved_of_model(const QueueName& queue, const std::string& model,
                                               const QueueName& in, std::int64_t more,
                                               Nominations nominations) const {
    std::int64_t below = 0;
    for (const PoolPolicy& pool : policy.pools) {
        if (pool.name != queue.pool) continue;
        for (const QueuePolicy& other : pool.queues) {
            if (other.parent != queue.queue) continue;
            below += reserved_of_model({pool.name, other.name}, model, in, more, nominations);
        }
    }
    const QueuePolicy* known = policy_of(queue);
    if (known == nullptr || !known->lending_limit) return below;
    const std::vector<QueueName> of = chain(in);
    const bool is_above = std::find(of.begin(), of.end(), queue) != of.end();
    for (const ModelLimit& limit : known->models) {
        if (limit.model != model) continue;
        const std::int64_t keeps = limit.guaranteed.value() - known->lending_limit->value();
        below = std::max(below,
                         keeps - held_of_model(queue, model, nominations) - (is_above ? more : 0));
    }
    return below;
}

ReferenceModel::ModelUse ReferenceModel::model_use(const QueueName& in, const std::string& model,
                                                   std::int64_t more) const {
    ModelUse out;
    const QueueName whole{in.pool, ""};
    out.reserved = reserved_of_model(whole, model, in, 0, Nominations::counted);
    out.needed =
        more + reserved_of_model(whole, model, in, more, Nominations::counted) - out.reserved;
    for (const auto& [name, node] : nodes) {
        const bool counts = node.pool == in.pool && node.gpu_model == model;
        if (counts) out.offered += amounts_of(node.allocatable).gpus;
    }
    for (const auto& [uid, pod] : pods) {
        const QueueName queue = queue_of(pod.facts);
        if (!pod.holds() || queue.pool != in.pool || !exists(queue)) continue;
        const auto node = nodes.find(pod.where());
        if (node == nodes.end() || node->second.gpu_model != model) continue;
        out.held += amounts_of(pod.facts.request).gpus;
    }
    out.is_reserved =
        out.offered > 0 &&
        (out.reserved > 0 || reserved_of_model(whole, model, in, 0, Nominations::left_out) > 0);
    return out;
}

std::int64_t ReferenceModel::fitting_in_models(const PodFacts& pod, std::int64_t pods_asked,
                                               bool when_empty) const {
    const std::string pool = pod.pool.empty() ? kDefaultPool : pod.pool;
    const Amounts request = amounts_of(pod.request);
    std::vector<const NodeFacts*> on;
    for (const auto& [name, node] : nodes) {
        if (node.pool != pool || !admits(node, pod)) continue;
        if (model_allowed(pod, request.gpus * pods_asked, node.gpu_model)) on.push_back(&node);
    }
    return fitting_on_one_model(pod, pods_asked, when_empty, on);
}

std::int64_t ReferenceModel::gpus_of_job(const ObjectKey& job) const {
    std::int64_t sum = 0;
    for (const std::string& uid : jobs.at(job)) {
        if (pods.at(uid).holds()) sum += amounts_of(pods.at(uid).facts.request).gpus;
    }
    for (const auto& [uid, pod] : pods) {
        if (pod.is_seat && job_of(pod.facts) == job) sum += amounts_of(pod.facts.request).gpus;
    }
    return sum;
}

std::int64_t ReferenceModel::pods_held(const ObjectKey& job) const {
    return std::count_if(jobs.at(job).begin(), jobs.at(job).end(),
                         [this](const std::string& uid) { return pods.at(uid).holds(); }) +
           (keeps_room(job) ? 1 : 0);
}

std::int64_t ReferenceModel::jobs_held(const QueueName& queue) const {
    std::set<ObjectKey> holding;
    for (const auto& [uid, pod] : pods) {
        if (!pod.holds()) continue;
        const std::vector<QueueName> of = chain(queue_of(pod.facts));
        if (std::find(of.begin(), of.end(), queue) != of.end()) holding.insert(job_of(pod.facts));
    }
    return static_cast<std::int64_t>(holding.size());
}

std::int64_t ReferenceModel::held_in_pool(const std::string& tenant_name,
                                          const std::string& pool) const {
    std::int64_t sum = 0;
    for (const auto& [uid, pod] : pods) {
        const QueueName queue = queue_of(pod.facts);
        if (pod.holds() && pod.facts.key.namespace_name == tenant_name && queue.pool == pool &&
            exists(queue)) {
            sum += amounts_of(pod.facts.request).gpus;
        }
    }
    return sum;
}

Amounts ReferenceModel::offered(const std::string& pool) const {
    Amounts sum;
    for (const auto& [name, node] : nodes) {
        if (node.pool == pool) sum.add(amounts_of(node.allocatable));
    }
    return sum;
}

// --- reserves ---

void ReferenceModel::read_growing(const ClusterState& after) {
    services_.clear();
    elastic_.clear();
    for (const auto& [key, id] : after.jobs.jobs_by_key()) {
        for (const PodId pod : after.job(id).pods) {
            const PodRow& row = after.pod(pod);
            if (!row.node.exists()) continue;
            if (row.grows_with_demand) {
                growing_.insert(row.facts.uid);
            } else if (!growing_.empty()) {
                growing_.erase(row.facts.uid);
            }
        }
        if (!after.job(id).record) continue;
        const JobSpec& spec = after.job(id).record->spec;
        if (spec.kind == JobKind::inference || spec.kind == JobKind::compute) services_.insert(key);
        if (spec.replicas_max > spec.replicas_min) elastic_[key] = spec.replicas_min;
    }
}

bool ReferenceModel::would_grow(const PodFacts& pod) const {
    const ObjectKey job = job_of(pod);
    if (services_.contains(job)) return true;
    const auto elastic = elastic_.find(job);
    return elastic != elastic_.end() && pod.rank >= elastic->second;
}

bool ReferenceModel::has_reserve(const std::string& pool) const {
    return std::any_of(policy.pools.begin(), policy.pools.end(), [&](const PoolPolicy& one) {
        return one.name == pool && (one.reserve_percent > 0 || one.reserve_gpus > GpuMilli{});
    });
}

bool ReferenceModel::reserve_crossed(const PodFacts& pod, std::int64_t gpus) const {
    const std::string name = queue_of(pod).pool;
    if (gpus == 0 || !has_reserve(name) || would_grow(pod)) return false;
    const std::int64_t total = offered(name).gpus;
    std::int64_t reserve = 0;
    for (const PoolPolicy& pool : policy.pools) {
        if (pool.name != name) continue;
        reserve = std::max(total / 100 * pool.reserve_percent / 1000 * 1000,
                           std::min(pool.reserve_gpus.value(), total));
    }
    std::int64_t held = 0;
    for (const auto& [uid, other] : pods) {
        const QueueName of = queue_of(other.facts);
        if (!other.holds() || of.pool != name || !exists(of) || growing_.contains(uid)) continue;
        held += amounts_of(other.facts.request).gpus;
    }
    return reserve > 0 && held + gpus > total - reserve;
}

std::string ReferenceModel::queue_limit_crossed(const PodFacts& pod, const Amounts& more) const {
    const QueueName leaf = queue_of(pod);
    const std::int64_t gpus = more.gpus;
    const auto job = jobs.find(job_of(pod));
    const bool is_new = job == jobs.end() ||
                        (!keeps_room(job->first) &&
                         std::none_of(job->second.begin(), job->second.end(), [this](auto& uid) {
                             const ReferencePod& known = pods.at(uid);
                             return known.holds() && (!known.evicting || known.surplus);
                         }));
    const HeldGpus by_queue = held_by_queue(leaf.pool, Nominations::counted);
    for (const QueueName& queue : chain(leaf)) {
        const QueuePolicy* known = policy_of(queue);
        if (known == nullptr) continue;
        const std::string name = " of queue " + queue.queue + " of pool " + queue.pool;
        const std::int64_t has = held_below(queue).gpus;
        const std::optional<std::int64_t> most = cap(queue);
        if (gpus > 0 && most && has + gpus > *most) return "GPUs" + name;
        const std::int64_t before = gpus_reserved(queue, leaf, 0, by_queue);
        const std::int64_t after = gpus_reserved(queue, leaf, gpus, by_queue);
        if (most && after > *most && after > before) return "GPUs not lent" + name;
        if (known->jobs_maximum && is_new && jobs_held(queue) + 1 > *known->jobs_maximum) {
            return "jobs" + name;
        }
        const std::int64_t of_job = job == jobs.end() ? 0 : gpus_of_job(job->first);
        if (known->gpus_per_job_maximum && gpus > 0 &&
            of_job + gpus > known->gpus_per_job_maximum->value()) {
            return "GPUs for one job" + name;
        }
    }
    const QueueName whole{leaf.pool, ""};
    const std::int64_t before = gpus_reserved(whole, leaf, 0, by_queue);
    const std::int64_t after = gpus_reserved(whole, leaf, gpus, by_queue);
    // Nominations may be dropped, and then the GPUs are reserved again.
    std::int64_t held = 0;
    for (const auto& [uid, other] : pods) {
        const QueueName of = queue_of(other.facts);
        if (other.holds() && other.nominated_node.empty() && of.pool == leaf.pool && exists(of)) {
            held += amounts_of(other.facts.request).gpus;
        }
    }
    const std::int64_t all = offered(leaf.pool).gpus;
    const bool reserves_idle =
        gpus_reserved(whole, leaf, 0, held_by_queue(leaf.pool, Nominations::left_out)) > held;
    if (all > 0 && reserves_idle && after > before && after > all) {
        return "GPUs not lent in pool " + leaf.pool;
    }
    return "";
}

// --- order ---

QueueOrder ReferenceModel::order_of(const QueueName& queue) const {
    if (const QueuePolicy* known = policy_of(queue)) return known->order;
    for (const PoolPolicy& pool : policy.pools) {
        if (queue.queue.empty() && pool.name == queue.pool) return pool.order;
    }
    return QueueOrder::fair_share;
}

std::int64_t ReferenceModel::aged(std::int32_t priority, Instant since) const {
    if (policy.ageing_step == 0) return priority;
    const std::int64_t steps = (now - since).ms() / policy.ageing_every.ms();
    return priority + std::min<std::int64_t>(steps * policy.ageing_step, policy.ageing_maximum);
}

}  // namespace gpuctl::sim
