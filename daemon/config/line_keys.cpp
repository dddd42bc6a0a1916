// The keys of a pool that say what becomes of jobs that find no room.

#include "daemon/config/tables.hpp"

namespace gpuctl::config {
template <>
const std::vector<Key<BackfillPolicy>>& keys<BackfillPolicy>() {
    static const std::vector<Key<BackfillPolicy>> table = {
        choice("head", &BackfillPolicy::head,
               {{"reserve", HeadOfLine::reserve}, {"stepAside", HeadOfLine::step_aside}},
               "reserve: it is promised GPUs, or what that limit leaves; stepAside: it waits"),
        span("keepAfter", &BackfillPolicy::keep_after, 0, 365 * kMsPerDay,
             "where no limits tell when: one that came so long ago is kept both; 0: never"),
        span("ageing", &BackfillPolicy::ageing, kMsPerSecond, 365 * kMsPerDay,
             "with order: SHORTEST, waiting so long counts like half the run time"),
        span("patience", &BackfillPolicy::patience, kMsPerSecond, 365 * kMsPerDay,
             "with order: SHORTEST, a job that has waited so long goes first"),
        count("shortPercent", &BackfillPolicy::short_percent, 0, 90,
              "of the pool's GPUs, never held by work predicted to run longer than ..."),
        span("shortRunTime", &BackfillPolicy::short_run_time, kMsPerSecond, 365 * kMsPerDay,
             "... this, by its limit and past jobs of its namespace"),
    };
    return table;
}

template <>
const std::vector<Key<PreemptionPolicy>>& keys<PreemptionPolicy>() {
    static const std::vector<Key<PreemptionPolicy>> table = {
        choice("mode", &PreemptionPolicy::mode,
               {{"priority", PreemptionMode::priority},
                {"shortest", PreemptionMode::shortest},
                {"due", PreemptionMode::due}},
               "priority: for higher priority; in order SHORTEST also for less work, or work due"),
        count("gpuExponentPercent", &PreemptionPolicy::gpu_exponent_percent, 0, 200,
              "work is the time left times GPUs to this power; 0: time alone"),
        count("gainPercent", &PreemptionPolicy::gain_percent, 100, 10'000,
              "of the shorter job's work, left at least of one that is stopped, after its price"),
        count("slowdownPercent", &PreemptionPolicy::slowdown_percent, 100, 100'000,
              "of the time that a job needs alone: when that has passed since it came it is due"),
        count("makespanPercent", &PreemptionPolicy::makespan_percent, 0, 1'000,
              "a job that needs so much of the time that all known work needs goes first; 0: off"),
        choice("guarantees", &PreemptionPolicy::guarantees,
               {{"always", GuaranteeRule::always},
                {"whenDemandFits", GuaranteeRule::when_demand_fits}},
               "whenDemandFits: of queues that hold and wait for no more than theirs; or always"),
        span("waitTarget", &PreemptionPolicy::wait_target, 0, 365 * kMsPerDay,
             "with mode: shortest, who has nearly waited so long in all goes sooner; 0: off"),
        choice("victims", &PreemptionPolicy::victims,
               {{"lowerPriority", PreemptionVictims::lower_priority},
                {"preemptible", PreemptionVictims::preemptible}},
               "pods that go for higher priority: lowerPriority (all that do not say no) or "
               "preemptible"),
    };
    return table;
}

}  // namespace gpuctl::config
