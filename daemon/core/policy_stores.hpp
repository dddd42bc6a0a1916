#pragma once
// Where objects of the policy are stored: in the journal, for an embedded cluster; in the cluster,
// where other clients write them, too (docs/adr/0049-policy-objects-on-kubernetes.md).
//
// Owner: the composition root. Thread: the loop's.

#include "daemon/core/engine_loop.hpp"
#include "ports/policy_store.hpp"

namespace gpuctl::core {

class JournaledPolicyStore final : public ports::PolicyStore {
public:
    // Both outlive this. `nodes` may be null: the cluster has its own pools.
    JournaledPolicyStore(EngineLoop& engine, ports::NodePools* nodes)
        : engine_(engine), nodes_(nodes) {}

    [[nodiscard]] std::optional<Error> refusal(PolicyKind) const override { return std::nullopt; }
    [[nodiscard]] bool has_other_writers() const override { return false; }
    aio::Task<Result<void>> write(ports::PolicyWrite wanted, aio::Deadline deadline) override;
    void assign(const ports::NodeMemberships& all) override;

private:
    EngineLoop& engine_;
    ports::NodePools* nodes_;
    ports::NodeMemberships assigned_;
};

class ClusterPolicyStore final : public ports::PolicyStore {
public:
    // All outlive this. `nodes` may be null: the cluster has its own pools.
    ClusterPolicyStore(EngineLoop& engine, ports::PolicyObjectPort& objects,
                       ports::NodePools* nodes)
        : engine_(engine), objects_(objects), nodes_(nodes) {}

    [[nodiscard]] std::optional<Error> refusal(PolicyKind kind) const override {
        return objects_.refusal(kind);
    }
    [[nodiscard]] bool has_other_writers() const override { return true; }
    // Answered once the cluster has reported what was written, and the engine has it.
    aio::Task<Result<void>> write(ports::PolicyWrite wanted, aio::Deadline deadline) override;
    void assign(const ports::NodeMemberships& all) override;

private:
    [[nodiscard]] bool has(const ports::PolicyObjectWritten& written) const;

    EngineLoop& engine_;
    ports::PolicyObjectPort& objects_;
    ports::NodePools* nodes_;
};

}  // namespace gpuctl::core
