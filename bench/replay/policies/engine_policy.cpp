#include "bench/replay/policies/engine_policy.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <utility>

#include "bench/replay/policies/trace_resources.hpp"
#include "scheduler/base/check.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl::replay {
namespace {

std::string node_name(std::size_t node) { return "node-" + std::to_string(node); }

std::int32_t number_after(std::string_view text, char mark) {
    const std::size_t begin = text.rfind(mark) + 1;
    std::int32_t number = -1;
    std::from_chars(text.data() + begin, text.data() + text.size(), number);
    return number;
}

JobIndex job_of(const PodReference& pod) {
    return JobIndex{static_cast<std::uint32_t>(std::stoul(pod.uid))};
}

// Groups effects by job, in the order of the first effect of each job.
template <typename Order>
std::vector<std::vector<Order>> by_job(const std::vector<Order>& orders) {
    std::vector<std::vector<Order>> out;
    for (const Order& order : orders) {
        if (out.empty() || job_of(out.back().front().pod) != job_of(order.pod)) out.emplace_back();
        out.back().push_back(order);
    }
    return out;
}

}  // namespace

EnginePolicy::EnginePolicy(const Trace& trace, const WorldSettings& settings, EngineSetup setup)
    : trace_(&trace), settings_(settings), setup_(std::move(setup)) {
    setup_.policy.pods_reserved_per_node = 0;  // there are no DaemonSets here
    incarnations_.resize(trace.jobs.size());
    step(LeadershipChanged{true, Epoch{1}});
    step(PolicyChanged{setup_.policy});
    for (std::int32_t i = 0; i < settings.nodes; ++i) {
        NodeFacts node;
        node.name = node_name(static_cast<std::size_t>(i));
        node.pool = kDefaultPool;
        node.allocatable = gpus_only(settings.gpus_per_node, settings.gpus_per_node);
        step(NodeObserved{node});
    }
    step(CacheSynced{});
}

