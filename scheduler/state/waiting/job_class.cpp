// Classes of waiting jobs. The planner tries one job of a class, and a refusal is for the whole
// class. Two jobs of a queue are in one class if all numbers of their Ask are equal.

#include <algorithm>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <utility>
#include <vector>

#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {
namespace {

// Jobs whose run times differ by less than a factor of the square root of two are equal to the
// planner: there are two steps for each doubling, so that a queue has no more than about eighty
// steps.
std::uint32_t run_time_step(Duration span) {
    if (span <= Duration{}) return 0;
    const auto ms = static_cast<std::uint64_t>(span.ms());
    const auto width = static_cast<unsigned>(std::bit_width(ms));
    const bool upper_half = width > 1 && ((ms >> (width - 2)) & 1U) != 0;
    return 2 * width + (upper_half ? 1 : 0);
}

void add_long(std::int64_t value, Ask& ask) {
    ask.push_back(static_cast<std::uint32_t>(value));
    ask.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32U));
}

// How the job is placed, as flags, and its run times if they matter.
std::uint32_t placing_mode(const ClusterState& state, const JobRow& job, const Readiness& ready) {
    std::uint32_t mode = (ready.all_or_nothing ? 1U : 0U) | (ready.resume ? 2U : 0U);
    if (state.run_times.heeds_run_times(state.queue(job.queue))) {
        mode |= run_time_step(job.run.time_max) << 8U;
        mode |= run_time_step(job.run.time_expected) << 16U;
    }
    // A job that holds resources is counted already as a job, and is nearer to the largest number
    // of GPUs of one job.
    if (job.holding.pods > 0) mode |= 4U;
    if (state.nominations.is_being_moved(job)) mode |= 16U;
    if (job.run.nears_wait_target) mode |= 64U;
    const PoolRow& pool = state.pool(job.pool);
    const bool reserves = pool.reserve_percent > 0 || pool.reserve_gpus > GpuMilli{};
    if (reserves && limits::would_grow(state, job, job.holding.pods)) mode |= 32U;
    if (!ready.pods.empty() && !state.pod(ready.pods.front()).facts.preempts) mode |= 8U;
    return mode;
}

// The shapes of its pods, with counts if it starts whole.
void add_shapes(const ClusterState& state, const Readiness& ready, Ask& ask) {
    boost::container::small_vector<std::uint32_t, 16> shapes;
    for (const PodId pod : ready.pods) shapes.push_back(state.pod(pod).shape.value());
    std::sort(shapes.begin(), shapes.end());
    for (std::size_t i = 0; i < shapes.size();) {
        std::size_t end = i;
        while (end < shapes.size() && shapes[end] == shapes[i]) ++end;
        ask.push_back(shapes[i]);
        // If pods are placed one by one, their number does not matter.
        if (ready.all_or_nothing) ask.push_back(static_cast<std::uint32_t>(end - i));
        i = end;
    }
    // If ranks differ, it matters which of them are enough.
    if (!ready.all_or_nothing || shapes.front() == shapes.back()) return;
    const auto begin = static_cast<std::ptrdiff_t>(ask.size());
    for (std::int64_t i = 0; i < std::min(ready.ranks_needed, ready.ranks_ready); ++i) {
        ask.push_back(state.pod(ready.pods[static_cast<std::size_t>(i)]).shape.value());
    }
    std::sort(ask.begin() + begin, ask.end());
}

// The nodes of the job's other pods matter if pods are to be together or apart.
void add_anchors(const ClusterState& state, const JobRow& job, const Readiness& ready, Ask& ask) {
    if (job.holding.pods == 0 || ready.pods.empty()) return;
    const TopologyRules& rules = state.shape_of(ready.pods.front()).topology;
    if (!rules.any()) return;
    std::vector<NodeId> anchors;
    state.gangs.read_anchors(job, anchors);
    for (const TopologyLevel level : {rules.required, rules.preferred, rules.spread}) {
        if (level == TopologyLevel::none) continue;
        const auto begin = static_cast<std::ptrdiff_t>(ask.size());
        for (const NodeId anchor : anchors) {
            ask.push_back(state.nodes.capacity().domains().of(level, anchor.value()).value());
        }
        std::sort(ask.begin() + begin, ask.end());
        ask.erase(std::unique(ask.begin() + begin, ask.end()), ask.end());
        ask.push_back(0);  // end of the list
    }
}

// Jobs of a class need the same time before a maintenance window.
void add_time_before_windows(const ClusterState& state, const JobRow& job, const Readiness& ready,
                             Ask& ask) {
    const Stay stay = state.maintenance.stay_of(job, ready.pods);
    add_long(job.run.time_max.ms(), ask);
    add_long(job.run.time_expected.ms(), ask);
    add_long(stay.grace.ms(), ask);
    ask.push_back(static_cast<std::uint32_t>(stay.least));
    ask.push_back(job.record ? static_cast<std::uint32_t>(job.record->spec.kind) + 1 : 0);
}

// Jobs of a class have the same remaining work.
void add_remaining_work(const ClusterState& state, const JobRow& job, Ask& ask) {
    const RunTimeQuestion about = state.run_times.question_about(job);
    const Duration done = state.run_times.progress_of(job);
    ask.push_back(static_cast<std::uint32_t>(about.gpus.value()));
    ask.push_back(static_cast<std::uint32_t>(job.run.lateness.doublings));
    const PreemptionPolicy& policy = state.pool(job.pool).preemption;
    if (is_paced(job) && job.holding.pods > 0) {  // its remaining work decreases all the time
        add_long(static_cast<std::int64_t>(job.arrival), ask);
    } else if (policy.mode == PreemptionMode::due && about.expected > Duration{}) {
        add_long(WaitingJobs::rounded_up(about.expected).ms(), ask);
    } else if (about.expected > done) {
        add_long(WaitingJobs::rounded_up(about.expected - done).ms(), ask);
    } else {
        add_long((done - about.expected).ms(), ask);
        add_long(about.limit.ms(), ask);
    }
}

}  // namespace

Duration WaitingJobs::rounded_up(Duration time) {
    const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(time.ms(), 1));
    const int width = static_cast<int>(std::bit_width(ms));
    const std::uint64_t step = width > 4 ? std::uint64_t{1} << (width - 4) : 1;
    return Duration{static_cast<std::int64_t>((ms + step - 1) / step * step)};
}

// The mode, the ranks needed, the shapes, what the job holds, and what limits, windows and run
// times depend on.
Ask WaitingJobs::ask_of(const JobRow& job, const Readiness& ready) const {
    Ask ask;
    ask.push_back(placing_mode(state_, job, ready));
    ask.push_back(static_cast<std::uint32_t>(ready.ranks_needed));
    add_shapes(state_, ready, ask);
    if (job.holding.pods > 0) ask.push_back(static_cast<std::uint32_t>(job.holding.gpus.value()));
    add_anchors(state_, job, ready, ask);
    if (!state_.accounts.budgets().empty()) {
        add_long(job.run.time_max.ms(), ask);  // the GPU time that it needs
    }
    // A job with ranks on a GPU model is in a class of its own.
    const bool is_on_a_model =
        !ready.pods.empty() && !state_.gangs.models_of_gang(ready.pods.front()).empty();
    if (is_on_a_model) add_long(static_cast<std::int64_t>(job.arrival), ask);
    if (state_.maintenance.has_windows()) add_time_before_windows(state_, job, ready, ask);
    if (state_.run_times.stops_long_for_short(state_.tree.queue_rows()[job.queue.value()])) {
        add_remaining_work(state_, job, ask);
    }
    return ask;
}

}  // namespace gpuctl
