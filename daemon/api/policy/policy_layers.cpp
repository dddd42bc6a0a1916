#include "daemon/api/policy/policy_layers.hpp"

#include <algorithm>
#include <utility>

#include "aio/entropy.hpp"
#include "daemon/api/policy/uses.hpp"
#include "daemon/diagnostics/log.hpp"

namespace gpuctl::api {

namespace {

std::string list_of(const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 20;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
        text += (i == 0 ? "" : ", ") + names[i];
    }
    if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
    return text;
}

Error exists(const PolicyObject& object) {
    const PolicyKey& key = object.key;
    if (key.kind == PolicyKind::quota) {
        const Result<config::QuotaObject> quota = config::quota_in(object.document);
        return make_error(
            ErrorCode::QuotaExists,
            "namespace " + key.name + " has the quota " + (quota ? quota->name : key.name) +
                ", and a namespace has one; change it with `gpuctl apply -f FILE`, or "
                "delete it first");
    }
    return make_error(ErrorCode::Conflict, config::in_words(key) +
                                               " exists already; change it with `gpuctl apply -f "
                                               "FILE` (PUT), or delete it first");
}

// A namespace has one quota: one of another name does not replace it.
bool is_other_quota(const PolicyObject& known, const config::ObjectDraft& wanted) {
    if (known.key.kind != PolicyKind::quota) return false;
    const Result<config::QuotaObject> has = config::quota_in(known.document);
    const Result<config::QuotaObject> wants = config::quota_in(wanted.document);
    return has && wants && has->name != wants->name;
}

// A queue that names this one as its parent and is not in `gone`, in words; empty: none does.
std::string queue_below(const std::map<PolicyKey, PolicyObject>& objects, const PolicyKey& key,
                        const std::vector<PolicyKey>& gone) {
    for (const auto& [other, object] : objects) {
        if (other.kind != PolicyKind::queue) continue;
        if (std::find(gone.begin(), gone.end(), other) != gone.end()) continue;
        const Result<config::QueueObject> queue = config::queue_in(object.document);
        if (queue && queue->pool + "/" + queue->queue.parent == key.name) {
            return config::in_words(other);
        }
    }
    return "";
}

}  // namespace

Error not_found(const PolicyKey& key) {
    constexpr ErrorCode codes[] = {ErrorCode::PoolNotFound, ErrorCode::QuotaNotFound,
                                   ErrorCode::QueueNotFound, ErrorCode::NamespaceNotFound};
    const std::string list = std::string{config::to_string(key.kind)} + "s";
    return make_error(codes[static_cast<std::size_t>(key.kind)],
                      "there is no " +
                          (key.kind == PolicyKind::quota ? "quota of namespace " + key.name
                                                         : config::in_words(key)) +
                          "; `gpuctl get " + list + "` lists them");
}

const PolicyLayers::Objects& PolicyLayers::objects() const {
    return engine_.engine().state().policy_objects.by_key();
}

const PolicyObject* PolicyLayers::find(const PolicyKey& key) const {
    if (file_.places.contains(key)) return nullptr;  // another client's; the file's is used
    return engine_.engine().state().policy_objects.find(key);
}

std::string PolicyLayers::source_of(const PolicyKey& key) const {
    if (const PolicyObject* object = find(key)) {
        return object->source == PolicySource::crd ? "crd" : "api";
    }
    return file_.places.contains(key) ? "file" : "";
}

Result<config::MergedPolicy> merge_with_file(const config::FileLayer& file,
                                             const std::map<PolicyKey, PolicyObject>& objects,
                                             bool has_other_writers) {
    Result<config::MergedPolicy> merged =
        has_other_writers
            ? config::merge_layers(file, config::usable_objects(file, objects).objects)
            : config::merge_layers(file, objects);
    if (merged) return merged;
    return make_error(
        ErrorCode::InvalidConfiguration,
        "merge the configuration with what was made over the API: " + merged.error().message);
}

// A change that is being stored counts: its policy is on its way to the engine.
Result<config::MergedPolicy> PolicyLayers::merge(const config::FileLayer& file) const {
    const Objects& known = reported_ ? *reported_ : objects();
    return merge_with_file(file, in_flight_ ? *in_flight_ : known, store_.has_other_writers());
}

void PolicyLayers::commit(config::FileLayer file, config::MergedPolicy merged) {
    file_ = std::move(file);
    const Objects& known = reported_ ? *reported_ : objects();
    if (store_.has_other_writers()) {
        problems_ = config::usable_objects(file_, known).problems;
        policy_ = merged.policy;
    }
    const ports::NodeMemberships nodes = memberships(merged);
    engine_.change_policy(std::move(merged.policy));
    store_.assign(nodes);
}

Error PolicyLayers::managed_by_file(const PolicyKey& key, const char* doing) const {
    return make_error(ErrorCode::ManagedByFile,
                      std::string{doing} + " " + config::in_words(key) + ": it is in " +
                          file_.place_of(key) +
                          "; change it there and reload gpuctld (SIGHUP), or choose another name");
}

