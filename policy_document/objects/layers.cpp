#include "policy_document/objects/layers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "policy_document/keys.hpp"
#include "policy_document/policy_keys.hpp"
#include "policy_document/refusal.hpp"
#include "policy_document/tables.hpp"

namespace gpuctl::config {
namespace {

using nlohmann::json;
using Objects = std::map<PolicyKey, PolicyObject>;

// No user can make a queue of this name: names are DNS labels.
constexpr const char* kLimitsQueue = "(limits)";

Error not_merged(std::string message) {
    return make_error(ErrorCode::ValidationFailed, std::move(message));
}

json to_json(const std::vector<Shown>& shown);

json to_json(const Shown& key) {
    if (key.form == Shown::Form::map) return to_json(key.members);
    if (key.form == Shown::Form::list) {
        json list = json::array();
        for (const std::vector<Shown>& item : key.items) list.push_back(to_json(item));
        return list;
    }
    const auto value = wire::parse_yaml(key.value);
    return value && value->size() == 1 ? value->front().root : json(key.value);
}

json to_json(const std::vector<Shown>& shown) {
    json map = json::object();
    for (const Shown& key : shown) {
        if (!key.absent && !key.moved) map[std::string{key.name}] = to_json(key);
    }
    return map;
}

class Merger {
public:
    Merger(const FileLayer& file, const Objects& objects) : file_(file), objects_(objects) {
        out_.policy = {};
    }

    Result<MergedPolicy> merge() {
        document_ = file_.document;
        for (Result<void> (Merger::* const step)() :
             {&Merger::check_owners, &Merger::add_pools, &Merger::add_queues, &Merger::check_trees,
              &Merger::limit_pools, &Merger::add_quotas}) {
            if (Result<void> done = (this->*step)(); !done) return done.error();
        }
        out_.policy = std::move(document_.policy);
        return std::move(out_);
    }

private:
    Result<void> check_owners() {
        for (const auto& [key, object] : objects_) {
            if (!file_.places.contains(key)) continue;
            return make_error(ErrorCode::ManagedByFile,
                              in_words(key) + " is in " + file_.place_of(key) +
                                  ", and was made over the API as well; each has one owner: remove "
                                  "it there, or delete the one of the API");
        }
        return {};
    }

    Result<void> add_pools() {
        for (const auto& [key, object] : objects_) {
            if (key.kind != PolicyKind::pool) continue;
            Result<PoolObject> read = pool_in(object.document);
            if (!read) return while_doing("read " + in_words(key), read.error());
            for (const auto& [node, type] : read->nodes) {
                const auto [known, is_new] =
                    out_.nodes.try_emplace(node, NodeOfPool{key.name, type});
                if (is_new) continue;
                return make_error(ErrorCode::Conflict,
                                  "node " + node + " is in pool " + known->second.pool +
                                      " and in pool " + key.name +
                                      "; a node belongs to at most one pool: take it out of one "
                                      "first");
            }
            add_pool(key.name, document_);
            pool_named(key.name)->description = read->description;
            pools_.push_back(std::move(*read));
        }
        return {};
    }

    PoolPolicy* pool_named(const std::string& name) {
        std::vector<PoolPolicy>& all = document_.policy.pools;
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const PoolPolicy& one) { return one.name == name; });
        return found == all.end() ? nullptr : &*found;
    }

    bool pool_exists(const std::string& name) {
        return pool_named(name) != nullptr || name == kDefaultPool ||
               file_.places.contains({PolicyKind::pool, name});
    }

    Result<void> add_queues() {
        for (const auto& [key, object] : objects_) {
            if (key.kind != PolicyKind::queue) continue;
            Result<QueueObject> read = queue_in(object.document);
            if (!read) return while_doing("read " + in_words(key), read.error());
            if (!pool_exists(read->pool)) {
                return make_error(ErrorCode::PoolNotFound, in_words(key) + ": there is no pool " +
                                                               read->pool +
                                                               "; `gpuctl get pools` lists them");
            }
            add_pool(read->pool, document_);
            if (json::parse(object.document, nullptr, false).contains("order") == false) {
                read->queue.order = policy_of_pool(document_, read->pool).order;
            }
            waiting_[read->pool].push_back(std::move(read->queue));
        }
        for (auto& [pool, queues] : waiting_) {
            if (Result<void> placed = place_queues(*pool_named(pool), queues); !placed) {
                return placed;
            }
        }
        return {};
    }

