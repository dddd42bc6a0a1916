#include "scheduler/plan/start_estimate.hpp"

#include <algorithm>
#include <queue>

#include "scheduler/model/gpu_vendor.hpp"
#include "scheduler/plan/run_pace.hpp"
#include "scheduler/plan/start_by_budgets.hpp"
#include "scheduler/queue/budget_forecast.hpp"
#include "scheduler/state/limits.hpp"
#include "scheduler/state/queue_chain.hpp"

namespace gpuctl {
namespace {

// What the pool's free GPUs say something about.
bool is_about_room(Reason reason) {
    return reason == Reason::none || reason == Reason::gpu_insufficient ||
           reason == Reason::gpu_fragmented || reason == Reason::nodes_insufficient ||
           reason == Reason::reserved || reason == Reason::short_work_first ||
           reason == Reason::maintenance || reason == Reason::set_aside;
}

// Whatever the sum of free GPUs says.
bool lacks_room(Reason reason) {
    return reason == Reason::gpu_insufficient || reason == Reason::gpu_fragmented ||
           reason == Reason::nodes_insufficient;
}

bool is_limit(Reason reason) {
    return reason == Reason::queue_limit || reason == Reason::tenant_quota ||
           reason == Reason::budget_spent || reason == Reason::kept_for_growth;
}

// Why it was refused when it was last tried, if that still holds.
Reason refusal_of(const ClusterState& state, JobId id) {
    const ClassId waits_in = state.job(id).waits_in;
    if (!waits_in.exists()) return Reason::turn;
    const JobClass& waiting = state.book().at(waits_in);
    return state.is_blocked(waiting) ? waiting.block.reason : Reason::none;
}

// GPUs that come free, in thousandths, on the nodes that are in the same windows. None of them: a
// window is over.
struct Release {
    Instant at;
    std::int64_t gpus = 0;
    std::size_t group = 0;
    NodeId node;
    friend bool operator>(const Release& a, const Release& b) { return a.at > b.at; }
};
using Releases = std::priority_queue<Release, std::vector<Release>, std::greater<>>;

class Forecast {
public:
    Forecast(const ClusterState& state, PoolId pool) : state_(state) {
        const Capacity& capacity = state.capacity();
        const NodeSet& nodes = capacity.nodes_of(pool);
        for (std::uint32_t slot = nodes.next(0); slot != NodeSet::kEnd;
             slot = nodes.next(slot + 1)) {
            for (std::size_t i = 0; i < capacity.columns(); ++i) {
                const auto column = static_cast<Column>(i);
                if (capacity.kind(column) != ColumnKind::gpu) continue;
                const GpuMilli free{std::max<std::int64_t>(capacity.free(column, slot), 0)};
                const std::string& resource = capacity.resource(column);
                const Resources& offered = state.node(NodeId{slot}).facts.allocatable;
                free_[group_of(slot)] +=
                    in_whole_gpus({resource, free, share_offered(offered, resource)}).value();
            }
            GpuMilli beyond = offered_load(state.node(NodeId{slot}).facts).gpus * -1;
            for (const PodId id : state.node(NodeId{slot}).pods) {
                const PodRow& pod = state.pod(id);
                if (pod.job.exists()) running_.push_back(id);
                if (pod.standing == PodStanding::claimed) continue;  // others leave for it
                beyond += state.shapes().at(pod.shape).gpus;
            }
            if (beyond > GpuMilli{}) excess_[slot] = beyond.value();
        }
        for (const MaintenanceWindow& window : state.policy().windows) {
            const Instant first = next_occurrence(window, state.now()).end;
            if (!first.happened()) continue;
            openings_.push_back({first, 0, 0, {}});
            const Instant second = next_occurrence(window, first).end;
            if (second.happened()) openings_.push_back({second, 0, 0, {}});
        }
    }

