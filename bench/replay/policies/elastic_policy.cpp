#include "bench/replay/policies/elastic_policy.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "bench/replay/policies/trace_resources.hpp"
#include "scheduler/base/check.hpp"
#include "scheduler/base/wide.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::replay {
namespace {

constexpr const char* kNamespace = "every-user";
// No size in a table (at most 1,024 GPUs) can be faster than this.
constexpr std::int64_t kSpeedMax = 1'000 * std::int64_t{kSpeedOfOne};

std::string name_of_job(JobIndex index) { return "j" + std::to_string(index.value()); }
JobIndex job_named(const std::string& name) {
    return JobIndex{static_cast<std::uint32_t>(std::stoul(name.substr(1)))};
}
std::string uid_of_job(JobIndex index) { return "job-" + std::to_string(index.value()); }

std::int64_t whole_run_ms(const Curve& curve, std::int32_t gpus) {
    std::int64_t sum = 0;
    for (std::size_t epoch = 0; epoch < curve.epochs.size(); ++epoch) {
        sum += curve.epoch_time(epoch, gpus).ms();
    }
    return sum;
}

// The range that a user would state: from the smallest possible size to the fastest one, without
// gaps.
std::pair<std::int32_t, std::int32_t> sizes_of(const Curve& curve, std::int32_t gpus_total) {
    // the world refuses jobs without such a size
    const std::int32_t least = curve.size_min().value();
    std::int32_t most = least;
    for (const std::int32_t gpus : curve.sizes) {  // speed changes only at listed sizes
        if (gpus < least) continue;
        if (gpus > gpus_total || !curve.allows(gpus)) break;
        if (whole_run_ms(curve, gpus) < whole_run_ms(curve, most)) most = gpus;
    }
    return {least, most};
}

// The speedup curve over the stated range, as measured over complete runs.
std::vector<SizeSpeed> speeds_of(const Curve& curve, std::int32_t least, std::int32_t most) {
    std::vector<SizeSpeed> speeds;
    const std::int64_t alone = whole_run_ms(curve, least);
    for (const std::int32_t gpus : curve.sizes) {
        if (gpus < least || gpus > most) continue;
        const Wide speed = Wide{alone} * kSpeedOfOne / whole_run_ms(curve, gpus);
        speeds.push_back({gpus, static_cast<std::int32_t>(std::clamp<Wide>(speed, 1, kSpeedMax))});
    }
    return speeds;
}

std::int64_t gpus_held(const ClusterState& state) {
    const PoolId pool = state.tree.find_pool(kDefaultPool);
    return state.pool(pool).held.value() / kGpuMilliPerGpu;
}

}  // namespace

ElasticPolicy::ElasticPolicy(const Trace& trace, const WorldSettings& settings,
                             gpuctl::Policy policy)
    : trace_(&trace), gpus_total_(settings.nodes * settings.gpus_per_node) {
    policy.pods_reserved_per_node = 0;  // there are no DaemonSets here
    step(LeadershipChanged{true, Epoch{1}});
    step(PolicyChanged{std::move(policy)});
    for (std::int32_t i = 0; i < settings.nodes; ++i) {
        NodeFacts node;
        node.name = "node-" + std::to_string(i);
        node.pool = kDefaultPool;
        node.allocatable = gpus_only(settings.gpus_per_node, settings.gpus_per_node);
        step(NodeObserved{node});
    }
    step(CacheSynced{});
}

