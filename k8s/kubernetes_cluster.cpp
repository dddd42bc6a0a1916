#include "k8s/kubernetes_cluster.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "daemon/aio/loop.hpp"
#include "daemon/aio/signal.hpp"
#include "daemon/aio/task_group.hpp"
#include "k8s/controller_trouble.hpp"
#include "k8s/discovery.hpp"
#include "k8s/evictor.hpp"
#include "k8s/kubeconfig.hpp"
#include "k8s/kubernetes_cluster_feeds.hpp"
#include "k8s/kubernetes_health.hpp"
#include "k8s/log_stream.hpp"
#include "k8s/resizer.hpp"
#include "k8s/server_pulse.hpp"
#include "k8s/workload_maker.hpp"

namespace gpuctl::k8s {

namespace {

// Without a lease there is one daemon by agreement, and its term never ends.
struct OpenFence : WriteFence {
    [[nodiscard]] bool may_write(Epoch /*epoch*/) const override { return true; }
};
constexpr Epoch kOnlyEpoch{1};
// leaseTransitions of a Lease that was just made: nobody can have led before.
constexpr Epoch kFirstEpoch{1};

// What submitted jobs become (contract.md 4); only objects of ours are asked for.
constexpr std::array<std::string_view, 3> kWorkloadPaths{
    "/apis/batch/v1/jobs", "/apis/apps/v1/deployments", "/apis/apps/v1/statefulsets"};

InformerSettings informer_settings(std::string path, bool optional, std::uint64_t seed) {
    InformerSettings settings;
    settings.path = std::move(path);
    settings.optional = optional;
    settings.seed = seed;
    return settings;
}

std::string dialect_path(const GangDialect& dialect) {
    return "/apis/" + std::string(dialect.group) + "/" + std::string(dialect.version) + "/" +
           std::string(dialect.resource);
}

EventRecorderSettings recorder_settings(const KubernetesSettings& settings) {
    EventRecorderSettings recorder;
    recorder.failures = settings.failure_events;
    recorder.successes = settings.success_events;
    recorder.failures_per_second = settings.failure_events_per_second;
    recorder.successes_per_second = settings.success_events_per_second;
    recorder.instance = settings.lease.identity;
    recorder.seed = settings.seed;
    recorder.on_refusal = settings.on_event_refused;
    return recorder;
}

template <typename... Visitors>
struct Overloaded : Visitors... {
    using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace

struct KubernetesCluster::Parts {
    struct GangWatch {
        GangDialect dialect;
        std::unique_ptr<GangFeed> feed;
        std::unique_ptr<Informer> informer;
    };

    struct WorkloadWatch {
        std::unique_ptr<WorkloadFeed> feed;
        std::unique_ptr<Informer> informer;
    };

    Parts(aio::Loop& on, KubernetesSettings how, std::unique_ptr<Client> with);

    void on_synced();
    void on_return();
    void on_lease(bool leading, Epoch epoch);
    void begin_term(Epoch epoch);
    [[nodiscard]] bool all_synced() const;
    [[nodiscard]] bool in_term(Epoch epoch) const { return term == epoch; }
    void watch_gangs(const std::vector<GangDialect>& dialects);

    aio::Task<void> discover();
    aio::Task<void> take_over(Epoch epoch);
    aio::Task<bool> wait_for_lists(std::uint64_t pod_lists, std::uint64_t node_lists, Epoch epoch);

    aio::Loop& loop;
    KubernetesSettings settings;
    LabelKeys labels;
    std::unique_ptr<Client> client;
    OpenFence open_fence;
    aio::TaskGroup group;
    aio::Signal synced_or_term;
    ServerPulse pulse;
    Outbox outbox;
    StatusWriter writer;
    EventRecorder recorder;
    PodFeed pod_feed;
    NodeFeed node_feed;
    Informer pods;
    Informer nodes;
    std::vector<WorkloadWatch> workloads;
    std::vector<GangWatch> gangs;
    LeaseKeeper keeper;
    Binder binder;
    WorkloadMaker maker;
    Evictor evictor;
    Resizer resizer;
    KubernetesLogs logs;

