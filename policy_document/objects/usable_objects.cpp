// Which of the objects that other clients write can be used together.

#include <algorithm>
#include <vector>

#include "policy_document/objects/layers.hpp"

namespace gpuctl::config {
namespace {

using Objects = std::map<PolicyKey, PolicyObject>;

bool is_older(const PolicyObject* a, const PolicyObject* b) {
    if (a->created_at != b->created_at) return a->created_at < b->created_at;
    return a->key < b->key;
}

class Chooser {
public:
    Chooser(const FileLayer& file, const Objects& objects) : file_(file), objects_(objects) {}

    UsableObjects choose() {
        take_pools();
        for (const PolicyKind kind : {PolicyKind::name_space, PolicyKind::quota}) take_each(kind);
        take_queues();
        return std::move(out_);
    }

private:
    [[nodiscard]] std::vector<const PolicyObject*> by_age(PolicyKind kind) const {
        std::vector<const PolicyObject*> all;
        for (const auto& [key, object] : objects_) {
            if (key.kind == kind) all.push_back(&object);
        }
        std::sort(all.begin(), all.end(), is_older);
        return all;
    }

    void leave_out(const PolicyKey& key, Error why) {
        out_.problems.insert_or_assign(key, ObjectProblem{std::move(why), true});
    }

    bool is_of_file(const PolicyKey& key) {
        if (!file_.places.contains(key)) return false;
        leave_out(key, make_error(ErrorCode::ManagedByFile,
                                  in_words(key) + " is in " + file_.place_of(key) +
                                      " of gpuctld, which is used; delete this object, or remove "
                                      "it there and reload gpuctld (SIGHUP)"));
        return true;
    }

    void take_pools() {
        std::map<std::string, std::string> pool_of_node;
        for (const PolicyObject* object : by_age(PolicyKind::pool)) {
            if (is_of_file(object->key)) continue;
            Result<PoolObject> read = pool_in(object->document);
            if (!read) {
                leave_out(object->key, read.error());
                continue;
            }
            take_pool(*object, std::move(*read), pool_of_node);
        }
    }

    void take_pool(const PolicyObject& object, PoolObject pool,
                   std::map<std::string, std::string>& pool_of_node) {
        std::string taken;
        for (auto node = pool.nodes.begin(); node != pool.nodes.end();) {
            const auto [owner, is_new] = pool_of_node.try_emplace(node->first, pool.name);
            if (is_new) {
                ++node;
                continue;
            }
            taken += (taken.empty() ? "" : ", ") + node->first + " (pool " + owner->second + ")";
            node = pool.nodes.erase(node);
        }
        PolicyObject used = object;
        if (!taken.empty()) {
            used.document = draft_of(pool).document;
            Error why = make_error(ErrorCode::Conflict,
                                   "these nodes are in an older pool, and a node belongs to at "
                                   "most one: " +
                                       taken + "; take each out of one of the two");
            out_.problems.insert_or_assign(object.key, ObjectProblem{std::move(why), false});
        }
        out_.objects.insert_or_assign(object.key, std::move(used));
    }

    void take_each(PolicyKind kind) {
        for (const PolicyObject* object : by_age(kind)) {
            if (is_of_file(object->key)) continue;
            const bool is_quota = kind == PolicyKind::quota;
            if (const auto read = quota_in(object->document); is_quota && !read) {
                leave_out(object->key, read.error());
                continue;
            }
            out_.objects.insert_or_assign(object->key, *object);
        }
    }

    // Those of a pool go together or not: the tree is one. Only a tree that does not is searched
    // for what has to be left out.
    void take_queues() {
        std::map<std::string, std::vector<const PolicyObject*>> by_pool;
        for (const PolicyObject* object : by_age(PolicyKind::queue)) {
            if (is_of_file(object->key)) continue;
            by_pool[object->key.name.substr(0, object->key.name.find('/'))].push_back(object);
        }
        Objects pools;
        for (const auto& [key, object] : out_.objects) {
            if (key.kind == PolicyKind::pool) pools.emplace(key, object);
        }
        for (const auto& [pool, queues] : by_pool) take_tree(pools, queues);
    }

    void take_tree(const Objects& pools, const std::vector<const PolicyObject*>& queues) {
        Objects together = pools;
        for (const PolicyObject* queue : queues) together.emplace(queue->key, *queue);
        if (!merge_layers(file_, together)) {
            together = pools;
            add_one_by_one(together, queues);
        }
        for (const PolicyObject* queue : queues) {
            if (together.contains(queue->key)) out_.objects.emplace(queue->key, *queue);
        }
    }

    // A parent may be younger than its children, so the rest is tried again after each that fits.
    void add_one_by_one(Objects& together, std::vector<const PolicyObject*> left) {
        for (bool grew = true; grew && !left.empty();) {
            grew = false;
            for (auto next = left.begin(); next != left.end();) {
                Objects tried = together;
                tried.emplace((*next)->key, **next);
                const Result<MergedPolicy> merged = merge_layers(file_, tried);
                if (!merged) {
                    leave_out((*next)->key, merged.error());
                    ++next;
                    continue;
                }
                out_.problems.erase((*next)->key);
                together = std::move(tried);
                next = left.erase(next);
                grew = true;
            }
        }
    }

    const FileLayer& file_;
    const Objects& objects_;
    UsableObjects out_;
};

}  // namespace

UsableObjects usable_objects(const FileLayer& file, const Objects& objects) {
    return Chooser{file, objects}.choose();
}

}  // namespace gpuctl::config