    // Starts of jobs that go one after the other.
    std::map<JobId, Instant> in_line(const std::vector<JobId>& line, Pace pace) const {
        Releases releases;
        for (const Release& one : ends(pace)) releases.push(one);
        for (const Release& one : openings_) releases.push(one);
        std::map<JobId, Instant> out;
        std::vector<std::int64_t> free = free_;
        Instant now = state_.now();
        for (const JobId id : line) {
            const std::int64_t gpus = missing(id);
            const Stay stay = stay_of(id);
            const bool was_refused = lacks_room(refusal_of(state_, id));
            const auto has_room = [&] {
                const bool is_new = now > state_.now() || !was_refused;
                return is_new && usable(free, stay, now) >= gpus;
            };
            for (; !has_room() && !releases.empty(); releases.pop()) {
                now = std::max(now, releases.top().at);
                free[releases.top().group] += releases.top().gpus;
            }
            if (!has_room()) break;  // nor is told when those behind it start
            out[id] = now;
            const RunTimeQuestion about = state_.question_about(state_.job(id));
            const Duration run = run_time(state_.history().predict(about), about, pace);
            std::int64_t left = gpus;
            const WindowSet barred = state_.barred(stay, now);
            for (std::size_t i = 0; i < free.size(); ++i) {
                if ((groups_[i] & barred) != 0) continue;
                const std::int64_t here = std::min(left, free[i]);
                if (here <= 0) continue;
                free[i] -= here;
                left -= here;
                if (run > Duration{}) releases.push({now + run, here, i, {}});
            }
        }
        return out;
    }
    // Each as if it were next.
    std::map<JobId, Instant> alone(const std::vector<JobId>& line, Pace pace) const {
        std::vector<Release> sorted = ends(pace);
        sorted.insert(sorted.end(), openings_.begin(), openings_.end());
        std::sort(sorted.begin(), sorted.end(),
                  [](const Release& a, const Release& b) { return b > a; });
        std::map<JobId, Instant> out;
        for (const JobId id : line) {
            std::vector<std::int64_t> free = free_;
            Instant now = state_.now();
            const std::int64_t gpus = missing(id);
            const Stay stay = stay_of(id);
            for (auto next = sorted.begin(); usable(free, stay, now) < gpus && next != sorted.end();
                 ++next) {
                now = std::max(now, next->at);
                free[next->group] += next->gpus;
            }
            if (usable(free, stay, now) >= gpus) out[id] = now;
        }
        return out;
    }

