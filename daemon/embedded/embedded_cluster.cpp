#include "daemon/embedded/embedded_cluster.hpp"

#include <algorithm>
#include <utility>

#include "aio/loop.hpp"
#include "daemon/embedded/embedded_logs.hpp"
#include "scheduler/base/check.hpp"

namespace gpuctl::embedded {

namespace {

// How soon a full sink is retried.
constexpr std::chrono::milliseconds kSinkRetry{10};
// The longest sleep when nothing is due.
constexpr std::chrono::minutes kNothingDue{10};

// As an administrator would label it.
void put_in_pool(NodeFacts& node, const ports::NodeMembership& member, const std::string& prefix) {
    node.pool = member.pool;
    if (member.pool == kDefaultPool) {
        node.labels.erase(prefix + "/pool");
    } else {
        node.labels[prefix + "/pool"] = member.pool;
    }
    if (member.gpu_model.empty()) return;
    node.gpu_model = member.gpu_model;
    node.labels[prefix + "/gpu-type"] = member.gpu_model;
}

}  // namespace

EmbeddedCluster::EmbeddedCluster(aio::Loop& loop, EmbeddedSettings settings, sim::World world,
                                 CallRecorder recorder)
    : settings_(std::move(settings)),
      world_(std::move(world)),
      recorder_(std::move(recorder)),
      cluster_(settings_.cluster),
      logs_(std::make_unique<EmbeddedLogs>(*this)),
      changed_(loop),
      tasks_(loop) {}

EmbeddedCluster::~EmbeddedCluster() = default;

Instant EmbeddedCluster::clock() {
    latest_ = std::max(latest_, Instant{aio::Loop::wall_ms()});
    return latest_;
}

void EmbeddedCluster::record(Instant now, decltype(Call::what) what) {
    if (recorder_) recorder_({now, std::move(what)});
}

void EmbeddedCluster::start(ports::EventSink& sink) {
    GPUCTL_CHECK(sink_ == nullptr, "a cluster is started once");
    sink_ = &sink;
    const Instant now = clock();
    record(now, Advanced{});
    cluster_.name_topology(settings_.topology_labels);
    std::vector<NodeFacts> nodes = configured_nodes();
    for (NodeFacts& node : nodes) {
        const auto member = memberships_.find(node.name);
        if (member != memberships_.end())
            put_in_pool(node, member->second, settings_.cluster.label_prefix);
    }
    cluster_.restore(world_, nodes, now);
    cluster_.announce(world_, made_);
    world_ = {};
    // No other process can lead. The start time is greater than that of any earlier start, which is
    // all that an epoch needs.
    made_.push_back(LeadershipChanged{
        true, Epoch{static_cast<std::uint64_t>(std::max<std::int64_t>(now.ms(), 1))}});
    deliver();
    tasks_.spawn("embedded cluster", run());
}

std::vector<NodeFacts> EmbeddedCluster::configured_nodes() const {
    return make_nodes(settings_.nodes, settings_.cluster.label_prefix, settings_.topology_labels);
}

// Other facts of a node, such as a cordon, stay as they are.
void EmbeddedCluster::assign(const ports::NodeMemberships& all) {
    const ports::NodeMemberships before = std::exchange(memberships_, all);
    if (sink_ == nullptr || stopped_) return;
    for (const NodeFacts& configured : configured_nodes()) {
        const auto was = before.find(configured.name);
        const auto is = memberships_.find(configured.name);
        const bool was_assigned = was != before.end();
        const bool is_assigned = is != memberships_.end();
        if (!was_assigned && !is_assigned) continue;
        if (was_assigned && is_assigned && was->second == is->second) continue;
        const NodeFacts* const known = cluster_.find_node(configured.name);
        if (known == nullptr) continue;
        NodeFacts changed = *known;
        changed.gpu_model = configured.gpu_model;
        changed.labels.erase(settings_.cluster.label_prefix + "/gpu-type");
        put_in_pool(changed, {configured.pool, configured.gpu_model},
                    settings_.cluster.label_prefix);
        if (is_assigned) put_in_pool(changed, is->second, settings_.cluster.label_prefix);
        if (changed != *known) disturb(sim::NodeJoins{std::move(changed)});
    }
}

void EmbeddedCluster::deliver() {
    for (Event& event : made_) undelivered_.push_back(std::move(event));
    made_.clear();
    while (!undelivered_.empty() && sink_->offer(undelivered_.front())) undelivered_.pop_front();
    changed_.notify_all();
}

void EmbeddedCluster::catch_up() {
    if (sink_ == nullptr || stopped_) return;
    const Instant now = clock();
    std::optional<Instant> due = cluster_.next_due();
    // One point in time after another; the rest in another turn.
    while (due && *due <= now && undelivered_.empty() && !aio::Turn::is_long()) {
        const Instant until = std::max(*due, cluster_.now());
        record(until, Advanced{});
        cluster_.advance(until, made_);
        deliver();
        due = cluster_.next_due();
    }
}

Instant EmbeddedCluster::simulated_until() {
    catch_up();
    const Instant now = clock();
    const std::optional<Instant> due = cluster_.next_due();
    return due && *due <= now ? cluster_.now() : now;
}

void EmbeddedCluster::carry_out(const Effect& effect) {
    GPUCTL_CHECK(sink_ != nullptr, "effects are sent after start()");
    if (stopped_) return;
    const Instant now = clock();
    record(now, effect);
    cluster_.carry_out(effect, now, made_);
    deliver();
}

void EmbeddedCluster::disturb(const sim::SimInput& input) {
    if (sink_ == nullptr || stopped_) return;
    const Instant now = clock();
    record(now, input);
    cluster_.apply(input, now, made_);
    deliver();
}

aio::Task<void> EmbeddedCluster::run() {
    while (!tasks_.cancelled()) {
        aio::Turn::mark("cluster");
        if (undelivered_.empty()) {
            catch_up();
        } else {
            deliver();
        }
        if (!undelivered_.empty()) {
            const aio::Deadline again = aio::Deadline::in(kSinkRetry);
            co_await aio::sleep_until(again);
            continue;
        }
        const std::optional<Instant> due = cluster_.next_due();
        aio::Clock::duration left = kNothingDue;
        if (due) {
            const std::chrono::milliseconds until_due{due->ms() - clock().ms()};
            left = std::clamp<aio::Clock::duration>(until_due, std::chrono::milliseconds{0}, left);
        }
        if (left == aio::Clock::duration::zero()) {
            co_await aio::next_turn();
            continue;
        }
        const aio::Deadline next = aio::Deadline::in(left);
        co_await changed_.wait(next);
    }
}

std::vector<ports::HealthLine> EmbeddedCluster::health() const {
    const std::string size = std::to_string(cluster_.nodes_count()) + " nodes, " +
                             std::to_string(cluster_.pods_count()) + " pods";
    return {{"api-server", sink_ != nullptr && !stopped_, "embedded cluster, " + size},
            {"cache", sink_ != nullptr && undelivered_.empty(),
             undelivered_.empty() ? "up to date"
                                  : std::to_string(undelivered_.size()) + " events wait"}};
}

ports::LogSource& EmbeddedCluster::logs() { return *logs_; }

aio::Task<Result<std::string>> EmbeddedCluster::cluster_id(aio::Deadline) {
    co_return settings_.cluster_id;
}

aio::Task<Result<void>> EmbeddedCluster::try_create(JobRecord, Epoch) { co_return Result<void>{}; }

aio::Task<Result<void>> EmbeddedCluster::check_namespace(ports::NamespaceQuestion question,
                                                         aio::Deadline /*deadline*/) {
    if (question.is_known || !question.are_made) co_return Result<void>{};
    co_return make_error(ErrorCode::NamespaceNotFound,
                         "there is no namespace " + question.name +
                             "; an administrator creates it first: `gpuctl create -f FILE` with "
                             "\"kind: namespace\" and \"namespace: {name: " +
                             question.name + "}\"; `gpuctl get namespaces` lists those there are");
}

aio::Task<Result<std::string>> EmbeddedCluster::controller_trouble(ObjectKey, aio::Deadline) {
    co_return std::string{};
}

aio::Task<bool> EmbeddedCluster::stop(aio::Deadline deadline) {
    stopped_ = true;
    tasks_.cancel();
    changed_.notify_all();
    const bool ended = co_await tasks_.join(deadline);
    co_return ended;
}

}  // namespace gpuctl::embedded
