#include "policy_document/expert_keys.hpp"

#include <algorithm>

#include "policy_document/run_time_rules.hpp"
#include "policy_document/tables.hpp"

namespace gpuctl::config {
namespace {

std::vector<Key<Policy>> scheduling_keys() {
    return {
        count("podsReservedPerNode", &Policy::pods_reserved_per_node, 0, 1'000,
              "pod slots per node kept free; you need this when DaemonSets do not find a slot, or "
              "more than two start late"),
        span("backoffInitial", &Policy::backoff_initial, 1, kMsPerHour,
             "pause after an error of the cluster, doubled each time; you need this when the API "
             "server is overloaded by repeats"),
        span("backoffMaximum", &Policy::backoff_maximum, 1, kMsPerDay,
             "the longest such pause; you need this when jobs start too long after an outage"),
        span("gangBindDeadline", &Policy::gang_bind_deadline, kMsPerSecond, kMsPerHour,
             "a gang that is half bound for this long is rolled back; you need this when binding a "
             "gang of hundreds of pods takes longer"),
        span("usageHalfLife", &Policy::usage_half_life, 0, 60 * kMsPerDay,
             "past usage counts half after this long, 0s: not at all; you need this when a busy "
             "week should weigh on a team for more or less time"),
        count("ageingStep", &Policy::ageing_step, 0, 1'000'000,
              "added to a job's priority (low 100, medium 500000, high 1000000) for each "
              "ageingEvery waited; you need this when low-priority jobs starve"),
        span("ageingEvery", &Policy::ageing_every, kMsPerSecond, kMsPerDay,
             "you need this when ageingStep is set: the time between two steps"),
        count("ageingMaximum", &Policy::ageing_maximum, 0, 2'000'000,
              "you need this when ageingStep is set: the most that ageing adds"),
        span("growthPause", &Policy::growth_pause, 0, kMsPerDay,
             "an elastic job does not grow for this long after a start or a change of size; you "
             "need this when a change of size costs minutes"),
        span("resizePaybackTime", &Policy::resize_pays_within, 0, kMsPerDay,
             "an elastic job with a speedup changes size if that pays within this time, 0s: as if "
             "it had none; you need this when declared speedups are wrong"),
        count("planAttemptsMax", &Policy::plan_attempts_max, 1, 10'000'000,
              "jobs tried in one planning pass; you need this when more jobs wait and a pass "
              "delays the API"),
    };
}

std::vector<Key<PoolPolicy>> pool_keys() {
    return {
        required(text("name", &PoolPolicy::name, "a pool of policy.pools")),
        group("backfill", lift_all(&PoolPolicy::backfill, keys<BackfillPolicy>()),
              "when the head-of-line job does not fit, or a limit stops it"),
        group("preemption", lift_all(&PoolPolicy::preemption, expert_preemption_keys()),
              "which running jobs a job that does not fit preempts"),
    };
}

// What every pool without an entry has under the policy of the cluster.
PoolPolicy example_pool(const PolicyDocument& document) {
    PoolPolicy pool;
    pool.name = "training-pool";
    apply_named_policy(*find_named_policy(document.policy_name), pool);
    return pool;
}

std::vector<Shown> show_pool(const PoolPolicy& pool, const std::vector<Key<PoolPolicy>>& table) {
    std::vector<Shown> shown = show_keys(pool, table);
    for (Shown& section : shown) {
        for (Shown& key : section.members) key.without_effect = why_without_effect(pool, key.name);
    }
    return shown;
}

PoolPolicy* find_pool(PolicyDocument& document, const std::string& name) {
    for (PoolPolicy& pool : document.policy.pools) {
        if (pool.name == name) return &pool;
    }
    return nullptr;
}

void read_pool_numbers(const wire::Field& element, const std::vector<Key<PoolPolicy>>& table,
                       PolicyDocument& document) {
    PoolPolicy unknown;
    PoolPolicy* pool = nullptr;
    if (element && element.json().is_object()) {
        const wire::Field field = wire::Fields{element}.find("name");
        const std::string name =
            field && !field.json().is_structured() ? field.text().value_or("") : std::string{};
        pool = find_pool(document, name);
        std::vector<std::string>& known = document.expert_pools;
        if (!name.empty() && pool == nullptr) {
            field.error("there is no pool " + name +
                        " in policy.pools: list it there, a name is enough");
        } else if (pool != nullptr && std::find(known.begin(), known.end(), name) != known.end()) {
            element.error("the pool " + name + " is given twice");
        }
        known.push_back(name);
    }
    (void)read_keys(element, pool != nullptr ? *pool : unknown, table);
}

Key<PolicyDocument> expert_pools() {
    const std::vector<Key<PoolPolicy>> table = pool_keys();
    return {"pools",
            "numbers of a pool's named policy; you need this when docs/policies names a number to "
            "change for your jobs",
            false,
            [table](const wire::Field& field, PolicyDocument& document) {
                if (field.is_null()) return report_nothing_in(field);
                for (const wire::Field& element : field.elements()) {
                    read_pool_numbers(element, table, document);
                }
            },
            [table](const PolicyDocument& document, Shown& shown) {
                shown.form = Shown::Form::list;
                shown.absent = shown.in_force = document.policy.pools.empty();
                for (const PoolPolicy& pool : document.policy.pools) {
                    shown.items.push_back(show_pool(pool, table));
                }
                if (shown.absent) {
                    shown.items.push_back(show_pool(example_pool(document), table));
                }
            }};
}

void check_backoff(const wire::Field& field, PolicyDocument& document) {
    if (document.policy.backoff_initial > document.policy.backoff_maximum) {
        field.error("expert.scheduling.backoffInitial is longer than backoffMaximum");
    }
}

}  // namespace

template <>
const std::vector<Key<BackfillPolicy>>& keys<BackfillPolicy>() {
    static const std::vector<Key<BackfillPolicy>> table = {
        choice(
            "head", &BackfillPolicy::head,
            {{"reserve", HeadOfLine::reserve}, {"noReservation", HeadOfLine::step_aside}},
            "reserve: the head-of-line job gets a reservation, except with preemption.mode "
            "shortest or due; you need noReservation when small jobs may delay large ones without "
            "end"),
        span("reserveAfter", &BackfillPolicy::keep_after, 0, 365 * kMsPerDay,
             "without run-time limits, nodes are kept for a job that has waited this long, 0s: "
             "never; you need this when large jobs without limits starve"),
        span("ageing", &BackfillPolicy::ageing, kMsPerSecond, 365 * kMsPerDay,
             "order SHORTEST: each such wait halves a job's run time in the order; you need this "
             "when long jobs wait too long"),
        span("waitMaximum", &BackfillPolicy::patience, kMsPerSecond, 365 * kMsPerDay,
             "order SHORTEST: a job that has waited this long goes first; you need this when the "
             "longest wait must be bounded"),
        count("shortPercent", &BackfillPolicy::short_percent, 0, 90,
              "percent of the pool's GPUs never held by jobs longer than shortRunTime; you need "
              "this when short jobs wait behind long ones"),
        span("shortRunTime", &BackfillPolicy::short_run_time, kMsPerSecond, 365 * kMsPerDay,
             "you need this when shortPercent is set: the longest short job, predicted from its "
             "limit and past jobs of its namespace"),
    };
    return table;
}

const std::vector<Key<PreemptionPolicy>>& expert_preemption_keys() {
    static const std::vector<Key<PreemptionPolicy>> table = {
        choice("mode", &PreemptionPolicy::mode,
               {{"priority", PreemptionMode::priority},
                {"shortest", PreemptionMode::shortest},
                {"due", PreemptionMode::due}},
               "priority, or order SHORTEST also: shortest (for less remaining work), due (for a "
               "late job), of jobs with preemptible: true only; you need priority when jobs cannot "
               "continue after preemption"),
        count("slowdownPercent", &PreemptionPolicy::slowdown_percent, 100, 100'000,
              "mode due: a job is late after this percent of its run time alone; you need this "
              "when twice the run time is too late or too strict"),
        choice("guarantees", &PreemptionPolicy::guarantees,
               {{"always", GuaranteeRule::always},
                {"whenDemandFits", GuaranteeRule::when_demand_fits}},
               "always, or whenDemandFits: only of queues that hold and wait for no more than "
               "their guarantee; you need always when a guarantee is a contract"),
        span("waitTarget", &PreemptionPolicy::wait_target, 0, 365 * kMsPerDay,
             "mode shortest: a job that has nearly waited this long goes sooner, 0s: off; you need "
             "this when your agreed wait is another"),
    };
    return table;
}

template <>
const std::vector<Key<PreemptionPolicy>>& keys<PreemptionPolicy>() {
    static const std::vector<Key<PreemptionPolicy>> table = {
        choice(
            "victims", &PreemptionPolicy::victims,
            {{"lowerPriority", PreemptionVictims::lower_priority},
             {"preemptible", PreemptionVictims::preemptible}},
            "pods preempted for higher priority: lowerPriority (all that do not opt out; jobs of "
            "gpuctl create above priority low must opt in) or preemptible (those that opt in, "
            "and pods of low priority)"),
        moved<PreemptionPolicy>("mode", "has moved to expert.pools[].preemption.mode"),
        moved<PreemptionPolicy>("slowdownPercent",
                                "has moved to expert.pools[].preemption.slowdownPercent"),
        moved<PreemptionPolicy>("guarantees", "has moved to expert.pools[].preemption.guarantees"),
        moved<PreemptionPolicy>("waitTarget", "has moved to expert.pools[].preemption.waitTarget"),
        moved<PreemptionPolicy>("makespanPercent",
                                "is no longer a key: throughput and fair contain it; try numbers "
                                "with gpuctl-trace-replay --makespan-percent"),
        moved<PreemptionPolicy>("gpuExponentPercent",
                                "is no longer a key: it is 80 in every policy; try numbers with "
                                "gpuctl-trace-replay --gpu-exponent-percent"),
        moved<PreemptionPolicy>("gainPercent",
                                "is no longer a key: it is 100 in every policy; try numbers with "
                                "gpuctl-trace-replay --gain-percent"),
    };
    return table;
}

std::vector<Key<PolicyDocument>> expert_policy_sections() {
    std::vector<Key<PolicyDocument>> sections;
    sections.push_back(group("scheduling", lift_all(&PolicyDocument::policy, scheduling_keys()),
                             "of all pools; may change on SIGHUP", {check_backoff}));
    sections.push_back(expert_pools());
    return sections;
}

}  // namespace gpuctl::config