    // A parent comes before its children.
    static Result<void> place_queues(PoolPolicy& pool, std::vector<QueuePolicy>& queues) {
        const auto is_there = [&pool](const std::string& name) {
            return std::any_of(pool.queues.begin(), pool.queues.end(),
                               [&](const QueuePolicy& one) { return one.name == name; });
        };
        while (!queues.empty()) {
            const auto next = std::find_if(
                queues.begin(), queues.end(),
                [&](const QueuePolicy& one) { return one.parent.empty() || is_there(one.parent); });
            if (next == queues.end()) {
                const QueuePolicy& left = queues.front();
                return make_error(ErrorCode::QueueNotFound,
                                  "queue " + left.name + " of pool " + pool.name +
                                      ": there is no queue " + left.parent +
                                      " above it; make it first, or remove the parent");
            }
            pool.queues.push_back(std::move(*next));
            queues.erase(next);
        }
        return {};
    }

    // The checks of the file, on the tree that results.
    Result<void> check_trees() {
        for (const auto& [pool, queues] : waiting_) {
            const PoolPolicy& made = *pool_named(pool);
            json tree{{"name", pool}};
            for (const Shown& key : show_struct(made)) {
                if (key.name == "queues" && !key.absent) tree["queues"] = to_json(key);
            }
            const json whole{{"policy", {{"pools", json::array({tree})}}}};
            const Result<PolicyReading> read = parse_policy(whole.dump(), "pool " + pool);
            if (read) continue;
            const std::vector<Detail>& details = read.error().details;
            return not_merged("the queues of pool " + pool + ": " +
                              (details.empty() ? read.error().message : details.front().message));
        }
        return {};
    }

    Result<void> limit_pools() {
        for (const PoolObject& object : pools_) {
            PoolPolicy& pool = *pool_named(object.name);
            if (object.jobs_maximum || object.gpus_per_job_maximum) add_default_queue(pool);
            if (object.gpus_per_job_maximum) {
                for (QueuePolicy& queue : pool.queues) {
                    const GpuMilli most = *object.gpus_per_job_maximum;
                    queue.gpus_per_job_maximum =
                        std::min(queue.gpus_per_job_maximum.value_or(most), most);
                }
            }
            if (object.jobs_maximum) limit_jobs(pool, *object.jobs_maximum);
        }
        return {};
    }

    static void add_default_queue(PoolPolicy& pool) {
        const auto is_default = [](const QueuePolicy& one) { return one.name == kDefaultQueue; };
        if (std::any_of(pool.queues.begin(), pool.queues.end(), is_default)) return;
        QueuePolicy queue;
        queue.name = kDefaultQueue;
        queue.order = pool.order;
        pool.queues.push_back(std::move(queue));
    }

    // Of one queue, or of a queue above all of them.
    static void limit_jobs(PoolPolicy& pool, std::int64_t most) {
        if (pool.queues.size() == 1) {
            QueuePolicy& only = pool.queues.front();
            only.jobs_maximum = std::min(only.jobs_maximum.value_or(most), most);
            return;
        }
        QueuePolicy above;
        above.name = kLimitsQueue;
        above.order = pool.order;
        above.jobs_maximum = most;
        for (QueuePolicy& queue : pool.queues) {
            if (!queue.parent.empty()) continue;
            queue.parent = kLimitsQueue;
            above.guaranteed += queue.guaranteed;
        }
        pool.queues.insert(pool.queues.begin(), std::move(above));
    }

    Result<void> add_quotas() {
        Policy& policy = document_.policy;
        for (const auto& [key, object] : objects_) {
            if (key.kind != PolicyKind::quota) continue;
            const Result<QuotaObject> read = quota_in(object.document);
            if (!read) return while_doing("read " + in_words(key), read.error());
            TenantPolicy tenant;
            tenant.name = key.name;
            tenant.weight = policy.default_tenant_weight;
            tenant.gpu_maximum = read->gpus;
            tenant.cpu_maximum = read->cpu;
            tenant.memory_maximum = read->memory;
            policy.tenants.push_back(std::move(tenant));
        }
        return {};
    }

    const FileLayer& file_;
    const Objects& objects_;
    PolicyDocument document_;
    std::vector<PoolObject> pools_;
    std::map<std::string, std::vector<QueuePolicy>> waiting_;  // by pool
    MergedPolicy out_;
};

}  // namespace

std::string in_words(const PolicyKey& key) {
    if (key.kind == PolicyKind::quota) return "the quota of namespace " + key.name;
    if (key.kind != PolicyKind::queue) return std::string{to_string(key.kind)} + " " + key.name;
    const std::size_t slash = key.name.find('/');
    return "queue " + key.name.substr(slash + 1) + " of pool " + key.name.substr(0, slash);
}

std::string FileLayer::place_of(const PolicyKey& key) const {
    const auto found = places.find(key);
    return found == places.end() || found->second.empty() ? "the configuration" : found->second;
}

Result<MergedPolicy> merge_layers(const FileLayer& file,
                                  const std::map<PolicyKey, PolicyObject>& objects) {
    return Merger{file, objects}.merge();
}

}  // namespace gpuctl::config