    bool discovered = false;
    std::string discovery_error;
    bool synced_told = false;
    bool stopping = false;
    std::optional<Epoch> term;  // we hold the lease
    bool term_told = false;     // and the engine knows
};

KubernetesCluster::Parts::Parts(aio::Loop& on, KubernetesSettings how, std::unique_ptr<Client> with)
    : loop(on),
      settings(std::move(how)),
      labels(settings.label_prefix, settings.topology_labels, settings.unhealthy_conditions,
             settings.gpu_replicas),
      client(std::move(with)),
      group(loop),
      synced_or_term(loop),
      pulse(*client, {}, [this] { on_return(); }),
      outbox(loop),
      writer(loop, *client, settings.failure_events_per_second, {}, settings.on_condition_refused),
      recorder(loop, *client, recorder_settings(settings)),
      pod_feed(outbox, {settings.scheduler_name, labels}, writer, [this] { on_synced(); }),
      node_feed(outbox, labels, [this] { on_synced(); }),
      pods(loop, *client, informer_settings("/api/v1/pods", false, settings.seed + 1), pod_feed),
      nodes(loop, *client, informer_settings("/api/v1/nodes", false, settings.seed + 2), node_feed),
      keeper(
          loop, *client, settings.lease,
          [this](bool leading, Epoch epoch) { on_lease(leading, epoch); }, settings.seed + 3),
      binder(group, *client, {labels, settings.binds_in_flight_max, settings.bind_timeout},
             [this](BindOutcome outcome) {
                 if (outcome.result == BindResult::bound) writer.forget(outcome.uid);
                 outbox.deliver(std::move(outcome));
             }),
      maker(group, *client, {settings.scheduler_name, labels},
            [this](Event outcome) { outbox.deliver(std::move(outcome)); }),
      evictor(group, *client,
              [this](const EvictPod& order, PodEvictOutcome outcome) {
                  if (outcome.result == EvictResult::evicted) recorder.preempted(order);
                  outbox.deliver(std::move(outcome));
              }),
      resizer(group, *client, labels,
              [this](WorkloadResizeOutcome outcome) { outbox.deliver(std::move(outcome)); }),
      logs(*client) {
    for (const std::string_view path : kWorkloadPaths) {
        InformerSettings of_ours =
            informer_settings(std::string{path}, false, settings.seed + 4 + workloads.size());
        of_ours.label_selector = "app.kubernetes.io/managed-by=gpuctl";
        auto feed = std::make_unique<WorkloadFeed>(outbox, labels, settings.read_spec,
                                                   [this] { on_synced(); });
        auto informer = std::make_unique<Informer>(loop, *client, std::move(of_ours), *feed);
        workloads.push_back({std::move(feed), std::move(informer)});
    }
    client->set_fence(settings.lease_enabled ? static_cast<const WriteFence*>(&keeper)
                                             : &open_fence);
}

bool KubernetesCluster::Parts::all_synced() const {
    const auto is_listed = [](const auto& watch) { return watch.feed->lists() > 0; };
    return discovered && pod_feed.lists() > 0 && node_feed.lists() > 0 &&
           std::all_of(workloads.begin(), workloads.end(), is_listed) &&
           std::all_of(gangs.begin(), gangs.end(), is_listed);
}

void KubernetesCluster::Parts::on_synced() {
    if (!synced_told && all_synced()) {
        synced_told = true;
        outbox.deliver(CacheSynced{});
    }
    synced_or_term.notify_all();
}

void KubernetesCluster::Parts::on_return() {
    pods.try_now();
    nodes.try_now();
    for (const WorkloadWatch& workload : workloads) workload.informer->try_now();
    for (const GangWatch& gang : gangs) gang.informer->try_now();
}

void KubernetesCluster::Parts::on_lease(bool leading, Epoch epoch) {
    if (leading) {
        term = epoch;
        group.spawn("take over", take_over(epoch));
        return;
    }
    term.reset();
    writer.lead(std::nullopt);
    recorder.lead(std::nullopt);
    if (term_told) outbox.deliver(LeadershipChanged{false, epoch});
    term_told = false;
    synced_or_term.notify_all();
}

void KubernetesCluster::Parts::begin_term(Epoch epoch) {
    term_told = true;
    writer.lead(epoch);
    recorder.lead(epoch);
    outbox.deliver(LeadershipChanged{true, epoch});
}

// False: the term ended, or the daemon stops.
aio::Task<bool> KubernetesCluster::Parts::wait_for_lists(std::uint64_t pod_lists,
                                                         std::uint64_t node_lists, Epoch epoch) {
    constexpr std::chrono::seconds look_again{60};
    while (!synced_told || pod_feed.lists() < pod_lists || node_feed.lists() < node_lists) {
        const bool notified = co_await synced_or_term.wait(aio::Deadline::in(look_again));
        if (group.cancelled() || !in_term(epoch)) co_return false;
        if (!notified) continue;
    }
    co_return in_term(epoch);
}

aio::Task<void> KubernetesCluster::Parts::take_over(Epoch epoch) {
    const aio::Clock::time_point writes_from = std::max(aio::Clock::now(), keeper.writes_from());
    const aio::Deadline writes_over{writes_from + settings.lease.write_timeout()};
    bool ready = co_await wait_for_lists(1, 1, epoch);
    if (!ready) co_return;
    if (epoch == kFirstEpoch && !pod_feed.has_seen_bound()) {
        keeper.write_at_once();
    } else {
        // Somebody led before us, perhaps under a lease that was deleted meanwhile: what they sent
        // last may still be on its way (A2b).
        const bool running = co_await aio::sleep_until(writes_over);
        if (!running || !in_term(epoch)) co_return;
        const std::uint64_t pod_lists = pod_feed.lists() + 1;
        const std::uint64_t node_lists = node_feed.lists() + 1;
        pods.request_relist();
        nodes.request_relist();
        ready = co_await wait_for_lists(pod_lists, node_lists, epoch);
        if (!ready) co_return;
    }
    begin_term(epoch);
}

void KubernetesCluster::Parts::watch_gangs(const std::vector<GangDialect>& dialects) {
    for (const GangDialect& dialect : dialects) {
        const bool watched = std::any_of(gangs.begin(), gangs.end(), [&](const GangWatch& gang) {
            return gang.dialect.group == dialect.group;
        });
        if (watched) continue;
        auto feed = std::make_unique<GangFeed>(outbox, dialect.field, [this] { on_synced(); });
        auto informer = std::make_unique<Informer>(
            loop, *client,
            informer_settings(dialect_path(dialect), true, settings.seed + 10 + gangs.size()),
            *feed);
        gangs.push_back({dialect, std::move(feed), std::move(informer)});
        group.spawn("watch " + std::string(dialect.group), gangs.back().informer->run());
    }
}

aio::Task<void> KubernetesCluster::Parts::discover() {
    for (;;) {
        auto dialects =
            co_await discover_gang_dialects(*client, aio::Deadline::in(std::chrono::seconds{10}));
        if (dialects) {
            discovery_error.clear();
            watch_gangs(*dialects);
            if (!discovered) {
                discovered = true;
                on_synced();
            }
        } else {
            discovery_error = dialects.error().message;
        }
        const auto pause = discovered ? settings.rediscover : std::chrono::milliseconds{1'000};
        const bool running = co_await aio::sleep_until(aio::Deadline::in(pause));
        if (!running) co_return;
    }
}

KubernetesCluster::KubernetesCluster(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
KubernetesCluster::~KubernetesCluster() = default;

Result<std::unique_ptr<KubernetesCluster>> KubernetesCluster::create(aio::Loop& loop,
                                                                     KubernetesSettings settings) {
    const bool inside = settings.kubeconfig.empty();
    auto access =
        inside ? in_cluster_access(process_environment())
               : load_kubeconfig({settings.kubeconfig, settings.context}, process_environment());
    if (!access) return access.error();
    if (settings.lease.identity.empty()) settings.lease.identity = make_lease_identity();
    if (settings.lease_enabled) {
        if (auto valid = validate(settings.lease); !valid) return valid.error();
        // A2: what a deposed leader sent is over before its successor begins.
        settings.bind_timeout = std::min(settings.bind_timeout, settings.lease.write_timeout());
    }
    ClientSettings with;
    with.user_agent = user_agent("gpuctld", settings.version, "unknown");
    with.binds_in_flight_max = settings.binds_in_flight_max;
    with.write_timeout = settings.bind_timeout;
    with.seed = settings.seed;
    auto client = Client::create(loop, std::move(*access), with);
    if (!client) return client.error();
    return std::unique_ptr<KubernetesCluster>(new KubernetesCluster(
        std::make_unique<Parts>(loop, std::move(settings), std::move(*client))));
}

void KubernetesCluster::start(ports::EventSink& sink) {
    Parts& parts = *parts_;
    parts.outbox.attach(sink);
    parts.group.spawn("outbox", parts.outbox.run());
    parts.group.spawn("pulse", parts.pulse.run());
    parts.group.spawn("watch pods", parts.pods.run());
    parts.group.spawn("watch nodes", parts.nodes.run());
    for (const Parts::WorkloadWatch& workload : parts.workloads) {
        parts.group.spawn("watch workloads", workload.informer->run());
    }
    parts.group.spawn("discover", parts.discover());
    parts.group.spawn("conditions", parts.writer.run());
    parts.group.spawn("events", parts.recorder.run());
    if (parts.settings.lease_enabled) {
        parts.group.spawn("lease", parts.keeper.run());
    } else {
        parts.term = kOnlyEpoch;
        parts.begin_term(kOnlyEpoch);
    }
}

void KubernetesCluster::carry_out(const Effect& effect) {
    Parts& parts = *parts_;
    if (parts.stopping) return;
    std::visit(
        Overloaded{[&](const BindPod& order) { parts.binder.bind(order); },
                   [&](const DeletePod& order) {
                       parts.maker.delete_pod(order, parts.pod_feed.has_controller(order.pod.uid));
                   },
                   [&](const EvictPod& order) {
                       parts.evictor.evict(order, parts.pod_feed.has_controller(order.pod.uid));
                   },
                   [&](const CreateWorkload& order) { parts.maker.create(order); },
                   [&](const DeleteWorkload& order) { parts.maker.remove(order); },
                   [&](const ResizeWorkload& order) { parts.resizer.resize(order); },
                   [&](const ReportPending& report) {
                       parts.writer.want(report);
                       parts.recorder.pending(report);
                   },
                   [&](const ReportStarted& report) {
                       for (const PodReference& pod : report.pods) parts.writer.forget(pod.uid);
                       parts.recorder.started(report);
                   },
                   // The daemon's loop keeps the time.
                   [](const WakeAt&) {}},
        effect);
}

std::vector<ports::HealthLine> KubernetesCluster::health() const {
    const Parts& parts = *parts_;
    const auto& pods = parts.pods.figures();
    const auto& nodes = parts.nodes.figures();
    std::vector<std::string> errors{parts.discovery_error, pods.last_error, nodes.last_error};
    for (const Parts::WorkloadWatch& workload : parts.workloads) {
        errors.push_back(workload.informer->figures().last_error);
    }
    std::vector<ports::HealthLine> lines{
        server_health(parts.pulse, pods.last_error),
        cache_health(parts.synced_told, pods.objects, nodes.objects, errors)};
    if (parts.settings.lease_enabled) {
        lines.push_back(lease_health(parts.keeper.view(), parts.term_told));
    }
    return lines;
}

ports::LogSource& KubernetesCluster::logs() { return parts_->logs; }

aio::Task<Result<std::string>> KubernetesCluster::cluster_id(aio::Deadline deadline) {
    auto answer = co_await parts_->client->get("/api/v1/namespaces/kube-system", deadline);
    if (!answer) {
        co_return while_doing("ask for the uid of namespace kube-system", answer.error());
    }
    const auto identity = identity_of(answer->body);
    if (!identity || identity->uid.empty()) {
        co_return make_error(ErrorCode::InvalidJson, "namespace kube-system came without a uid");
    }
    co_return identity->uid;
}

aio::Task<Result<void>> KubernetesCluster::try_create(JobRecord job, Epoch epoch) {
    return parts_->maker.try_create(std::move(job), epoch);
}

aio::Task<Result<std::string>> KubernetesCluster::controller_trouble(ObjectKey job,
                                                                     aio::Deadline deadline) {
    std::string uid;
    for (const Parts::WorkloadWatch& workload : parts_->workloads) {
        if (uid.empty()) uid = workload.feed->uid_of(job);
    }
    return ask_for_trouble(*parts_->client, std::move(job), std::move(uid), deadline);
}

aio::Task<bool> KubernetesCluster::stop(aio::Deadline deadline) {
    Parts& parts = *parts_;
    parts.stopping = true;
    // Writes first: the lease must not be given away before the last of them has ended (A1).
    constexpr std::chrono::milliseconds look_again{10};
    bool idle = parts.binder.idle() && parts.maker.idle() && parts.evictor.idle();
    while (!idle && !deadline.passed()) {
        const bool running = co_await aio::sleep_until(aio::Deadline::in(look_again));
        if (!running) break;
        idle = parts.binder.idle() && parts.maker.idle() && parts.evictor.idle();
    }
    parts.writer.lead(std::nullopt);
    parts.recorder.lead(std::nullopt);
    // Best effort: an unreleased lease expires by itself.
    if (idle && parts.settings.lease_enabled) (void)co_await parts.keeper.release(deadline);
    parts.group.cancel();
    const bool joined =
        co_await parts.group.join(aio::Deadline{deadline.at() + std::chrono::seconds{1}});
    co_return idle&& joined;
}

KubernetesFigures KubernetesCluster::figures() const {
    const Parts& parts = *parts_;
    KubernetesFigures figures;
    figures.client = parts.client->figures();
    figures.pods = parts.pods.figures();
    figures.nodes = parts.nodes.figures();
    figures.binds = parts.binder.figures();
    figures.conditions = parts.writer.figures();
    figures.events = parts.recorder.figures();
    figures.lease = parts.keeper.view();
    figures.pod_updates_told = parts.pod_feed.figures().told;
    figures.pod_updates_unchanged = parts.pod_feed.figures().unchanged;
    figures.objects_unreadable =
        parts.pod_feed.figures().unreadable + parts.node_feed.figures().unreadable;
    figures.events_undelivered = parts.outbox.waiting();
    return figures;
}

}  // namespace gpuctl::k8s
