// The order of waiting jobs: what is reserved for the head of the line, and which pods stay.

#include "scheduler/model/amount_text.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {
namespace {

// A reservation holds for as long as nothing else changes.
constexpr const char* kUnless =
    " (if running jobs use up their run-time limits and no other job becomes head of line)";

// Why this job would delay the head of the line.
std::string run_time(Duration limit) {
    return limit > Duration{} ? "; this job may run for " + span(limit)
                              : "; this job has no maxRunTime that ends before";
}

std::string held_by(fact::Holders holders, bool is_within_guarantee) {
    switch (holders) {
        case fact::Holders::lower_priority:
            return " held by lower-priority pods that ";
        case fact::Holders::over_guarantee:
            return " held in queues above their guarantees by pods that ";
        case fact::Holders::on_nodes_with_free_gpus:
            return std::string{" held by pods "} + (is_within_guarantee ? "with" : "without") +
                   " GPUs that ";
        case fact::Holders::more_remaining_work:
            return " held by pods of jobs with more remaining work that ";
        case fact::Holders::due_later:
            return " held by pods of jobs with later due times that ";
    }
    return "";
}

// Preemption by run time needs the consent of users, which a user of such a pool may not know.
std::string how_to_allow(fact::Holders holders) {
    const bool is_by_run_time =
        holders == fact::Holders::more_remaining_work || holders == fact::Holders::due_later;
    return is_by_run_time ? ": set preemptible: true on them" : "";
}

std::string why_not_evicted(const fact::PodsNotEvicted& fact) {
    const std::string rest = fact.rest ? " for another " + span(*fact.rest) : "";
    switch (fact.why) {
        case fact::NotEvicted::not_preemptible:
            return "are not preemptible (preemptible: false, the default of gpuctl jobs above "
                   "priority low; preemptible: true would allow it)";
        case fact::NotEvicted::not_stated:
            return "are not marked as preemptible (preemptible: true)" + how_to_allow(fact.holders);
        case fact::NotEvicted::not_stated_in_pool:
            return "are not marked as preemptible (preemptible: true), which their pool requires "
                   "(preemption.victims)";
        case fact::NotEvicted::no_controller:
            return "no controller would create again";
        case fact::NotEvicted::evicted_often:
            return fact.rest ? "reached their evictions per hour and stay" + rest +
                                   " (policy.evictionsPerJobPerHour)"
                             : "are never evicted (policy.evictionsPerJobPerHour)";
        case fact::NotEvicted::in_protected_run_time:
            return "started recently and are protected" + rest + " (policy.runTimeProtected)";
        case fact::NotEvicted::refused_before:
            return "could not be evicted and stay" + rest;
        case fact::NotEvicted::behind_reservation:
            return "are preemptible, but too few are outside the nodes reserved for " + fact.head;
        case fact::NotEvicted::gang_within_guarantee:
            return "belong to jobs that also hold guaranteed GPUs of their queues";
        case fact::NotEvicted::within_guarantee:
            return "belong to queues within their guarantees";
        case fact::NotEvicted::ends_last:
            return "would otherwise run alone after all other jobs";
    }
    return "";
}

}  // namespace

std::string words(const fact::ShortJobsFirst& fact) {
    return std::to_string(fact.percent) + " % of pool " + fact.pool +
           " are reserved for jobs shorter than " + span(fact.run_time) +
           "; this job is expected to run longer; a maxRunTime of at most " + span(fact.run_time) +
           " makes it short, and after a wait of " + span(fact.wait_maximum) +
           " (waitMaximum) the reserve no longer counts for it";
}

std::string words(const fact::HeadOfLine& fact) {
    return "; it has waited " + span(fact.waited) +
           " and is the head-of-line job: capacity freed on the nodes where it fits first is "
           "reserved for it";
}

std::string words(const fact::HasReservation& fact) {
    const std::string text = "; it is the head-of-line job";
    if (!fact.starts_in) return text;
    return text + " and starts in at most " + span(*fact.starts_in) + kUnless;
}

std::string words(const fact::NodesKeptForHead& fact) {
    return "its room is reserved for the head-of-line job " + fact.head + ", which has waited " +
           span(fact.waited);
}

std::string words(const fact::DelaysReservation& fact) {
    return "its room is reserved for the head-of-line job " + fact.head +
           ", which starts in at most " + span(fact.starts_in) + run_time(fact.run_time_max);
}

std::string words(const fact::HeadUnderLimit& fact) {
    if (!fact.within_in) {
        return "; it has waited " + span(fact.waited) +
               " and is the head-of-line job: quota freed under that limit is reserved for it";
    }
    return "; it is the head-of-line job: quota freed under that limit is reserved for it and "
           "suffices in at most " +
           span(*fact.within_in) + kUnless;
}

std::string words(const fact::LimitReservedForHead& fact) {
    return "; it preempts no job: quota freed under the limit of " + holder_of(fact.holder) +
           " is reserved for the head-of-line job " + fact.head +
           "; raise that limit, or wait until that job has started";
}

std::string words(const fact::LimitReserved& fact) {
    const std::string text =
        "the free quota of " +
        (fact.holder ? holder_of(*fact.holder) : "its queue and its namespace") +
        " is reserved for the head-of-line job " + fact.head;
    if (!fact.within_in) return text + ", which has waited " + span(fact.waited);
    return text + ", which has enough in at most " + span(*fact.within_in) +
           run_time(fact.run_time_max);
}

std::string words(const fact::PodsNotEvicted& fact) {
    const std::string amount =
        amounts::amount_text(fact.held.kind, fact.held.resource, fact.held.amount);
    return "; " + amount +
           (fact.holders == fact::Holders::on_nodes_with_free_gpus ? " on nodes with free GPUs"
                                                                   : "") +
           (amount.starts_with("1 ") ? " is" : " are") +
           held_by(fact.holders, fact.why == fact::NotEvicted::within_guarantee) +
           why_not_evicted(fact);
}

std::string words(const fact::PreemptsNothing& fact) {
    return "; " + amounts::gpus_noun(fact.gpus) +
           " are held by lower-priority pods, but it does not preempt (preemptionPolicy: Never)";
}

}  // namespace gpuctl::wording::english