aio::Task<Result<std::vector<PolicyOutcome>>> PolicyLayers::change(PolicyRequest request,
                                                                   aio::Deadline deadline) {
    while (is_busy_) {
        const bool notified = co_await free_.wait(deadline);
        if (!notified && is_busy_) {
            co_return make_error(ErrorCode::Timeout,
                                 "an earlier change of the policy is still being stored; retry");
        }
    }
    is_busy_ = true;
    Result<std::vector<PolicyOutcome>> changed = co_await change_now(std::move(request), deadline);
    is_busy_ = false;
    free_.notify_all();
    co_return changed;
}

aio::Task<Result<std::vector<PolicyOutcome>>> PolicyLayers::change_now(PolicyRequest request,
                                                                       aio::Deadline deadline) {
    if (std::optional<Error> refused = refusal(request)) co_return *refused;
    if (std::optional<Error> refused = engine_.refusal()) co_return *refused;
    Draft draft;
    draft.objects = objects();
    draft.now = Instant{aio::Loop::wall_ms()};
    if (Result<void> removed = remove(request, draft); !removed) co_return removed.error();
    if (Result<void> added = put(request, draft); !added) co_return added.error();
    Result<config::MergedPolicy> merged = merge_draft(draft);
    if (!merged) co_return merged.error();
    if (Result<void> known = check_nodes(*merged, request, draft); !known) co_return known.error();
    const bool is_nothing = draft.event.put.empty() && draft.event.gone.empty();
    if (request.dry_run || is_nothing) co_return std::move(draft.outcomes);
    for (const PolicyOutcome& one : draft.outcomes) {
        log::info("policy changed",
                  {{"object", config::in_words(one.key)}, {"action", one.action}});
    }
    ports::PolicyWrite wanted{std::move(draft.event), std::move(merged->policy),
                              memberships(*merged)};
    in_flight_ = std::move(draft.objects);
    Result<void> written = co_await store_.write(std::move(wanted), deadline);
    in_flight_.reset();
    if (!written) co_return written.error();
    co_return std::move(draft.outcomes);
}

Result<void> PolicyLayers::put(const PolicyRequest& request, Draft& draft) const {
    for (const config::ObjectDraft& wanted : request.put) {
        const auto is_it = [&](const PolicyOutcome& one) { return one.key == wanted.key; };
        if (std::any_of(draft.outcomes.begin(), draft.outcomes.end(), is_it)) {
            return make_error(ErrorCode::ValidationFailed,
                              config::in_words(wanted.key) + " is given twice");
        }
        if (Result<void> added = put_one(wanted, request, draft); !added) return added;
    }
    for (const config::ObjectDraft& wanted : request.put) {
        if (wanted.key.kind == PolicyKind::quota) add_namespace_of_quota(wanted.key, draft);
    }
    if (draft.objects.size() > kPolicyObjectsMaximum) {
        return make_error(ErrorCode::TooManyRequests,
                          "there are " + std::to_string(kPolicyObjectsMaximum) +
                              " pools, quotas, queues and namespaces, the most that are stored; "
                              "delete some, or write them in gpuctld.yaml");
    }
    return {};
}

Result<void> PolicyLayers::put_one(const config::ObjectDraft& wanted, const PolicyRequest& request,
                                   Draft& draft) const {
    const PutMode mode = request.mode;
    if (file_.places.contains(wanted.key)) {
        return managed_by_file(wanted.key, mode == PutMode::create ? "create" : "change");
    }
    const auto known = draft.objects.find(wanted.key);
    if (known == draft.objects.end()) {
        if (mode == PutMode::update) return not_found(wanted.key);
        PolicyObject object;
        object.key = wanted.key;
        object.uid = aio::time_ordered_uuid(draft.now.ms());
        object.created_at = object.changed_at = draft.now;
        object.document = wanted.document;
        draft.event.put.push_back(object);
        draft.objects.emplace(wanted.key, std::move(object));
        draft.outcomes.push_back({wanted.key, "created", wanted.document, ""});
        return {};
    }
    PolicyObject& object = known->second;
    if (mode == PutMode::create || is_other_quota(object, wanted)) return exists(object);
    if (request.version != 0 && request.version != object.version) {
        return make_error(ErrorCode::Conflict,
                          "change " + config::in_words(wanted.key) +
                              ": another request changed it meanwhile; read it and try again");
    }
    if (config::says_the_same(object.document, wanted.document)) {
        draft.outcomes.push_back({wanted.key, "unchanged", wanted.document, ""});
        return {};
    }
    object.document = wanted.document;
    object.changed_at = draft.now;
    ++object.version;
    draft.event.put.push_back(object);
    draft.outcomes.push_back({wanted.key, "updated", wanted.document, ""});
    return {};
}

