#pragma once
// The layers of the policy: the configuration file and the objects in the engine's state. Checks
// and makes every change of either, one after another.
//
// Lifecycle: start() once, after the journal was replayed and before the cluster starts. Owner: the
// composition root. Thread: the loop's. Bounds: kPolicyObjectsMaximum; changes that wait for an
// earlier one have the deadline of their request.

#include <optional>
#include <string>
#include <vector>

#include "aio/signal.hpp"
#include "daemon/core/engine_loop.hpp"
#include "policy_document/objects/layers.hpp"
#include "ports/policy_store.hpp"

namespace gpuctl::api {

enum class PutMode : std::uint8_t {
    create,  // an object of that name is an error
    apply,   // it is changed
    update   // there must be one
};

struct PolicyRequest {
    std::vector<config::ObjectDraft> put;
    std::vector<PolicyKey> gone;
    PutMode mode = PutMode::create;
    std::uint64_t version = 0;  // of the object that is changed; 0: any
    bool force = false;         // delete what is in use
    bool moves_nodes = false;   // also nodes of other pools
    bool dry_run = false;
};

// What a request did, or would do, to one object.
struct PolicyOutcome {
    PolicyKey key;
    const char* action = "";  // created, updated, unchanged, deleted
    std::string document;     // empty: deleted
    std::string note;         // what the client should know
};

class PolicyLayers {
public:
    using Objects = std::map<PolicyKey, PolicyObject>;
    using Problems = std::map<PolicyKey, config::ObjectProblem>;

    // All outlive this.
    PolicyLayers(aio::Loop& loop, core::EngineLoop& engine, ports::PolicyStore& store)
        : engine_(engine), store_(store), free_(loop) {}

    // Changes nothing; commit() makes it the engine's.
    Result<config::MergedPolicy> merge(const config::FileLayer& file) const;
    void commit(config::FileLayer file, config::MergedPolicy merged);
    // All objects, as a cluster with other writers reports them: the policy follows from those that
    // can be used.
    void use(Objects reported);
    // Why objects that other clients wrote are not used as they are.
    [[nodiscard]] const Problems& problems() const { return problems_; }

    // All or nothing.
    aio::Task<Result<std::vector<PolicyOutcome>>> change(PolicyRequest request,
                                                         aio::Deadline deadline);

    [[nodiscard]] const config::FileLayer& file() const { return file_; }
    [[nodiscard]] const Objects& objects() const;
    [[nodiscard]] const PolicyObject* find(const PolicyKey& key) const;
    // "file", "api", "crd"; "" for what neither has.
    [[nodiscard]] std::string source_of(const PolicyKey& key) const;

private:
    struct Draft {        // of a change
        Objects objects;  // as they will be
        PolicyObjectsChanged event;
        std::vector<PolicyOutcome> outcomes;
        Instant now;
    };

    aio::Task<Result<std::vector<PolicyOutcome>>> change_now(PolicyRequest request,
                                                             aio::Deadline deadline);
    [[nodiscard]] std::optional<Error> refusal(const PolicyRequest& request) const;
    [[nodiscard]] Result<config::MergedPolicy> merge_draft(const Draft& draft) const;
    Result<void> put(const PolicyRequest& request, Draft& draft) const;
    Result<void> put_one(const config::ObjectDraft& wanted, const PolicyRequest& request,
                         Draft& draft) const;
    Result<void> remove(const PolicyRequest& request, Draft& draft) const;
    Result<void> remove_one(const PolicyKey& key, const PolicyRequest& request, Draft& draft) const;
    void erase(const PolicyKey& key, Draft& draft) const;
    Result<void> check_nodes(const config::MergedPolicy& merged, const PolicyRequest& request,
                             const Draft& draft) const;
    [[nodiscard]] bool names_node(const std::string& pool, const std::string& node) const;
    void add_namespace_of_quota(const PolicyKey& key, Draft& draft) const;
    [[nodiscard]] Error managed_by_file(const PolicyKey& key, const char* doing) const;

    core::EngineLoop& engine_;
    ports::PolicyStore& store_;
    config::FileLayer file_;
    aio::Signal free_;
    bool is_busy_ = false;
    std::optional<Objects> in_flight_;  // as they will be
    std::optional<Objects> reported_;   // as a cluster reported them last
    Problems problems_;
    std::optional<Policy> policy_;  // that follows from the reported objects
};

// The policy of a file and of stored objects. InvalidConfiguration: they do not go together, which
// with objects of other clients leaves them out instead.
Result<config::MergedPolicy> merge_with_file(const config::FileLayer& file,
                                             const std::map<PolicyKey, PolicyObject>& objects,
                                             bool has_other_writers);

ports::NodeMemberships memberships(const config::MergedPolicy& merged);

// PoolNotFound, QuotaNotFound ...
Error not_found(const PolicyKey& key);

}  // namespace gpuctl::api