    // When so much of what counts against a limit has ended that the job may hold what it asks
    // for; never: that cannot be told.
    [[nodiscard]] Instant within_limit(JobId id, const LimitHit& hit, Pace pace) const {
        const JobRow& job = state_.job(id);
        if (is_budget(hit.kind)) return within_budget(job, hit, pace);
        if (hit.kind == LimitKind::queue_jobs) return within_jobs(hit, pace);
        const auto counts = [&](PodId pod) {
            const JobRow& other = state_.job(state_.pod(pod).job);
            switch (hit.kind) {
                case LimitKind::queue_maximum:
                case LimitKind::queue_borrowing:
                    return is_below(state_, other.queue, hit.queue);
                case LimitKind::tenant_gpus:
                case LimitKind::tenant_pool_gpus:
                    return other.tenant == job.tenant;
                case LimitKind::pool_reserve:
                    return !state_.pod(pod).grows_with_demand;
                default:
                    return false;
            }
        };
        std::vector<Release> sorted = ends(pace, counts);
        std::sort(sorted.begin(), sorted.end(),
                  [](const Release& a, const Release& b) { return b > a; });
        std::int64_t excess = hit.held + hit.needed - hit.limit;
        for (const Release& one : sorted) {
            excess -= one.gpus;
            if (excess <= 0) return std::max(one.at, state_.now());
        }
        return {};
    }
    // When so many jobs of the queue have ended, each with its last pod.
    [[nodiscard]] Instant within_jobs(const LimitHit& hit, Pace pace) const {
        std::map<JobId, Instant> ends;  // never: nobody knows
        for (const PodId id : running_) {
            const PodRow& pod = state_.pod(id);
            if (!is_below(state_, state_.job(pod.job).queue, hit.queue)) continue;
            const Instant end = end_of(state_, pod, pace);
            const auto [found, is_new] = ends.try_emplace(pod.job, end);
            const bool is_known = end.happened() && found->second.happened();
            if (!is_new) found->second = is_known ? std::max(found->second, end) : Instant{};
        }
        std::vector<Instant> known;
        for (const auto& [job, end] : ends) {
            if (end.happened()) known.push_back(end);
        }
        std::sort(known.begin(), known.end());
        const auto excess = static_cast<std::size_t>(hit.held + hit.needed - hit.limit);
        if (excess == 0 || excess > known.size()) return {};
        return std::max(known[excess - 1], state_.now());
    }
    // What is committed to those who end before their limit comes back; the rest is a matter of
    // time. `hit` may count those as holding already who go before it.
    [[nodiscard]] Instant within_budget(const JobRow& job, const LimitHit& hit, Pace pace) const {
        const Budget& budget = state_.budgets().of(job, hit);
        const Spending& spending = budget.spending;
        const Instant now = state_.now();
        std::vector<BudgetDraw> draws;
        for (const PodId id : running_) {
            const PodRow& pod = state_.pod(id);
            const JobRow& other = state_.job(pod.job);
            const bool counts = hit.kind == LimitKind::queue_budget
                                    ? is_below(state_, other.queue, hit.queue)
                                    : other.tenant == job.tenant && other.pool == job.pool;
            if (!counts) continue;
            const bool is_claim = pod.standing == PodStanding::claimed;
            const bool is_limited = is_claim && other.run_time_max > Duration{};
            draws.push_back({state_.shapes().at(pod.shape).gpus,
                             is_limited ? now + other.run_time_max : pod.ends_at,
                             is_claim ? Instant{} : end_of(state_, pod, pace)});
        }
        Duration time = spending.period().end - now;
        if (job.run_time_max > Duration{}) time = std::min(time, job.run_time_max);
        const GpuMilli gpus{hit.needed / std::max<std::int64_t>(time.ms(), 1)};
        const GpuTime ahead = GpuTime{hit.held} - spending.used(now) - spending.committed(now);
        return begins_by_budget(budget.policy, spending, draws,
                                {gpus, job.run_time_max, ahead, now, now});
    }
    // By budget, what those in line need of it who go before; by job, of the one that stops it.
    [[nodiscard]] std::map<JobId, std::int64_t> ahead_in_budgets(
        const std::vector<JobId>& line) const {
        std::map<JobId, std::int64_t> out;
        if (state_.budgets().empty()) return out;
        std::map<const Budget*, std::int64_t> ahead;
        for (const JobId id : line) {
            const JobRow& job = state_.job(id);
            const LimitHit hit = limit_of(id);
            if (is_budget(hit.kind)) out[id] = ahead[&state_.budgets().of(job, hit)];
            const auto draw = [&](const Budget* budget) {
                if (budget == nullptr) return;
                const GpuMilli gpus{missing(id)};
                ahead[budget] +=
                    budget->spending.needed(gpus, job.run_time_max, state_.now()).value();
            };
            for (QueueId up = job.queue; up.exists(); up = state_.queue(up).parent) {
                draw(state_.budgets().of(up));
            }
            draw(state_.budgets().of(job.tenant, job.pool));
        }
        return out;
    }
    // What would be asked of its limits.
    [[nodiscard]] LimitHit limit_of(JobId id) const {
        return state_.limit_hit(state_.job(id), Load{GpuMilli{missing(id)}, {}, {}});
    }