void EnginePolicy::step(Event event) {
    const Input input{Sequence{++sequence_}, now_, sequence_, std::move(event)};
    const auto begin = std::chrono::steady_clock::now();
    engine_.step(input, effects_);
    effort_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

EngineEffort EnginePolicy::effort() const {
    EngineEffort effort = effort_;
    effort.inputs = sequence_;
    effort.plans = engine_.figures().plans;
    effort.attempts = engine_.figures().attempts;
    return effort;
}

PodFacts EnginePolicy::rank_of(JobIndex index, std::int32_t rank, std::int32_t gpus) const {
    const TraceJob& job = trace_->job(index);
    PodFacts pod;
    pod.job = "j" + std::to_string(index.value());
    const Incarnation& incarnation = incarnations_[index.value()];
    pod.uid = std::to_string(index.value()) + "/" + std::to_string(rank) + "/" +
              std::to_string(incarnation.number);
    const std::string owner =
        job.owner.exists() ? trace_->owners[job.owner.value()].name : "every-user";
    pod.key = {"owner-" + owner, pod.job + "-" + std::to_string(rank)};
    if (setup_.owners_are_queues) pod.queue = owner;
    pod.ours = true;
    pod.has_controller = true;
    pod.created_at = World::kBegin + job.submit;
    pod.rank = rank;
    pod.request = gpus_only(gpus, 1);
    // The hard limit of a run includes the cost of the start. The user's expected run time is that
    // of the whole work, because the engine tracks progress itself. If run times are unknown, the
    // user's estimate is used.
    const Duration whole = (incarnation.number == 0 ? job.run : incarnation.left) + job.start_cost;
    pod.preemptible = setup_.may_be_evicted;
    pod.checkpoint_interval = Duration{1};  // work is kept, and a restart costs time
    pod.restart_cost = job.restart_cost;
    if (settings_.clairvoyant) {
        pod.run_time_max = whole;
        pod.run_time_expected = job.run;
    } else {
        pod.run_time_max = job.limit;
    }
    return pod;
}

// A job of up to a node's size is one pod. A larger job uses whole nodes, and one node for the
// rest.
std::vector<PodFacts> EnginePolicy::pods_of(JobIndex index) const {
    const std::int32_t gpus = trace_->job(index).gpus;
    const std::int32_t each = std::min(gpus, settings_.gpus_per_node);
    std::vector<PodFacts> pods;
    for (std::int32_t left = gpus; left > 0; left -= each) {
        const auto rank = static_cast<std::int32_t>(pods.size());
        pods.push_back(rank_of(index, rank, std::min(left, each)));
    }
    if (pods.size() == 1) return pods;
    for (PodFacts& pod : pods) {
        pod.gang = true;
        pod.gang_min = static_cast<std::int32_t>(pods.size());
    }
    return pods;
}

std::optional<Instant> EnginePolicy::decide(World& world) {
    now_ = world.now();
    if (wake_ && *wake_ <= now_) {
        wake_.reset();
        step(WokeUp{});
    }
    apply_log(world);
    while (engine_.wants_plan()) {
        step(Plan{});
        carry_out(world);
    }
    carry_out(world);
    compare_with_engine(world);
    return wake_;
}

// Reports the events of the world since the last call, in order: ends before arrivals.
void EnginePolicy::apply_log(const World& world) {
    for (; log_read_ < world.log().size(); ++log_read_) {
        const LogEntry& entry = world.log()[log_read_];
        if (entry.what == Happening::submitted) {
            for (PodFacts& pod : pods_of(entry.job)) step(PodObserved{std::move(pod)});
        } else if (entry.what == Happening::finished) {
            const JobState& job = world.state(entry.job);
            for (PodFacts& pod : pods_of(entry.job)) {
                pod.phase = PodPhase::succeeded;
                pod.started_at = job.started_at;
                pod.finished_at = job.finished_at;
                const std::string uid = pod.uid;
                step(PodObserved{std::move(pod)});
                step(PodRemoved{uid});
            }
        }  // this policy made the starts, stops and resizes itself
    }
}

// Binds and evictions come job by job, all ranks of a gang in one Plan. No pod is placed before its
// victims are gone, so the order of both does not matter. If the engine changes the number of
// ranks, World::resize belongs here.
void EnginePolicy::carry_out(World& world) {
    std::vector<BindPod> binds;
    std::vector<EvictPod> evictions;
    for (const Effect& effect : effects_) {
        if (const auto* bind = std::get_if<BindPod>(&effect)) binds.push_back(*bind);
        if (const auto* evict = std::get_if<EvictPod>(&effect)) evictions.push_back(*evict);
        if (const auto* wake = std::get_if<WakeAt>(&effect)) wake_ = wake->at;
        GPUCTL_CHECK(!std::holds_alternative<DeletePod>(effect),
                     "every bind is answered `bound` at once, so nothing is ever rolled back");
    }
    effects_.clear();
    for (const std::vector<BindPod>& round : by_job(binds)) start(world, round);
    for (const std::vector<EvictPod>& evicted : by_job(evictions)) stop(world, evicted);
}

// The job stops at once, keeps its progress, and waits again with its remaining work.
void EnginePolicy::stop(World& world, const std::vector<EvictPod>& evicted) {
    const JobIndex index = job_of(evicted.front().pod);
    world.stop(index);
    ++effort_.stops;
    for (const EvictPod& eviction : evicted) {
        step(PodEvictOutcome{eviction.id, eviction.pod.uid, EvictResult::evicted, ""});
    }
    for (const EvictPod& eviction : evicted) step(PodRemoved{eviction.pod.uid});
    Incarnation& incarnation = incarnations_[index.value()];
    ++incarnation.number;
    if (settings_.clairvoyant)
        incarnation.left = world.remaining_work(index, world.job(index).gpus);
    for (PodFacts& pod : pods_of(index)) step(PodObserved{std::move(pod)});
}

void EnginePolicy::start(World& world, const std::vector<BindPod>& round) {
    const JobIndex index = job_of(round.front().pod);
    const std::int32_t gpus = world.job(index).gpus;
    Spread spread;
    if (settings_.placing == Placing::pooled) {
        spread.gpus = gpus;
    } else {
        std::int32_t left = gpus;
        for (const BindPod& bind : round) {
            const std::int32_t node = number_after(bind.node, '-');
            const std::int32_t here = std::min(left, settings_.gpus_per_node);
            left -= here;
            if (gpus > settings_.gpus_per_node && here == settings_.gpus_per_node) {
                spread.whole_nodes.push_back(node);
            } else {
                spread.node = node;
                spread.gpus = here;
            }
        }
        GPUCTL_CHECK(left == 0, "a job starts with all of its ranks");
    }
    const bool started = world.start_on(index, std::move(spread));
    GPUCTL_CHECK(started, "the engine starts a job where the world has no room for it");
    ++effort_.starts;
    for (const BindPod& bind : round) {
        step(BindOutcome{bind.id, bind.pod.uid, BindResult::bound, ""});
    }
    if (!setup_.may_be_evicted) return;
    // The job runs at once; from now on a preemption costs its progress.
    std::vector<PodFacts> pods = pods_of(index);
    for (PodFacts& pod : pods) {
        const auto bound = std::find_if(round.begin(), round.end(), [&pod](const BindPod& bind) {
            return bind.pod.uid == pod.uid;
        });
        pod.node = bound->node;
        pod.phase = PodPhase::running;
        pod.started_at = now_;
        step(PodObserved{std::move(pod)});
    }
}

void EnginePolicy::compare_with_engine(const World& world) const {
    const ClusterState& state = engine_.state();
    const Capacity& capacity = state.nodes.capacity();
    for (std::size_t i = 0; i < capacity.columns(); ++i) {
        const auto column = static_cast<Column>(i);
        if (capacity.kind(column) != ColumnKind::gpu) continue;
        for (std::uint32_t node = 0; node < world.nodes(); ++node) {
            GPUCTL_CHECK(capacity.free(column, node) == world.gpus_free_on(node) * kGpuMilliPerGpu,
                         "the engine and the world count the same free GPUs on every node");
        }
    }
}

}  // namespace gpuctl::replay
