#include "k8s/cluster/side_watches.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "aio/loop.hpp"

namespace gpuctl::k8s {

namespace {

// The kinds made for submitted jobs; a label selector limits the watch to our objects.
constexpr std::array<std::string_view, 3> kWorkloadPaths{
    "/apis/batch/v1/jobs", "/apis/apps/v1/deployments", "/apis/apps/v1/statefulsets"};
constexpr const char* kOfOurs = "app.kubernetes.io/managed-by=gpuctl";

// After config/crds.yaml was applied, the next command follows soon.
constexpr std::chrono::milliseconds kPolicyKindsSoon{10'000};

std::string path_of(const GangDialect& dialect) {
    return "/apis/" + std::string(dialect.group) + "/" + std::string(dialect.version) + "/" +
           std::string(dialect.resource);
}

}  // namespace

SideWatches::SideWatches(aio::Loop& loop, Client& client, aio::TaskGroup& group, Outbox& outbox,
                         Volumes& volumes, SideWatchSettings settings, Feed::OnSynced on_synced)
    : loop_(loop),
      client_(client),
      group_(group),
      outbox_(outbox),
      settings_(std::move(settings)),
      on_synced_(std::move(on_synced)) {
    for (const std::string_view path : kWorkloadPaths) {
        auto feed = std::make_unique<WorkloadFeed>(outbox_, settings_.labels, settings_.read_spec,
                                                   on_synced_);
        workloads_.push_back(feed.get());
        watch(std::string{path}, std::move(feed), kOfOurs, false);
    }
    volumes_.push_back(watch("/api/v1/persistentvolumeclaims",
                             std::make_unique<ClaimFeed>(outbox_, volumes, on_synced_), "", false)
                           .feed.get());
    volumes_.push_back(watch("/api/v1/persistentvolumes",
                             std::make_unique<VolumeFeed>(outbox_, volumes, on_synced_), "", false)
                           .feed.get());
    (void)watch_policy(PolicyKind::quota);
    (void)watch_policy(PolicyKind::name_space);
}

SideWatches::Watch& SideWatches::watch_policy(PolicyKind kind) {
    auto feed = std::make_unique<PolicyFeed>(outbox_, kind, settings_.labels, on_synced_);
    feed->on_change(settings_.on_policy_change);
    policy_.at(static_cast<std::size_t>(kind)) = feed.get();
    return watch(policy_path(kind), std::move(feed), policy_selector(kind, settings_.labels),
                 policy_resource(kind).is_own);
}

SideWatches::Watch& SideWatches::watch(std::string path, std::unique_ptr<Feed> feed,
                                       std::string label_selector, bool optional) {
    InformerSettings settings;
    settings.path = path;
    settings.label_selector = std::move(label_selector);
    settings.optional = optional;
    settings.seed = settings_.seed + watches_.size();
    auto informer = std::make_unique<Informer>(loop_, client_, std::move(settings), *feed);
    watches_.push_back({std::move(path), std::move(feed), std::move(informer)});
    return watches_.back();
}

void SideWatches::start() {
    for (const Watch& one : watches_) group_.spawn("watch " + one.what, one.informer->run());
    group_.spawn("discover", discover());
}

bool SideWatches::are_volumes_listed() const {
    return std::all_of(volumes_.begin(), volumes_.end(),
                       [](const Feed* feed) { return feed->lists() > 0; });
}

bool SideWatches::is_listed() const {
    return discovered_ && std::all_of(watches_.begin(), watches_.end(),
                                      [](const Watch& one) { return one.is_listed(); });
}

void SideWatches::try_now() {
    for (const Watch& one : watches_) one.informer->try_now();
}

std::vector<std::string> SideWatches::errors() const {
    std::vector<std::string> errors{discovery_error_};
    for (const Watch& one : watches_) errors.push_back(one.informer->figures().last_error);
    return errors;
}

std::string SideWatches::uid_of(const ObjectKey& job) const {
    std::string uid;
    for (const WorkloadFeed* feed : workloads_) {
        if (uid.empty()) uid = feed->uid_of(job);
    }
    return uid;
}

bool SideWatches::is_watched(std::string_view path) const {
    return std::any_of(watches_.begin(), watches_.end(),
                       [path](const Watch& one) { return one.what == path; });
}

void SideWatches::add_kinds(const OptionalKinds& kinds) {
    const auto spawn = [this](const Watch& one) {
        group_.spawn("watch " + one.what, one.informer->run());
    };
    for (const GangDialect& dialect : kinds.gangs) {
        const std::string group{dialect.group};
        if (std::find(dialects_.begin(), dialects_.end(), group) != dialects_.end()) continue;
        dialects_.push_back(group);
        spawn(
            watch(path_of(dialect),
                  std::make_unique<GangFeed>(outbox_, dialect.field, settings_.labels, on_synced_),
                  "", true));
    }
    add_policy_kinds(kinds.policy);
    const std::string classes = kinds.device_classes;
    if (classes.empty() || is_watched(classes)) return;
    spawn(watch(classes, std::make_unique<DeviceClassFeed>(outbox_, on_synced_), "", true));
}

void SideWatches::add_policy_kinds(bool are_served) {
    if (policy(PolicyKind::pool) != nullptr) return;
    if (!are_served) {
        const bool is_first = !std::exchange(said_no_policy_kinds_, true);
        if (is_first && settings_.on_no_policy_kinds) settings_.on_no_policy_kinds();
        return;
    }
    for (const PolicyKind kind : {PolicyKind::pool, PolicyKind::queue}) {
        const Watch& one = watch_policy(kind);
        group_.spawn("watch " + one.what, one.informer->run());
    }
}

aio::Task<void> SideWatches::discover() {
    for (;;) {
        auto kinds =
            co_await discover_optional_kinds(client_, aio::Deadline::in(std::chrono::seconds{10}));
        if (kinds) {
            discovery_error_.clear();
            add_kinds(*kinds);
            if (!std::exchange(discovered_, true)) on_synced_();
        } else {
            discovery_error_ = kinds.error().message;
        }
        auto pause = discovered_ ? settings_.rediscover : std::chrono::milliseconds{1'000};
        if (policy(PolicyKind::pool) == nullptr) pause = std::min(pause, kPolicyKindsSoon);
        const bool running = co_await aio::sleep_until(aio::Deadline::in(pause));
        if (!running) co_return;
    }
}

}  // namespace gpuctl::k8s
