#include "scheduler/plan/elastic/sizes_by_speedup.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "scheduler/base/wide.hpp"

namespace gpuctl {
namespace {

// The worth of one second in which a job waits; speeds are in thousandths.
constexpr std::int64_t kWorthOfOne = std::int64_t{1} << 20;
// The room is divided into at most this many cells.
constexpr std::int64_t kCellsMost = 256;
constexpr std::int64_t kValueMost = std::int64_t{1} << 62;
// The restart cost of a job that does not state one.
constexpr Duration kRestartAssumed = Duration::seconds(30);

struct Size {
    std::int32_t ranks = 0;
    std::int64_t gpus = 0;  // thousandths
    std::int64_t value = 0;
};

// The room in cells: a cell is one GPU, or more if the room is large.
struct Cells {
    explicit Cells(std::int64_t room)
        : size(std::max((room + kCellsMost - 1) / kCellsMost, kGpuMilliPerGpu)),
          count(static_cast<std::size_t>(std::max<std::int64_t>(room, 0) / size)) {}
    [[nodiscard]] std::size_t of(std::int64_t gpus) const {
        return static_cast<std::size_t>((gpus + size - 1) / size);
    }
    std::int64_t size;
    std::size_t count;
};

// The sizes of one job that may be chosen, and its current size.
struct Ladder {
    std::vector<Size> sizes;  // ascending
    std::size_t at = 0;
};

// Lost before it works with this number of ranks.
Duration restart_of(const SizeChoice& job, std::int32_t ranks) {
    return ranks == job.now ? job.restart_on : job.restart_again;
}

// The weighted work that the job does within the horizon with this number of ranks.
std::int64_t value_of(const SizeChoice& job, std::int32_t ranks, Duration horizon) {
    const Duration worked = std::max(horizon - restart_of(job, ranks), Duration{});
    const Wide value = Wide{worked.ms()} * speed_of(*job.speeds, ranks) * job.worth / kWorthOfOne;
    return static_cast<std::int64_t>(std::min<Wide>(value, kValueMost));
}

Ladder ladder_of(const SizeChoice& job, Duration horizon) {
    Ladder out;
    const auto add = [&](std::int32_t ranks) {
        out.sizes.push_back({ranks, ranks * job.each.value(), value_of(job, ranks, horizon)});
    };
    bool is_now_listed = false;
    for (const SizeSpeed& listed : *job.speeds) {
        if (listed.ranks < job.least || listed.ranks > job.most) continue;
        add(listed.ranks);
        is_now_listed = is_now_listed || listed.ranks == job.now;
    }
    if (!is_now_listed) add(job.now);
    std::sort(out.sizes.begin(), out.sizes.end(),
              [](const Size& a, const Size& b) { return a.ranks < b.ranks; });
    return out;
}

struct Step {
    std::size_t job = 0;
    std::size_t to = 0;  // index of the new size
    std::int64_t value = 0;
    std::int64_t gpus = 0;
};

// True if `a` gains more per GPU; a step that needs no further GPUs comes first.
bool has_larger_speedup(const Step& a, const Step& b) {
    return Wide{a.value} * b.gpus > Wide{b.value} * a.gpus;
}

// The step from the current size with the largest gain per GPU, among the steps that fit.
Step best_step(const Ladder& ladder, std::size_t job, std::int64_t room) {
    Step best;
    const Size& here = ladder.sizes[ladder.at];
    for (std::size_t to = ladder.at + 1; to < ladder.sizes.size(); ++to) {
        const Size& there = ladder.sizes[to];
        const Step step{job, to, there.value - here.value, there.gpus - here.gpus};
        if (step.value <= 0 || step.gpus > room) continue;
        if (best.gpus == 0 || has_larger_speedup(step, best)) best = step;
    }
    return best;
}

// Greedy: takes the step with the largest gain until no step fits.
std::int64_t climb(std::vector<Ladder>& ladders, const std::vector<std::size_t>& jobs,
                   std::int64_t room) {
    std::vector<Step> next;
    for (const std::size_t job : jobs) next.push_back(best_step(ladders[job], job, room));
    for (;;) {
        Step* best = nullptr;
        for (Step& step : next) {
            if (step.gpus > room) step = best_step(ladders[step.job], step.job, room);
            if (step.gpus == 0) continue;
            if (best == nullptr || has_larger_speedup(step, *best)) best = &step;
        }
        if (best == nullptr) return room;
        ladders[best->job].at = best->to;
        room -= best->gpus;
        *best = best_step(ladders[best->job], best->job, room);
    }
}

// Finds the best division of the room in cells, beyond the minimum of each job, by dynamic
// programming over the jobs. It keeps the best value for each part of the room.
std::int64_t divide(std::vector<Ladder>& ladders, const std::vector<std::size_t>& jobs,
                    std::int64_t room) {
    const Cells in{room};
    std::vector<std::int64_t> best(in.count + 1, 0);
    std::vector<std::int64_t> with(in.count + 1, 0);
    std::vector<std::uint8_t> chosen(jobs.size() * (in.count + 1), 0);
    const auto cost = [&](const Ladder& ladder, std::size_t size) {
        return in.of(ladder.sizes[size].gpus - ladder.sizes.front().gpus);
    };
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Ladder& ladder = ladders[jobs[i]];
        for (std::size_t at = 0; at <= in.count; ++at) {
            with[at] = -1;
            for (std::size_t size = 0; size < ladder.sizes.size(); ++size) {
                const std::size_t cells = cost(ladder, size);
                if (cells > at) break;
                const std::int64_t value = best[at - cells] + ladder.sizes[size].value;
                if (value <= with[at]) continue;
                with[at] = value;
                chosen[i * (in.count + 1) + at] = static_cast<std::uint8_t>(size);
            }
        }
        best.swap(with);
    }
    std::size_t at = in.count;
    for (std::size_t i = jobs.size(); i-- > 0;) {
        Ladder& ladder = ladders[jobs[i]];
        ladder.at = chosen[i * (in.count + 1) + at];
        at -= cost(ladder, ladder.at);
        room -= ladder.sizes[ladder.at].gpus - ladder.sizes.front().gpus;
    }
    return room;
}

// A listed size in cells of the room.
struct Speed {
    std::size_t cells = 0;
    std::int64_t milli = 0;
};

std::vector<Speed> speeds_in(const SizeChoice& job, const Cells& room) {
    std::vector<Speed> out;
    for (const SizeSpeed& size : *job.speeds) {
        const std::size_t cells = room.of(size.ranks * job.each.value());
        if (cells <= room.count && size.milli > 0) out.push_back({cells, size.milli});
    }
    return out;
}

}  // namespace