    [[nodiscard]] std::int64_t missing(JobId id) const {
        std::int64_t gpus = 0;
        for (const PodId pod : state_.job(id).pods) {
            if (state_.pod(pod).standing != PodStanding::waiting) continue;
            gpus += state_.shapes().at(state_.pod(pod).shape).gpus.value();
        }
        return gpus;
    }

private:
    // Nodes that are in the same windows are one group; without windows there is one.
    std::size_t group_of(std::uint32_t slot) {
        const WindowSet windows = state_.node(NodeId{slot}).windows;
        const auto found = std::find(groups_.begin(), groups_.end(), windows);
        if (found != groups_.end()) return static_cast<std::size_t>(found - groups_.begin());
        groups_.push_back(windows);
        free_.push_back(0);
        return groups_.size() - 1;
    }
    [[nodiscard]] std::size_t group_of(const PodRow& pod) const {
        const WindowSet windows = state_.node(pod.node).windows;
        const auto found = std::find(groups_.begin(), groups_.end(), windows);
        return found == groups_.end() ? 0 : static_cast<std::size_t>(found - groups_.begin());
    }
    [[nodiscard]] Stay stay_of(JobId id) const {
        const JobRow& job = state_.job(id);
        return state_.has_windows() ? state_.stay_of(job, job.pods) : Stay{};
    }
    // GPUs on nodes that are open to it from then on for as long as it takes.
    [[nodiscard]] std::int64_t usable(const std::vector<std::int64_t>& free, const Stay& stay,
                                      Instant at) const {
        if (!state_.has_windows()) return free.front();
        const WindowSet barred = state_.barred(stay, at);
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < free.size(); ++i) {
            if ((groups_[i] & barred) == 0) sum += free[i];
        }
        return sum;
    }
    [[nodiscard]] std::vector<Release> ends(Pace pace) const {
        std::vector<Release> out = ends(pace, [](PodId) { return true; });
        if (excess_.empty()) return out;
        // What is in use beyond what a node has now comes free to nobody: that which ends first.
        std::stable_sort(out.begin(), out.end(),
                         [](const Release& a, const Release& b) { return b > a; });
        std::map<std::uint32_t, std::int64_t> left = excess_;
        for (Release& one : out) {
            const auto found = left.find(one.node.value());
            if (found == left.end()) continue;
            const std::int64_t lost = std::min(found->second, one.gpus);
            found->second -= lost;
            one.gpus -= lost;
        }
        return out;
    }
    template <typename Counts>
    [[nodiscard]] std::vector<Release> ends(Pace pace, Counts counts) const {
        std::vector<Release> out;
        for (const PodId pod : running_) {
            if (!counts(pod)) continue;
            const Instant end = end_of(state_, state_.pod(pod), pace);
            const GpuMilli gpus = state_.shapes().at(state_.pod(pod).shape).gpus;
            if (!end.happened() || gpus <= GpuMilli{0}) continue;
            out.push_back({end, gpus.value(), group_of(state_.pod(pod)), state_.pod(pod).node});
        }
        return out;
    }

    const ClusterState& state_;
    std::vector<WindowSet> groups_ = {0};
    std::vector<std::int64_t> free_ = {0};          // by group
    std::map<std::uint32_t, std::int64_t> excess_;  // by node: GPUs in use that it does not have
    std::vector<PodId> running_;
    std::vector<Release> openings_;
};

// To start at all: of a gang what its missing ranks ask for, of others what one pod does.
GpuMilli gpus_needed(const ClusterState& state, JobId id) {
    const ClassId waits_in = state.job(id).waits_in;
    if (!waits_in.exists()) return {};
    const Ask& ask = state.book().at(waits_in).key.ask;  // see ask_of(): mode, ranks, shape
    const bool all_or_nothing = (ask[0] & 1U) != 0;
    return state.shapes().at(ShapeId{ask[2]}).gpus * (all_or_nothing ? ask[1] : 1);
}

// Those that can start by what this forecast knows of; the others stand in nobody's way.
std::vector<JobId> foreseeable(const ClusterState& state, const std::vector<JobId>& line) {
    std::vector<JobId> out;
    for (const JobId id : line) {
        if (out.size() == kEstimatedMax) break;
        const Reason reason = refusal_of(state, id);
        if (is_about_room(reason) || is_limit(reason)) out.push_back(id);
    }
    return out;
}

// A job that was tried and refused does not start now, whatever the sum of free GPUs says.
StartEstimate believable(const ClusterState& state, const Forecast& forecast, JobId id,
                         std::int64_t ahead, StartEstimate estimate) {
    const Reason reason = refusal_of(state, id);
    if (is_limit(reason)) {
        LimitHit hit = forecast.limit_of(id);
        const Instant earliest = forecast.within_limit(id, hit, Pace::early);
        hit.held += ahead;
        // With those before it the next period might not be enough either.
        const bool is_long = is_budget(hit.kind) && ahead + hit.needed > hit.limit;
        const Instant likely = is_long ? Instant{} : forecast.within_limit(id, hit, Pace::median);
        if (!earliest.happened()) return {};
        estimate.earliest = std::max(estimate.earliest, earliest);
        estimate.likely = estimate.likely.happened() && likely.happened()
                              ? std::max({estimate.likely, likely, estimate.earliest})
                              : Instant{};
        estimate.latest = {};  // others of the queue or namespace may come before it
        return estimate;
    }
    if (reason == Reason::none) return estimate;
    if (estimate.likely <= state.now()) estimate.likely = {};
    if (estimate.latest <= state.now()) estimate.latest = {};
    return estimate;
}

// What room says, and what the budgets say of that moment: those of a period to come may stop it
// although this one does not.
void heed_budgets(const ClusterState& state, JobId id, GpuMilli gpus, StartEstimate& estimate) {
    const auto later = [&](Instant& at) {
        if (at.happened()) at = begins_by_budgets(state, state.job(id), gpus, at);
    };
    later(estimate.likely);
    later(estimate.latest);
    if (!estimate.earliest.happened()) return;
    estimate.earliest =
        begins_by_budgets(state, state.job(id), gpus, estimate.earliest, Others::end_at_once);
    if (!estimate.earliest.happened()) estimate = {};
}

// Of those that pass the first in line, as they are over by when it is promised room: they take
// turns among themselves.
std::map<JobId, Instant> passing(const ClusterState& state, const Forecast& forecast,
                                 const Promise& promise, const std::vector<JobId>& line) {
    std::map<JobId, Instant> out;
    if (!promise.job.exists() || !promise.at.happened()) return out;
    std::vector<JobId> limited;
    for (const JobId id : line) {
        if (id != promise.job && state.job(id).run_time_max > Duration{}) limited.push_back(id);
    }
    for (const auto& [id, at] : forecast.in_line(limited, Pace::median)) {
        if (at + state.job(id).run_time_max <= promise.at) out[id] = at;
    }
    return out;
}

}  // namespace