void ElasticPolicy::step(Event event) {
    const Input input{Sequence{++sequence_}, now_, sequence_, std::move(event)};
    const auto begin = std::chrono::steady_clock::now();
    engine_.step(input, effects_);
    effort_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

EngineEffort ElasticPolicy::effort() const {
    EngineEffort effort = effort_;
    effort.inputs = sequence_;
    effort.plans = engine_.figures().plans;
    effort.attempts = engine_.figures().attempts;
    return effort;
}

std::optional<Instant> ElasticPolicy::decide(World& world) {
    now_ = world.now();
    if (wake_ && *wake_ <= now_) {
        wake_.reset();
        step(WokeUp{});
    }
    apply_log(world);
    carry_out(world);
    while (engine_.wants_plan()) {
        step(Plan{});
        carry_out(world);
    }
    GPUCTL_CHECK(gpus_held(engine_.state()) == gpus_total_ - world.gpus_free(),
                 "the engine and the world count the same GPUs");
    return wake_;
}

// Reports the events of the world since the last call, in order: ends before arrivals.
void ElasticPolicy::apply_log(const World& world) {
    for (; log_read_ < world.log().size(); ++log_read_) {
        const LogEntry entry = world.log()[log_read_];
        if (entry.what == Happening::submitted) submit(entry.job);
        if (entry.what == Happening::finished) finish(entry.job);
    }  // this policy made the starts and resizes itself
}

void ElasticPolicy::submit(JobIndex index) {
    const TraceJob& job = trace_->job(index);
    const Curve& curve = trace_->curves[job.curve.value()];
    JobRecord record;
    record.uid = uid_of_job(index);
    record.submitted_at = World::kBegin + job.submit;
    JobSpec& spec = record.spec;
    spec.key = {kNamespace, name_of_job(index)};
    spec.gpu.mode = GpuMode::exclusive;
    spec.gpu.count = 1;
    spec.gpu.amount = whole_gpus(1);
    spec.gpu.resource = kGpu;
    const auto [least, most] = sizes_of(curve, gpus_total_);
    spec.replicas_min = least;
    spec.replicas_max = most;
    spec.speeds = speeds_of(curve, least, most);
    spec.run_time_expected = Duration{whole_run_ms(curve, least)};
    spec.restart_cost = job.restart_cost;
    live_[index];
    step(JobSubmitted{std::move(record)});
}

// All ranks end together, and the object of the job is removed.
void ElasticPolicy::finish(JobIndex index) {
    for (PodFacts& pod : live_.at(index).pods) {
        pod.phase = PodPhase::succeeded;
        pod.finished_at = now_;
        const std::string uid = pod.uid;
        step(PodObserved{std::move(pod)});
        step(PodRemoved{uid});
    }
    live_.erase(index);
    step(WorkloadRemoved{{kNamespace, name_of_job(index)}, uid_of_job(index)});
}

void ElasticPolicy::carry_out(World& world) {
    while (!effects_.empty()) {
        const std::vector<Effect> made(effects_.begin(), effects_.end());
        effects_.clear();
        std::set<JobIndex> bound;
        for (const Effect& effect : made) {
            if (const auto* wake = std::get_if<WakeAt>(&effect)) wake_ = wake->at;
            if (const auto* creation = std::get_if<CreateWorkload>(&effect)) create(*creation);
            if (const auto* change = std::get_if<ResizeWorkload>(&effect)) resize(world, *change);
            if (const auto* order = std::get_if<BindPod>(&effect)) {
                const PodId pod = engine_.state().pods.find_pod(order->pod.uid);
                if (!pod.exists()) continue;  // it has been removed since
                bound.insert(job_named(engine_.state().pod(pod).facts.job));
                bind(*order);
            }
        }
        for (const JobIndex index : bound) follow(world, index);
    }
}

void ElasticPolicy::create(const CreateWorkload& creation) {
    step(WorkloadOutcome{creation.id, creation.job->spec.key, true, false, "", {}});
    add_ranks(job_named(creation.job->spec.key.name), creation.job->spec.replicas_max);
}

void ElasticPolicy::add_ranks(JobIndex index, std::int32_t up_to) {
    const ClusterState& state = engine_.state();
    const ObjectKey key{kNamespace, name_of_job(index)};
    const JobSpec& spec = state.job(state.jobs.find_job(key)).record->spec;
    Live& live = live_.at(index);
    while (std::ssize(live.pods) < up_to) {
        PodFacts pod;
        pod.job = key.name;
        pod.uid = key.name + "/" + std::to_string(live.made++);
        pod.key = {kNamespace, pod.uid};
        pod.ours = pod.has_controller = true;
        pod.created_at = World::kBegin + trace_->job(index).submit;
        pod.rank = static_cast<std::int32_t>(live.pods.size());
        pod.gang = true;
        pod.gang_min = spec.replicas_min;
        pod.run_time_expected = spec.run_time_expected;
        pod.restart_cost = spec.restart_cost;
        pod.request = gpus_only(1, 1);
        live.pods.push_back(pod);
        step(PodObserved{std::move(pod)});
    }
}

// Applies the resize at once: surplus ranks are removed and missing ranks created.
void ElasticPolicy::resize(World& world, const ResizeWorkload& order) {
    const JobIndex index = job_named(order.key.name);
    step(WorkloadResizeOutcome{order.id, order.key, ResizeResult::resized, 0, ""});
    Live& live = live_.at(index);
    std::vector<std::string> gone;
    while (std::ssize(live.pods) > order.to) {
        gone.push_back(live.pods.back().uid);
        live.pods.pop_back();
    }
    for (const std::string& uid : gone) step(PodRemoved{uid});
    if (world.state(index).phase == JobPhase::running) follow(world, index);
    add_ranks(index, order.to);
}

void ElasticPolicy::bind(const BindPod& order) {
    const PodId id = engine_.state().pods.find_pod(order.pod.uid);
    const PodFacts& facts = engine_.state().pod(id).facts;
    const JobIndex index = job_named(facts.job);
    PodFacts& pod = live_.at(index).pods[static_cast<std::size_t>(facts.rank)];
    pod.node = order.node;
    step(BindOutcome{order.id, order.pod.uid, BindResult::bound, ""});
    step(PodObserved{pod});
}

void ElasticPolicy::follow(World& world, JobIndex index) {
    const std::vector<PodFacts>& pods = live_.at(index).pods;
    const auto gpus = static_cast<std::int32_t>(std::count_if(
        pods.begin(), pods.end(), [](const PodFacts& pod) { return !pod.node.empty(); }));
    const bool starts = world.state(index).phase == JobPhase::waiting;
    if (starts) ++effort_.starts;
    const bool has_room = starts ? world.start(index, gpus) : world.resize(index, gpus);
    GPUCTL_CHECK(has_room, "the engine gives a job GPUs that the world does not have");
}

}  // namespace gpuctl::replay