void weigh_work(std::vector<SizeChoice>& jobs, GpuMilli room) {
    const Cells in{room.value()};
    struct Waiting {
        Duration left;  // remaining time with its fastest size
        std::size_t job = 0;
    };
    std::vector<Waiting> order;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        std::int64_t fastest = 1;
        for (const Speed& speed : speeds_in(jobs[i], in)) {
            fastest = std::max(fastest, speed.milli);
        }
        order.push_back({Duration{jobs[i].left.ms() * kSpeedOfOne / fastest}, i});
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Waiting& a, const Waiting& b) { return a.left > b.left; });
    // The worth of a second of all jobs that end later, by the room that is left to them.
    std::vector<std::int64_t> behind(in.count + 1, 0);
    std::vector<std::int64_t> with(in.count + 1, 0);
    std::int64_t all_wait = 0;  // a second of all jobs that were visited
    for (const Waiting& place : order) {
        SizeChoice& job = jobs[place.job];
        const std::vector<Speed> speeds = speeds_in(job, in);
        all_wait += kWorthOfOne;
        std::int64_t worth = all_wait;
        for (const Speed& speed : speeds) {
            const std::int64_t rest =
                std::max<std::int64_t>(all_wait - behind[in.count - speed.cells], 0);
            worth = std::min(worth, rest * kSpeedOfOne / speed.milli);
        }
        job.worth = std::max<std::int64_t>(worth, 1);
        for (std::size_t at = 0; at <= in.count; ++at) {
            with[at] = behind[at];
            for (const Speed& speed : speeds) {
                if (speed.cells > at) break;
                with[at] = std::max(
                    with[at], job.worth * speed.milli / kSpeedOfOne + behind[at - speed.cells]);
            }
        }
        behind.swap(with);
    }
}

bool is_sized_by_speedup(const ClusterState& state, const JobRow& job) {
    if (!is_paced(job) || job.pods.empty()) return false;
    const Shape& shape = state.shape_of(job.pods.front());
    const bool is_on = state.policy().resize_pays_within > Duration{};
    return is_on && shape.part == GpuMilli{} && shape.gpus > GpuMilli{};
}

SizeChoice choice_of(const ClusterState& state, const JobRow& job, RemainingWork& left) {
    const JobSpec& spec = job.record->spec;
    const ElasticRow& elastic = job.elastic;
    SizeChoice out;
    out.speeds = &spec.speeds;
    out.priority = job.priority;
    out.each = state.shape_of(job.pods.front()).gpus;
    out.left = left.remaining_time(state, job);
    out.restart_again = spec.restart_cost > Duration{} ? spec.restart_cost : kRestartAssumed;
    out.now = has_started(job.gang.phase()) ? state.elastic.ranks_of(job).there
                                            : static_cast<std::int32_t>(job.holding.pods);
    out.least = out.most = out.now;
    // A job that does not run with its current size yet pays for a start with any size.
    const bool runs = elastic.paced_ranks == out.now;
    const Instant back = elastic.paced_from + out.restart_again;
    out.restart_on = runs ? std::max(back - state.now(), Duration{}) : out.restart_again;
    return out;
}

std::int64_t loss_of(const SizeChoice& job, std::int32_t ranks, Duration horizon) {
    return value_of(job, job.now, horizon) - value_of(job, ranks, horizon);
}

void choose_sizes(std::vector<SizeChoice>& jobs, GpuMilli room, Duration horizon) {
    std::vector<Ladder> ladders;
    std::int64_t left = room.value();
    for (const SizeChoice& job : jobs) {
        ladders.push_back(ladder_of(job, horizon));
        left -= ladders.back().sizes.front().gpus;
    }
    std::map<std::int32_t, std::vector<std::size_t>, std::greater<>> by_priority;
    for (std::size_t i = 0; i < jobs.size(); ++i) by_priority[jobs[i].priority].push_back(i);
    for (const auto& [priority, equals] : by_priority) {
        // climb() uses the remainders of the cells
        left = climb(ladders, equals, divide(ladders, equals, left));
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].aim = ladders[i].sizes[ladders[i].at].ranks;
    }
}

Duration remaining_time_with(const SizeChoice& job, std::int32_t ranks) {
    const std::int64_t milli = std::max(speed_of(*job.speeds, ranks), 1);
    return restart_of(job, ranks) + Duration{times_ratio(job.left.ms(), kSpeedOfOne, milli)};
}

}  // namespace gpuctl
