#include "k8s/cluster/kubernetes_cluster.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "aio/loop.hpp"
#include "k8s/auth/kubeconfig.hpp"
#include "k8s/cluster/cluster_events.hpp"
#include "k8s/cluster/controller_trouble.hpp"
#include "k8s/cluster/kubernetes_cluster_parts.hpp"
#include "k8s/cluster/kubernetes_health.hpp"
#include "k8s/cluster/label_migration.hpp"
#include "k8s/cluster/namespace_check.hpp"
#include "k8s/cluster/node_port.hpp"

namespace gpuctl::k8s {

namespace {

constexpr Epoch kOnlyEpoch{1};

// While no pod is being bound, the rate of writes about pods is this many times higher.
constexpr std::int64_t kQuietConditions = 5;
constexpr std::int64_t kQuietEvents = 10;

EventRecorderSettings recorder_settings(const KubernetesSettings& settings) {
    EventRecorderSettings recorder;
    recorder.failures = settings.failure_events;
    recorder.successes = settings.success_events;
    recorder.failures_per_second = settings.failure_events_per_second;
    recorder.successes_rate = {settings.success_events_per_second, kQuietEvents};
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

KubernetesCluster::Parts::Parts(aio::Loop& on, KubernetesSettings how, std::unique_ptr<Client> with)
    : loop(on),
      settings(std::move(how)),
      labels(settings.label_prefix, settings.topology_labels, settings.unhealthy_conditions,
             settings.gpu_replicas),
      client(std::move(with)),
      group(loop),
      synced_or_term(loop),
      probe(*client, {}, [this] { on_return(); }),
      outbox(loop),
      writer(loop, *client, {settings.conditions_per_second, kQuietConditions}, {},
             settings.on_condition_refused),
      recorder(loop, *client, recorder_settings(settings)),
      pod_feed(outbox, {settings.scheduler_name, labels}, {writer, recorder}, volumes,
               [this] { on_synced(); }),
      node_feed(outbox, labels, [this] { on_synced(); }),
      pods(loop, *client, informer_settings("/api/v1/pods", settings.seed + 1), pod_feed),
      nodes(loop, *client, informer_settings("/api/v1/nodes", settings.seed + 2), node_feed),
      side_watches(loop, *client, group, outbox, volumes,
                   {labels, settings.read_spec, settings.rediscover, settings.seed + 4,
                    [this] { policy.object_shown(); }, settings.on_no_policy_kinds},
                   [this] { on_synced(); }),
      policy(loop, group, *client,
             {labels, settings.lease.identity, settings.on_pool_label_restored},
             {side_watches, node_feed}, [this] { return term; }),
      keeper(
          loop, *client, settings.lease,
          [this](bool leading, Epoch epoch) { on_lease(leading, epoch); }, settings.seed + 3),
      binder(group, *client, {labels, settings.binds_in_flight_max, settings.bind_timeout},
             [this](BindOutcome outcome) {
                 if (outcome.result == BindResult::bound) report_bound(outcome.uid);
                 outbox.deliver(std::move(outcome));
             }),
      maker(group, *client,
            {settings.scheduler_name, labels, settings.pod_defaults,
             [this](const JobSpec& spec) { return node_feed.networks().of(spec); }},
            [this](Event outcome) { outbox.deliver(std::move(outcome)); }),
      evictor(group, *client,
              [this](const EvictPod& order, PodEvictOutcome outcome) {
                  if (outcome.result == EvictResult::evicted) recorder.preempted(order);
                  outbox.deliver(std::move(outcome));
              }),
      resizer(group, *client, labels,
              [this](WorkloadResizeOutcome outcome) { outbox.deliver(std::move(outcome)); }),
      node_writer(
          group, *client, [this](const std::string& name) { return node_feed.find(name); },
          [this](NodeChangeOutcome outcome) { outbox.deliver(std::move(outcome)); }),
      logs(*client),
      sessions(*client) {
    client->set_fence(settings.lease_enabled ? static_cast<const WriteFence*>(&keeper)
                                             : &open_fence);
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
    if (settings.lease.identity.empty()) {
        settings.lease.identity = make_lease_identity(settings.pod);
    }
    if (settings.lease_enabled) {
        if (auto valid = validate(settings.lease); !valid) return valid.error();
        // A write of a deposed leader must end before its successor begins to write.
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
    parts.group.spawn("probe", parts.probe.run());
    parts.group.spawn("watch", parts.watch_all());
    parts.group.spawn("conditions", parts.writer.run());
    parts.group.spawn("events", parts.recorder.run());
    parts.policy.start();
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
                   [&](const UpdateWorkload& order) { parts.maker.update(order); },
                   [&](const ChangeNode& order) { parts.node_writer.change(order); },
                   [](const DropDetails&) {},  // users own these objects
                   [&](const ReportPending& report) {
                       parts.writer.want(report);
                       parts.recorder.pending(report);
                   },
                   [&](const ReportStarted& report) {
                       for (const PodReference& pod : report.pods) parts.writer.forget(pod.uid);
                       parts.recorder.started(report);
                   },
                   // The daemon's loop has the timer.
                   [](const WakeAt&) {}},
        effect);
}

std::vector<ports::HealthLine> KubernetesCluster::health() const {
    const Parts& parts = *parts_;
    const auto& pods = parts.pods.figures();
    const auto& nodes = parts.nodes.figures();
    std::vector<std::string> errors = parts.side_watches.errors();
    errors.push_back(pods.last_error);
    errors.push_back(nodes.last_error);
    std::vector<ports::HealthLine> lines{
        server_health(parts.probe, pods.last_error),
        cache_health(parts.synced_reported, pods.objects, nodes.objects, errors)};
    if (parts.settings.lease_enabled) {
        lines.push_back(lease_health(parts.keeper.view(), parts.term_reported));
    }
    return lines;
}

ports::LogSource& KubernetesCluster::logs() { return parts_->logs; }

ports::SessionSource* KubernetesCluster::sessions() { return &parts_->sessions; }

ports::NodePools* KubernetesCluster::node_pools() { return &parts_->policy; }

ports::PolicyObjectPort* KubernetesCluster::policy_objects() { return &parts_->policy; }

aio::Task<Result<std::string>> KubernetesCluster::cluster_id(aio::Deadline deadline) {
    auto answer = co_await parts_->client->get("/api/v1/namespaces/kube-system", deadline);
    if (!answer) {
        co_return while_doing("read the uid of namespace kube-system", answer.error());
    }
    const auto identity = identity_of(answer->body);
    if (!identity || identity->uid.empty()) {
        co_return make_error(ErrorCode::InvalidJson, "namespace kube-system has no uid");
    }
    co_return identity->uid;
}

aio::Task<Result<void>> KubernetesCluster::try_create(JobRecord job, Epoch epoch) {
    return parts_->maker.try_create(std::move(job), epoch);
}

aio::Task<Result<void>> KubernetesCluster::check_namespace(ports::NamespaceQuestion question,
                                                           aio::Deadline deadline) {
    return k8s::check_namespace(*parts_->client, parts_->labels, std::move(question), deadline);
}

aio::Task<Result<ports::ClusterEvents>> KubernetesCluster::events(std::string namespace_name,
                                                                  aio::Deadline deadline) {
    return list_events(*parts_->client, parts_->events_read, std::move(namespace_name), deadline);
}

aio::Task<Result<ports::MigratedLabels>> KubernetesCluster::migrate_labels(
    ports::LabelMigration order, aio::Deadline deadline) {
    return k8s::migrate_labels(*parts_->client, parts_->labels, order, deadline);
}

aio::Task<Result<std::string>> KubernetesCluster::controller_trouble(ObjectKey job,
                                                                     aio::Deadline deadline) {
    std::string uid = parts_->side_watches.uid_of(job);
    return read_controller_trouble(*parts_->client, std::move(job), std::move(uid), deadline);
}

aio::Task<Result<ports::Orphans>> KubernetesCluster::remove_orphans(ObjectKey job, bool force,
                                                                    Epoch epoch) {
    return parts_->maker.remove_orphans(std::move(job), force, epoch);
}

aio::Task<Result<std::int32_t>> KubernetesCluster::node_port(ObjectKey job,
                                                             aio::Deadline deadline) {
    return read_node_port(*parts_->client, std::move(job), deadline);
}

aio::Task<void> KubernetesCluster::hand_over(aio::Deadline deadline) {
    Parts& parts = *parts_;
    if (std::exchange(parts.stopping, true)) co_return;
    // Writes first: the lease must not be released before the last of them has ended.
    constexpr std::chrono::milliseconds look_again{10};
    const auto is_idle = [&] {
        return parts.binder.idle() && parts.maker.idle() && parts.evictor.idle() &&
               parts.resizer.idle() && parts.node_writer.idle() && parts.policy.idle();
    };
    parts.writes_ended = is_idle();
    while (!parts.writes_ended && !deadline.passed()) {
        const bool running = co_await aio::sleep_until(aio::Deadline::in(look_again));
        if (!running) break;
        parts.writes_ended = is_idle();
    }
    parts.writer.lead(std::nullopt);
    parts.recorder.lead(std::nullopt);
    parts.policy.lead(std::nullopt);
    // Best effort: a lease that is not released expires.
    const bool releases = parts.writes_ended && parts.settings.lease_enabled;
    if (releases) (void)co_await parts.keeper.release(deadline);
}

aio::Task<bool> KubernetesCluster::stop(aio::Deadline deadline) {
    Parts& parts = *parts_;
    co_await hand_over(deadline);
    parts.group.cancel();
    const bool joined =
        co_await parts.group.join(aio::Deadline{deadline.at() + std::chrono::seconds{1}});
    co_return parts.writes_ended&& joined;
}

KubernetesFigures KubernetesCluster::figures() const {
    const Parts& parts = *parts_;
    KubernetesFigures figures;
    figures.client = parts.client->figures();
    figures.pods = parts.pods.figures();
    figures.nodes = parts.nodes.figures();
    figures.events = parts.recorder.figures();
    figures.lease = parts.keeper.view();
    return figures;
}

}  // namespace gpuctl::k8s
