#pragma once
// Where objects of the policy are stored: in the journal, for a cluster whose nodes gpuctld assigns
// to pools; nowhere, for a cluster that has no objects of ours.
//
// Owner: the composition root. Thread: the loop's.

#include "daemon/core/engine_loop.hpp"
#include "ports/policy_store.hpp"

namespace gpuctl::core {

class JournaledPolicyStore final : public ports::PolicyStore {
public:
    // Both outlive this.
    JournaledPolicyStore(EngineLoop& engine, ports::NodePools& nodes)
        : engine_(engine), nodes_(nodes) {}

    [[nodiscard]] std::optional<Error> refusal() const override { return std::nullopt; }
    aio::Task<Result<void>> write(ports::PolicyWrite wanted, aio::Deadline deadline) override;
    void assign(const ports::NodeMemberships& all) override;

private:
    EngineLoop& engine_;
    ports::NodePools& nodes_;
    ports::NodeMemberships assigned_;
};

class NoPolicyStore final : public ports::PolicyStore {
public:
    [[nodiscard]] std::optional<Error> refusal() const override;
    aio::Task<Result<void>> write(ports::PolicyWrite wanted, aio::Deadline deadline) override;
    void assign(const ports::NodeMemberships&) override {}
};

}  // namespace gpuctl::core
