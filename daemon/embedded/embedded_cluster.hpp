#pragma once
// The virtual cluster of sim/ in real time: gpuctld's cluster when no Kubernetes is configured.
//
// Lifecycle: constructed from what the journal gave back, start() once, then events flow until
// stop(). Thread: the loop's. The wall clock drives the cluster and never goes back here: a step
// backwards holds it still until the clock has caught up.
// Bounds: while the sink is full, events wait here and the cluster's time stands still, so that no
// more than one moment's events ever wait.

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "daemon/aio/signal.hpp"
#include "daemon/aio/task_group.hpp"
#include "daemon/embedded/settings.hpp"
#include "daemon/ports/cluster.hpp"
#include "sim/cluster.hpp"
#include "sim/world.hpp"

namespace gpuctl::aio {
class Loop;
}

namespace gpuctl::embedded {

// One call into the virtual cluster. A recording of all of them and of the engine's inputs replays
// under a virtual clock to the same state (ruling 31).
struct Advanced {};
struct Call {
    Instant now;
    std::variant<Advanced, sim::SimInput, Effect> what;
};
using CallRecorder = std::function<void(const Call&)>;

class EmbeddedCluster final : public ports::Cluster {
public:
    EmbeddedCluster(aio::Loop& loop, EmbeddedSettings settings, sim::World world,
                    CallRecorder recorder = {});
    ~EmbeddedCluster() override;

    void start(ports::EventSink& sink) override;
    void carry_out(const Effect& effect) override;
    [[nodiscard]] std::vector<ports::HealthLine> health() const override;
    [[nodiscard]] ports::LogSource& logs() override;
    aio::Task<Result<std::string>> cluster_id(aio::Deadline deadline) override;
    // Takes everything.
    aio::Task<Result<void>> try_create(JobRecord job, Epoch epoch) override;
    // Its controllers have none.
    aio::Task<Result<std::string>> controller_trouble(ObjectKey job,
                                                      aio::Deadline deadline) override;
    // No other gpuctld can lead this cluster.
    aio::Task<void> hand_over(aio::Deadline /*deadline*/) override { co_return; }
    aio::Task<bool> stop(aio::Deadline deadline) override;

    // What happens to virtual machines: loss, return, cordon (sim/input.hpp).
    void disturb(const sim::SimInput& input);

    // Everything due by now has happened, unless the sink is full or it would take a long turn.
    void catch_up();
    [[nodiscard]] const sim::Cluster& virtual_cluster() const { return cluster_; }
    // Up to when the cluster has lived: the present, or the moment at which a full sink stopped it.
    [[nodiscard]] Instant lived_until();
    // Notified after each call that changed something.
    [[nodiscard]] aio::Signal& changed() { return changed_; }

private:
    Instant clock();
    void record(Instant now, decltype(Call::what) what);
    void deliver();
    aio::Task<void> run();

    EmbeddedSettings settings_;
    sim::World world_;  // until start()
    CallRecorder recorder_;
    sim::Cluster cluster_;
    std::unique_ptr<ports::LogSource> logs_;
    ports::EventSink* sink_ = nullptr;
    std::vector<Event> made_;  // by the call in progress
    std::deque<Event> undelivered_;
    Instant latest_;
    aio::Signal changed_;
    aio::TaskGroup tasks_;
    bool stopped_ = false;
};

}  // namespace gpuctl::embedded