// A namespace with a quota is one of ours.
void PolicyLayers::add_namespace_of_quota(const PolicyKey& key, Draft& draft) const {
    const PolicyKey of{PolicyKind::name_space, key.name};
    if (file_.places.contains(of) || draft.objects.contains(of)) return;
    config::ObjectDraft wanted{of, R"({"kind":"namespace","name":")" + key.name + R"("})"};
    PolicyRequest request;
    request.mode = PutMode::apply;
    (void)put_one(wanted, request, draft);
}

Result<void> PolicyLayers::remove(const PolicyRequest& request, Draft& draft) const {
    // Pools last: queues of the same request may be in them.
    std::vector<PolicyKey> keys = request.gone;
    std::stable_partition(keys.begin(), keys.end(),
                          [](const PolicyKey& key) { return key.kind != PolicyKind::pool; });
    for (const PolicyKey& key : keys) {
        if (Result<void> removed = remove_one(key, request, draft); !removed) return removed;
    }
    return {};
}

Result<void> PolicyLayers::remove_one(const PolicyKey& key, const PolicyRequest& request,
                                      Draft& draft) const {
    const bool force = request.force;
    if (key.kind == PolicyKind::name_space && !draft.objects.contains(key) &&
        key.name == "default") {
        return make_error(ErrorCode::NamespaceNotManaged,
                          "delete namespace default: it always exists");
    }
    if (file_.places.contains(key)) return managed_by_file(key, "delete");
    const ClusterState& state = engine_.engine().state();
    if (!draft.objects.contains(key)) {
        if (key.kind == PolicyKind::name_space && is_used_namespace(state, key.name)) {
            return make_error(
                ErrorCode::NamespaceNotManaged,
                "delete namespace " + key.name +
                    ": it was not made with gpuctl; it is listed because jobs use it, "
                    "until they are deleted");
        }
        return not_found(key);
    }
    if (key.kind == PolicyKind::pool) {
        for (const auto& [other, object] : std::map{draft.objects}) {
            const bool is_of_it =
                other.kind == PolicyKind::queue && other.name.starts_with(key.name + "/");
            if (!is_of_it) continue;
            if (!force) {
                return make_error(ErrorCode::PoolInUse,
                                  "delete pool " + key.name + ": it has the " +
                                      config::in_words(other) +
                                      "; delete that first, or both with --force");
            }
            erase(other, draft);
        }
    }
    if (key.kind == PolicyKind::queue) {
        if (const std::string below = queue_below(draft.objects, key, request.gone);
            !below.empty()) {
            return make_error(ErrorCode::Conflict, "delete " + config::in_words(key) + ": " +
                                                       below + " is below it; delete that first");
        }
    }
    if (!force) {
        if (std::optional<Error> used = use_of(state, key)) return *used;
    }
    if (key.kind == PolicyKind::name_space) {
        const PolicyKey quota{PolicyKind::quota, key.name};
        if (draft.objects.contains(quota)) erase(quota, draft);
    }
    erase(key, draft);
    return {};
}

void PolicyLayers::erase(const PolicyKey& key, Draft& draft) const {
    const auto known = draft.objects.find(key);
    if (known == draft.objects.end()) return;
    draft.event.gone.push_back({key, known->second.uid});
    draft.outcomes.push_back({key, "deleted", "", ""});
    draft.objects.erase(known);
}

bool PolicyLayers::names_node(const std::string& pool, const std::string& node) const {
    const PolicyObject* object = find({PolicyKind::pool, pool});
    if (object == nullptr) return false;
    const Result<config::PoolObject> read = config::pool_in(object->document);
    return read && read->nodes.contains(node);
}

// Nodes of pools that this change puts: each is known, and in no other pool.
Result<void> PolicyLayers::check_nodes(const config::MergedPolicy& merged,
                                       const PolicyRequest& request, const Draft& draft) const {
    const ClusterState& state = engine_.engine().state();
    std::vector<std::string> unknown;
    std::vector<std::string> taken;
    for (const auto& [name, member] : merged.nodes) {
        const auto is_put = [&, &pool = member.pool](const PolicyObject& one) {
            return one.key == PolicyKey{PolicyKind::pool, pool};
        };
        if (std::none_of(draft.event.put.begin(), draft.event.put.end(), is_put)) continue;
        const std::optional<std::string> in = pool_of_node(state, name);
        if (!in) {
            unknown.push_back(name);
            continue;
        }
        if (*in == member.pool || *in == kDefaultPool || request.moves_nodes) continue;
        if (names_node(*in, name)) continue;  // which this change ends
        taken.push_back(name + " (pool " + *in + ")");
    }
    if (!unknown.empty()) {
        return make_error(ErrorCode::NodeNotFound,
                          "there is no node " + list_of(unknown) +
                              "; `gpuctl get nodes` lists them; nothing was changed");
    }
    if (!taken.empty()) {
        return make_error(ErrorCode::Conflict,
                          "these nodes are in another pool: " + list_of(taken) +
                              "; take each out of it first; nothing was changed");
    }
    return {};
}

}  // namespace gpuctl::api
