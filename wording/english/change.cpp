// What-if: a change, and that the waiting job would start with it.

#include <array>

#include "scheduler/model/amount_text.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {
namespace {

constexpr std::int64_t kMsPerMinute = 60'000;

std::string gpus_of(GpuMilli gpus) { return amounts::gpus_noun(gpus.value()); }

// As in the file of a job: "1d4h".
std::string as_written(Duration limit) {
    struct Unit {
        std::int64_t ms;
        const char* name;
    };
    constexpr std::array<Unit, 5> units = {
        Unit{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}, {1, "ms"}};
    std::string text;
    std::int64_t left = limit.ms();
    for (const Unit& unit : units) {
        if (left >= unit.ms) text += std::to_string(left / unit.ms) + unit.name;
        left %= unit.ms;
    }
    return text;
}

std::string limit_name(const change::RaisedLimit& limit) {
    const fact::LimitHolder& at = limit.holder;
    const std::string of = (at.queue.empty() ? "namespace " + at.tenant : "queue " + at.queue) +
                           (at.pool.empty() ? "" : " in pool " + at.pool);
    if (limit.unit == fact::LimitUnit::gpu_time) return "the budget of " + of;
    switch (limit.rule) {
        case fact::LimitRule::jobs_at_once:
            return "maxJobs of " + of;
        case fact::LimitRule::gpus_per_job:
            return "maxGpuPerJob of " + of;
        case fact::LimitRule::guarantee_and_borrowing:
            return "the guarantee and borrowing limit of " + of + " together";
        case fact::LimitRule::pool_quota:
            return "the quota of " + of;
        case fact::LimitRule::maximum:
        case fact::LimitRule::tenant_maximum:
        case fact::LimitRule::reserved_for_siblings:
        case fact::LimitRule::reserved_for_growth:
        case fact::LimitRule::reserved_for_queues:
            break;
    }
    return "the maximum of " + of + (limit.model.empty() ? "" : " of " + limit.model);
}

// "the maximum of queue dev were 20 GPUs instead of 16"
std::string raised(const change::RaisedLimit& limit) {
    const bool is_number =
        limit.rule == fact::LimitRule::jobs_at_once || limit.rule == fact::LimitRule::gpus_per_job;
    return limit_name(limit) + " were " +
           (is_number ? amounts::limit_amount(limit.unit, limit.to)
                      : amounts::limit_amount_noun(limit.unit, limit.to)) +
           " instead of " + amounts::limit_amount(limit.unit, limit.from);
}

std::string all_raised(const std::vector<change::RaisedLimit>& limits) {
    std::string text;
    for (const change::RaisedLimit& limit : limits) {
        text += (text.empty() ? "" : ", and ") + raised(limit);
    }
    return text;
}

std::string with_raised(const std::vector<change::RaisedLimit>& limits) {
    return limits.empty() ? "" : all_raised(limits) + ", and ";
}

std::string lost_work(std::int64_t gpu_ms) {
    if (gpu_ms == 0) return "no work would be lost";
    return amounts::count((gpu_ms + kMsPerMinute - 1) / kMsPerMinute, "GPU-minute", "GPU-minutes") +
           " of work would be repeated";
}

std::string next_to(TopologyLevel level) {
    if (level == TopologyLevel::none) return "";
    return level == TopologyLevel::nvlink ? ", in its NVLink island"
                                          : ", in its " + std::string{to_string(level)};
}

std::string preempted(const ChangeEffect& effect) {
    std::string text;
    for (const PreemptedByChange& one : effect.preempts) {
        text += (text.empty() ? ", and that would preempt " : ", ") + to_string(one.job) + " (" +
                (one.is_at_most ? "up to " : "") + gpus_of(one.gpus) +
                (one.continues ? " of the job)" : ")");
    }
    const std::int64_t more = effect.preempts_total - std::ssize(effect.preempts);
    return more > 0 ? text + " and " + std::to_string(more) + " more" : text;
}

}  // namespace

std::string words(const change::FewerGpus& change) {
    return " now with " + amounts::gpus_noun(change.resource, change.gpus.value()) +
           (change.is_per_rank ? " per rank" : " per pod") + " instead of " +
           std::to_string(change.instead_of);
}

std::string words(const change::FewerRanks& change) {
    return " now with " + amounts::ranks_text(change.ranks) + " instead of " +
           std::to_string(change.instead_of);
}

std::string words(const change::ShorterRunTime& change) {
    const bool has_one = change.instead_of > Duration{};
    if (change.is_submitted) {
        return " now with maxRunTime " + as_written(change.limit) +
               (has_one ? " instead of " + as_written(change.instead_of) : " (it has none)");
    }
    const auto seconds = [](Duration time) { return std::to_string(time.ms() / 1'000); };
    return " now with activeDeadlineSeconds " + seconds(change.limit) +
           (has_one ? " instead of " + seconds(change.instead_of) : " (its pods have none)");
}

std::string words(const change::OtherQueue& change) { return " now in queue " + change.queue; }

std::string words(const change::OtherPool& change) { return " now in pool " + change.pool; }

std::string words(const change::HigherLimits& change) { return " if " + all_raised(change.limits); }

std::string words(const change::JobsMove& change) {
    std::string text =
        " now if " + amounts::count(std::ssize(change.moves), "job moved: ", "jobs moved: ");
    for (const change::Move& move : change.moves) {
        text += (&move == &change.moves.front() ? "" : "; ") + to_string(move.job) + " (" +
                gpus_of(move.gpus) + ") from " + list_of(move.from) + " to " + list_of(move.to);
    }
    return text + "; " + lost_work(change.lost_gpu_ms) + "; gpuctl moves no job by itself";
}

std::string words(const change::JobEnds& change) {
    return " if " + with_raised(change.limits) + to_string(change.job) + " (" +
           gpus_of(change.gpus) + ") ended";
}

std::string words(const change::MoreNodes& change) {
    const std::string nodes = amounts::count(change.nodes, "more node", "more nodes") + " like " +
                              change.like + next_to(change.level);
    if (change.limits.empty()) return " with " + nodes;
    return " if " + with_raised(change.limits) + "there were " + nodes;
}

std::string words_of(const ChangeEffect& effect) {
    const bool starts = effect.pods_started >= effect.pods_waiting;
    const std::string started = starts ? "it would start"
                                       : std::to_string(effect.pods_started) + " of its " +
                                             std::to_string(effect.pods_waiting) +
                                             " waiting pods would start";
    return started + std::visit([](const auto& one) { return words(one); }, effect.change) +
           preempted(effect);
}

}  // namespace gpuctl::wording::english
