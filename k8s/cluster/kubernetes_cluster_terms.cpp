// How a KubernetesCluster lists everything, and how its terms of leadership begin and end.

#include <algorithm>
#include <utility>

#include "aio/loop.hpp"
#include "k8s/cluster/kubernetes_cluster_parts.hpp"

namespace gpuctl::k8s {

namespace {

// leaseTransitions of a new Lease: no process can have led before.
constexpr Epoch kFirstEpoch{1};
// The first lists wait this long for the first answer about the lease.
constexpr std::chrono::milliseconds kFirstAnswer{1'000};
// How long requests of a killed process may still take effect: its connections are cut, and the API
// server drops requests that it has not passed to its store.
constexpr std::chrono::milliseconds kWritesOfTheDead{500};

}  // namespace

InformerSettings informer_settings(std::string path, std::uint64_t seed) {
    InformerSettings settings;
    settings.path = std::move(path);
    settings.seed = seed;
    return settings;
}

bool KubernetesCluster::Parts::all_synced() const {
    return pod_feed.lists() > 0 && node_feed.lists() > 0 && side_watches.is_listed();
}

void KubernetesCluster::Parts::on_synced() {
    if (side_watches.are_volumes_listed()) pod_feed.volumes_are_read();
    if (!synced_reported && all_synced()) {
        synced_reported = true;
        outbox.deliver(CacheSynced{});
    }
    synced_or_term.notify_all();
}

void KubernetesCluster::Parts::on_return() {
    pods.try_now();
    nodes.try_now();
    side_watches.try_now();
}

void KubernetesCluster::Parts::on_lease(bool leading, Epoch epoch) {
    if (leading) {
        term = epoch;
        group.spawn("take over", take_over(epoch, !listing));
        return;
    }
    term.reset();
    writer.lead(std::nullopt);
    recorder.lead(std::nullopt);
    policy.lead(std::nullopt);
    if (term_reported) outbox.deliver(LeadershipChanged{false, epoch});
    term_reported = false;
    synced_or_term.notify_all();
}

void KubernetesCluster::Parts::begin_term(Epoch epoch) {
    term_reported = true;
    writer.lead(epoch);
    recorder.lead(epoch);
    policy.lead(epoch);
    outbox.deliver(LeadershipChanged{true, epoch});
}

// False: the term ended, or the daemon stops.
aio::Task<bool> KubernetesCluster::Parts::wait_for_lists(std::uint64_t pod_lists,
                                                         std::uint64_t node_lists, Epoch epoch) {
    constexpr std::chrono::seconds look_again{60};
    while (!synced_reported || pod_feed.lists() < pod_lists || node_feed.lists() < node_lists) {
        const bool notified = co_await synced_or_term.wait(aio::Deadline::in(look_again));
        if (group.cancelled() || !in_term(epoch)) co_return false;
        if (!notified) continue;
    }
    co_return in_term(epoch);
}

aio::Task<void> KubernetesCluster::Parts::watch_all() {
    if (settings.lease_enabled) {
        (void)co_await keeper.first_round(aio::Deadline::in(kFirstAnswer));
    }
    if (group.cancelled()) co_return;
    listing = true;
    group.spawn("watch pods", pods.run());
    group.spawn("watch nodes", nodes.run());
    side_watches.start();
}

// How long writes of the previous term may still be in flight. Where the Lease was deleted,
// writes_from() says when a leader under the old Lease has stopped.
std::chrono::milliseconds KubernetesCluster::Parts::wait_for_writes() const {
    switch (keeper.before()) {
        case LeaseMachine::Before::released:
            return std::chrono::milliseconds{0};
        case LeaseMachine::Before::died:
            return std::min(kWritesOfTheDead, settings.lease.write_timeout());
        case LeaseMachine::Before::unknown:
            break;
    }
    return settings.lease.write_timeout();
}

aio::Task<void> KubernetesCluster::Parts::take_over(Epoch epoch, bool lists_are_to_come) {
    const aio::Clock::time_point writes_from = std::max(aio::Clock::now(), keeper.writes_from());
    const aio::Deadline writes_over{writes_from + wait_for_writes()};
    // Lists that begin after the previous leader stopped writing are current; its last writes come
    // through the watches while writes_over is awaited.
    const bool lists_are_new =
        lists_are_to_come && keeper.before() != LeaseMachine::Before::unknown;
    bool ready = co_await wait_for_lists(1, 1, epoch);
    if (!ready) co_return;
    if (epoch == kFirstEpoch && !pod_feed.has_seen_bound()) {
        keeper.write_at_once();
        co_return begin_term(epoch);
    }
    // Another process led before, perhaps under a deleted Lease: its last writes may still be in
    // flight.
    const bool running = co_await aio::sleep_until(writes_over);
    if (!running || !in_term(epoch)) co_return;
    if (!lists_are_new) {
        const std::uint64_t pod_lists = pod_feed.lists() + 1;
        const std::uint64_t node_lists = node_feed.lists() + 1;
        pods.request_relist();
        nodes.request_relist();
        ready = co_await wait_for_lists(pod_lists, node_lists, epoch);
        if (!ready) co_return;
    }
    begin_term(epoch);
}

void KubernetesCluster::Parts::report_bound(const std::string& uid) {
    const auto now = aio::Clock::now();
    writer.binding(now);
    recorder.binding(now);
    writer.forget(uid);
    recorder.forget(uid);
}

}  // namespace gpuctl::k8s