std::map<JobId, StartEstimate> estimate_starts(const ClusterState& state, PoolId pool,
                                               const std::vector<JobId>& line) {
    const std::vector<JobId> told = foreseeable(state, line);
    const Forecast forecast{state, pool};
    std::map<JobId, StartEstimate> out;
    for (const auto& [id, at] : forecast.in_line(told, Pace::late)) out[id].latest = at;
    for (const auto& [id, at] : forecast.in_line(told, Pace::median)) out[id].likely = at;
    for (const auto& [id, at] : forecast.alone(told, Pace::early)) out[id].earliest = at;
    const std::map<JobId, std::int64_t> ahead = forecast.ahead_in_budgets(told);
    const Promise& promise = state.pool(pool).promise;
    for (const auto& [id, at] : passing(state, forecast, promise, told)) {
        Instant& likely = out[id].likely;
        likely = likely.happened() ? std::min(likely, at) : at;
    }
    for (auto& [id, estimate] : out) {
        if (id == promise.job && promise.at.happened()) {
            estimate.latest = std::max(promise.at, std::max(estimate.latest, state.now()));
        }
        // Each of the three is rough in its own way; told together they must make sense.
        if (estimate.likely.happened() && estimate.latest.happened()) {
            estimate.latest = std::max(estimate.latest, estimate.likely);
        }
        if (estimate.likely.happened() && estimate.earliest.happened()) {
            estimate.earliest = std::min(estimate.earliest, estimate.likely);
        }
        heed_budgets(state, id, GpuMilli{forecast.missing(id)}, estimate);
        const auto before = ahead.find(id);
        estimate =
            believable(state, forecast, id, before == ahead.end() ? 0 : before->second, estimate);
    }
    std::erase_if(out, [](const auto& one) { return one.second == StartEstimate{}; });
    const PoolRow& row = state.pool(pool);
    const bool keeps = row.backfill.head == HeadOfLine::reserve &&
                       row.backfill.keep_after > Duration{} && !row.preemption.stops_by_run_time();
    for (auto& [id, estimate] : out) {
        estimate.may_be_passed = !row.keeps_for(id) && gpus_needed(state, id) > whole_gpus(1);
        if (!estimate.may_be_passed || !keeps) continue;
        estimate.room_kept_from = state.job(id).submitted_at + row.backfill.keep_after;
    }
    return out;
}

}  // namespace gpuctl
