#pragma once
// The virtual cluster of sim/ in real time: gpuctld's cluster when no Kubernetes is configured.
//
// Lifecycle: constructed from the journal's content, start() once, then events are sent until
// stop(). Thread: the loop's. The wall clock drives the cluster, whose time never goes back: after
// a step backwards it waits until the clock has caught up. Bounds: while the sink is full, events
// wait here and the cluster's time stops, so that only the events of one point in time ever wait.

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "aio/signal.hpp"
#include "aio/task_group.hpp"
#include "daemon/embedded/settings.hpp"
#include "ports/cluster.hpp"
#include "sim/cluster.hpp"
#include "sim/world.hpp"

namespace gpuctl::aio {
class Loop;
}

namespace gpuctl::embedded {

// One call into the virtual cluster. A recording of all calls and of the engine's inputs, replayed
// under a virtual clock, gives the same state.
struct Advanced {};
struct Call {
    Instant now;
    std::variant<Advanced, sim::SimInput, Effect> what;
};
using CallRecorder = std::function<void(const Call&)>;

class EmbeddedCluster final : public ports::Cluster, private ports::NodePools {
public:
    EmbeddedCluster(aio::Loop& loop, EmbeddedSettings settings, sim::World world,
                    CallRecorder recorder = {});
    ~EmbeddedCluster() override;

    void start(ports::EventSink& sink) override;
    void carry_out(const Effect& effect) override;
    [[nodiscard]] std::vector<ports::HealthLine> health() const override;
    [[nodiscard]] ports::LogSource& logs() override;
    aio::Task<Result<std::string>> cluster_id(aio::Deadline deadline) override;
    // Accepts every job.
    aio::Task<Result<void>> try_create(JobRecord job, Epoch epoch) override;
    // Its namespaces are names, until one is made.
    aio::Task<Result<void>> check_namespace(ports::NamespaceQuestion question,
                                            aio::Deadline deadline) override;
    // Its controllers have no problem to report.
    aio::Task<Result<std::string>> controller_trouble(ObjectKey job,
                                                      aio::Deadline deadline) override;
    [[nodiscard]] ports::NodePools* node_pools() override { return this; }
    // No other gpuctld can lead this cluster.
    aio::Task<void> hand_over(aio::Deadline /*deadline*/) override { co_return; }
    aio::Task<bool> stop(aio::Deadline deadline) override;

    // Faults of virtual machines: loss, return, cordon (sim/input.hpp).
    void disturb(const sim::SimInput& input);

    // Runs everything due by now, unless the sink is full or it would take a long turn.
    void catch_up();
    [[nodiscard]] const sim::Cluster& virtual_cluster() const { return cluster_; }
    // The time that the cluster has reached: the present, or the time at which a full sink stopped
    // it.
    [[nodiscard]] Instant simulated_until();
    // Notified after each call that changed the cluster.
    [[nodiscard]] aio::Signal& changed() { return changed_; }

private:
    // Before start(): for the nodes that it reports first.
    void assign(const ports::NodeMemberships& all) override;
    [[nodiscard]] std::vector<NodeFacts> configured_nodes() const;
    Instant clock();
    void record(Instant now, decltype(Call::what) what);
    void deliver();
    aio::Task<void> run();

    EmbeddedSettings settings_;
    sim::World world_;  // until start()
    CallRecorder recorder_;
    sim::Cluster cluster_;
    std::unique_ptr<ports::LogSource> logs_;
    ports::NodeMemberships memberships_;
    ports::EventSink* sink_ = nullptr;
    std::vector<Event> made_;  // by the call in progress
    std::deque<Event> undelivered_;
    Instant latest_;
    aio::Signal changed_;
    aio::TaskGroup tasks_;
    bool stopped_ = false;
};

}  // namespace gpuctl::embedded
