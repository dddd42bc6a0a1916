#pragma once
// Seeded faults: known bugs that a build with GPUCTL_PLANTED can switch on, to check that the tests
// detect them (mutation testing). In any other build planted() is a constant, and the compiler
// removes the code that depends on it. Only .cpp files may call planted(), because headers are
// shared with objects that are built without GPUCTL_PLANTED; tools/tidy refuses a call in a header.

#include <array>
#include <cstdint>
#include <string_view>

namespace gpuctl {

// X(name, the effect of the fault). docs/simulation.md lists how soon each fault is detected.
// clang-format off
#define GPUCTL_PLANTED_BUGS(X) \
    X(forget_assumed_on_recovery, \
      "After a restart, binds that were never answered are sent again, but take no room.") \
    X(skip_queue_maximum, \
      "Limits: the maximum of a queue is not looked at.") \
    X(skip_tenant_quota, \
      "Limits: what a namespace may hold is not looked at.") \
    X(queue_maximum_off_by_one, \
      "One GPU more than the maximum of a queue.") \
    X(count_only_bound_in_quota, \
      "Binds in flight are not charged, only what is bound.") \
    X(memory_charged_for_ever, \
      "What a namespace holds of memory only grows.") \
    X(forget_queue_shrink, \
      "Nobody hears that a queue holds less: a lost wake-up.") \
    X(ignore_roles, \
      "Gangs: enough ranks make one whole, whatever their roles.") \
    X(any_rank_will_do, \
      "Gangs: the ranks that come first are placed, not those whose roles are missing.") \
    X(forget_tenant_shrink, \
      "Nobody hears that a namespace holds less: a lost wake-up.") \
    X(double_charge_on_move, \
      "A job that moves to another queue is charged there and not let off here.") \
    X(ended_pods_keep_room, \
      "A pod that ended still holds its node.") \
    X(equal_shares_by_age, \
      "Equal shares: who held more in the tick under way is not asked.") \
    X(leavers_have_had_their_turn, \
      "Whose turn it is: what those on their way out hold counts until they are gone.") \
    X(terminating_pods_free_room, \
      "A pod counts as gone while it is still being stopped.") \
    X(keep_room_on_release, \
      "A release forgets to give the node its room back.") \
    X(give_room_back_twice, \
      "A release gives the node its room back twice.") \
    X(forget_gain_on_release, \
      "Nobody hears that room came: a lost wake-up.") \
    X(list_pods_as_they_were, \
      "A pod changes and the index of jobs does not hear of it.") \
    X(forget_new_pods, \
      "A new pod does not bring its job back to the planner.") \
    X(forget_changed_nodes, \
      "Eligibility stays as it was when a node changes.") \
    X(forget_gain_on_uncordon, \
      "A node that takes work again wakes nobody.") \
    X(forget_grown_nodes, \
      "A node that grew wakes nobody.") \
    X(offer_removed_nodes, \
      "A node that is gone is still offered.") \
    X(ignore_effect_ids, \
      "An answer to an older bind counts for the one under way.") \
    X(forget_failed_binds, \
      "A pod whose bind failed stays assumed, and nobody tries again.") \
    X(no_backoff, \
      "A failed bind is tried again at once.") \
    X(refuse_binds_for_ever, \
      "A bind that was refused is not tried again until its pod changes.") \
    X(retry_refused_at_once, \
      "A bind that was refused is tried again at once.") \
    X(ignore_failed_deletions, \
      "A roll-back that the API server refused is taken for done.") \
    X(forget_gang_deadline, \
      "A gang's round has no deadline.") \
    X(old_epoch, \
      "Binds carry the epoch of the term before.") \
    X(forget_unanswered, \
      "What was never answered before a restart is not asked again.") \
    X(forget_retry_of_members, \
      "Gang members whose bind failed are not tried again.") \
    X(roll_back_running_gangs, \
      "A gang that ran as a whole is rolled back when it loses a rank.") \
    X(remember_stopped_gangs, \
      "A gang of which nothing is left starts as one that runs.") \
    X(forget_gangs_asked_to_go, \
      "A gang that was asked to go, and may stay, is taken for one that never ran.") \
    X(stop_short_gangs_at_once, \
      "A gang that ran and lacks ranks leaves what it holds to others without a delay.") \
    X(stop_no_stranded_gangs, \
      "A gang that ran and lacks ranks keeps what it holds for ever.") \
    X(start_anew_in_vain, \
      "A gang that lacks ranks is stopped to start elsewhere although it fits nowhere.") \
    X(no_timer_for_stranded_gangs, \
      "Nothing wakes those who wait when a gang has lacked ranks for too long.") \
    X(tell_nobody_of_stranded_gangs, \
      "Who was refused does not hear that a gang has lacked ranks for too long.") \
    X(forget_stranded_gangs_on_disk, \
      "Since when a gang lacks ranks is not written down.") \
    X(roll_back_all_but_one, \
      "A roll-back leaves the last rank behind.") \
    X(tell_half_a_gang, \
      "Users are told that a gang started when half of it did.") \
    X(keep_unfit_members, \
      "A reservation on a node that went or shrank is kept.") \
    X(one_rank_fewer, \
      "A gang may start with one rank fewer.") \
    X(count_terminating_ranks, \
      "Ranks that are being stopped count as there.") \
    X(ignore_backoff, \
      "A job in backoff is tried all the same.") \
    X(never_lift_blocks, \
      "A class that was refused once is refused for ever.") \
    X(resume_like_others, \
      "A half-bound gang waits its turn like new work.") \
    X(pod_slots_off_by_one, \
      "One pod more than a node has slots for.") \
    X(forget_new_demand, \
      "Nobody hears that a queue wants more than its guarantee, or no longer does.") \
    X(forget_gain_on_policy, \
      "A policy that allows more wakes nobody.") \
    X(stale_index, \
      "A node that shrank or grew stays where it was in the index.") \
    X(fit_by_first_need, \
      "Whether a node has room is asked of its first resource only.") \
    X(drop_the_undo, \
      "A placement that was only tried is not undone.") \
    X(begin_a_bucket_too_high, \
      "Best fit skips the nodes that fit exactly.") \
    X(ignore_taints, \
      "Taints keep nobody away.") \
    X(ignore_cordons, \
      "A cordon keeps nobody away while its taint is missing.") \
    X(ignore_node_selectors, \
      "A nodeSelector selects every node.") \
    X(ignore_gpu_models, \
      "One GPU model is as good as another.") \
    X(low_priority_first, \
      "The order of priorities is turned round.") \
    X(ignore_tenant_shares, \
      "Namespaces do not share: the oldest job goes first, whoever has most.") \
    X(youngest_first, \
      "Between equals the youngest goes first.") \
    X(last_of_its_class, \
      "Of equal jobs the one that came last is placed.") \
    X(ignore_queue_priority, \
      "Queues have no priority.") \
    X(ignore_guarantees, \
      "Queues have no guarantee.") \
    X(ignore_queue_weights, \
      "Queues share alike, whatever their weight.") \
    X(refuse_for_ever, \
      "A shape that found no room is not tried again when room came.") \
    X(refuse_smaller_gangs, \
      "What is too much together is refused in smaller numbers, too.") \
    X(idle_when_out_of_tries, \
      "A Plan that used up its tries takes the rest for done.") \
    X(watch_the_wrong_counter, \
      "A job that lacks room waits for its queue to shrink.") \
    X(count_full_gpus_as_free, \
      "Users are told of free GPUs that are taken.") \
    X(count_ranks_on_full_nodes, \
      "Users are told of room for ranks that only an empty node has.") \
    X(count_refusing_nodes, \
      "Users are told of nodes for their job that refuse it.") \
    X(no_timer_for_backoff, \
      "Nothing wakes a job when its backoff is over.") \
    X(no_timer_for_gangs, \
      "Nothing wakes a half-bound gang at its deadline.") \
    X(no_timer_for_workloads, \
      "Nothing wakes a job whose workload could not be made.") \
    X(forget_wake_in_a_new_term, \
      "A new term does not ask for the wake-up of the last one.") \
    X(believe_in_old_wakes, \
      "A wake-up asked for before a restart is believed in when nothing is due.") \
    X(forget_open_workloads, \
      "What became of a workload sent in the last term is not asked again.") \
    X(write_without_leading, \
      "Workloads are made by whoever is asked.") \
    X(delete_overtakes_create, \
      "A workload is deleted while its creation is under way.") \
    X(lose_jobs_without_pods, \
      "A job is forgotten when its last pod goes.") \
    X(forget_started_gangs_on_disk, \
      "That a gang once ran as a whole is not written down.") \
    X(forget_timers_on_disk, \
      "Timers are not set again after a restart.") \
    X(skip_a_level, \
      "Limits of the queues above a job's own are not looked at.") \
    X(charge_the_leaf_only, \
      "What a queue holds is not charged to the queues above it.") \
    X(borrow_one_too_many, \
      "One GPU more than the borrowing limit of a queue.") \
    X(keep_no_model_back, \
      "A guarantee of a GPU model is lent in full, whatever the lending limit.") \
    X(keep_nothing_back, \
      "Guarantees are lent in full, whatever the lending limit.") \
    X(one_job_too_many, \
      "One job more than a queue may have running.") \
    X(skip_gpus_per_job, \
      "How many GPUs one job may have is not looked at.") \
    X(skip_pool_quota, \
      "What a namespace may hold of a pool is not looked at.") \
    X(skip_model_limits, \
      "What a queue may hold of a GPU model is not looked at.") \
    X(share_of_gpus_only, \
      "Shares count GPUs only, whatever CPU and memory is held.") \
    X(forget_decay, \
      "What was used once counts for ever.") \
    X(forget_usage_on_disk, \
      "What was used is not written down.") \
    X(nobody_ages, \
      "Waiting does not raise a job's priority.") \
    X(one_order_for_all, \
      "Every queue and pool orders by fair share, whatever its policy says.") \
    X(compare_leaves_only, \
      "Queues are compared as if all of them lay directly below the pool.") \
    X(ignore_promises, \
      "Work passes the first in line whatever was promised to it.") \
    X(promise_without_limit, \
      "Work without a limit passes the first in line.") \
    X(keep_room_at_once, \
      "Nodes are kept for the first in line however short it has waited.") \
    X(keep_behind_services, \
      "Nodes are kept that services hold, which do not end.") \
    X(pass_under_limits, \
      "Work passes whoever a limit stops, by using up what that leaves.") \
    X(keep_old_searches, \
      "What was found for a promise is told again when the pool has changed.") \
    X(evict_all_but_one, \
      "The last victim of a decision is not asked to go.") \
    X(keep_no_claim, \
      "What victims leave is kept for nobody.") \
    X(forget_claims, \
      "Nobody hears that the room it claimed is free.") \
    X(forget_new_victims, \
      "Nobody hears that somebody could be stopped for it: a lost wake-up.") \
    X(no_timer_for_claims, \
      "Nothing wakes a job whose claim was in vain.") \
    X(forget_evictions_on_disk, \
      "How often a job was moved is not written down.") \
    X(charge_evictions_when_asked, \
      "An eviction is charged to the budget of its job when it is asked for, whatever becomes of it.") \
    X(count_replicas_as_one, \
      "Replicas of a service share the budget of evictions of one job.") \
    X(forget_moves_of_replicas, \
      "A pod that stands in the place of one that was evicted has never been moved.") \
    X(stop_equals_for_short, \
      "A short job has others stopped of which less is left than of itself.") \
    X(forget_what_was_done, \
      "What a job did before it was stopped for shorter work is forgotten.") \
    X(preempt_equals, \
      "Jobs of the same priority are stopped as well.") \
    X(preempt_the_unwilling, \
      "Jobs that may not be preempted are.") \
    X(preempt_only_the_low, \
      "Of pods whose users say nothing only those of low priority are stopped for higher priority.") \
    X(reclaim_by_priority, \
      "Pods that may be stopped for higher priority are also stopped for a guarantee.") \
    X(preempt_half_a_gang, \
      "Of a gang, only one rank is stopped.") \
    X(preempt_in_vain, \
      "Victims are stopped without showing that the job then fits.") \
    X(reclaim_guarantees, \
      "A queue is made to give back more than it borrowed.") \
    X(reclaim_one_too_many, \
      "A queue takes back one GPU more than it is guaranteed.") \
    X(never_reclaim, \
      "What was lent of a guarantee does not come back.") \
    X(reclaim_gpus_only, \
      "A guarantee is stopped by work without GPUs that holds the CPU or memory beside them.") \
    X(keep_stale_claims, \
      "A claim on a node that takes no more work is kept and used.") \
    X(keep_empty_devices_open, \
      "A GPU whose last part was given back is not whole again.") \
    X(overfill_a_gpu, \
      "A GPU takes a part that is a tenth of a GPU larger than what is left of it.") \
    X(forget_who_leaves, \
      "Nobody knows when pods that are being deleted are gone.") \
    X(last_part_leaves_its_share, \
      "Whom to stop: the last part of a GPU is thought to leave no more than itself.") \
    X(claim_no_device, \
      "Claims for a part of a GPU are settled without the device that they are for.") \
    X(start_at_once_after_a_claim, \
      "Whom to stop: the time that victims take is not counted when a window is near.") \
    X(bind_without_device, \
      "A bind does not say on which GPU the pod's part lies.") \
    X(forget_devices_on_disk, \
      "On which GPU a pod's part lies is not written down.") \
    X(miss_a_changed_node, \
      "The node that changed last is judged by what it was.") \
    X(claims_fill_guarantees, \
      "What is claimed counts as held where a guarantee is kept back.") \
    X(promise_past_the_untried, \
      "A Plan that goes on promises anew, whoever was not tried yet.") \
    X(any_rack_will_do, \
      "Gangs that require one rack start in whichever their ranks fit.") \
    X(forget_where_the_others_are, \
      "A rank is placed as if the others of its job were nowhere.") \
    X(forget_what_racks_gain, \
      "What comes free in a rack is not counted there.") \
    X(never_shrink, \
      "Elastic jobs keep all their ranks, whoever waits.") \
    X(shrink_below_the_minimum, \
      "An elastic job gives one rank more than it may.") \
    X(shrink_for_anybody, \
      "Elastic jobs yield to jobs of lower priority, too.") \
    X(shrink_in_its_pool_alone, \
      "Ranks in other pools keep the quota of their namespace, whoever lacks it.") \
    X(offer_in_its_pool_alone, \
      "Who lacks a namespace's quota is not woken by ranks of another pool that may go now.") \
    X(grow_past_limits, \
      "An elastic job grows beyond what its queue may hold.") \
    X(grow_before_others, \
      "Elastic jobs grow before those who wait were tried.") \
    X(forget_what_was_worked, \
      "How far an elastic job is that says how fast it is by size is not written down.") \
    X(forget_sizes_on_disk, \
      "How many ranks an elastic job has is not written down.") \
    X(long_jobs_begin_last, \
      "A job that has to begin now goes by what is left of it, behind all that is shorter.") \
    X(hurry_who_missed_the_target, \
      "Who has waited for longer than the pool's waitTarget still goes sooner for it.") \
    X(no_timer_for_wait_targets, \
      "Nobody looks up when a job nears the pool's waitTarget: a lost wake-up.") \
    X(stop_who_has_to_go_on, \
      "Who would run on alone when all else is done is stopped for shorter work all the same.") \
    X(due_by_length_alone, \
      "When a job came has no say in when it is due.") \
    X(late_work_first, \
      "Work that cannot be done when it is due goes before work that can.") \
    X(no_timer_for_the_late, \
      "Nobody looks up when a job can no longer be done when it is due: a lost wake-up.") \
    X(ignore_health, \
      "Maintenance: a node that is told to be unhealthy takes work.") \
    X(ignore_windows_to_come, \
      "Maintenance: work starts that will not be over when the window begins.") \
    X(never_reopen, \
      "Maintenance: nobody hears that a window is over: a lost wake-up.") \
    X(no_timer_for_windows, \
      "Maintenance: windows begin and end when something else happens.") \
    X(drain_half_a_gang, \
      "Maintenance: of a gang only the ranks on the nodes of the window are stopped.") \
    X(drain_the_unwilling, \
      "Maintenance: a drain stops whatever has a controller.") \
    X(forget_postponed_drains, \
      "Maintenance: who could not be stopped at once is not asked again.") \
    X(reserve_for_nobody, \
      "Reservations: whom they are for is kept out, too.") \
    X(ignore_the_reserve, \
      "What a pool reserves for work that grows with demand is given to all.") \
    X(spend_without_committing, \
      "Budgets: what runs is counted by what it used, not by what it will.") \
    X(forgive_overdrafts, \
      "Budgets: what was used beyond one is forgotten with its period.") \
    X(no_timer_for_budgets, \
      "Budgets: nobody hears that a period is over, or that its rest is short enough.") \
    X(forget_budgets_on_disk, \
      "Budgets: what was used is not written down.") \
    X(ignore_model_preference, \
      "Of several GPU models any will do, whichever comes first in the list.") \
    X(mix_models_in_a_gang, \
      "Ranks that come later go to another GPU model than the others of their gang.") \
    X(keep_finished_for_ever, \
      "Finished jobs: their age is not looked at.") \
    X(keep_one_finished_too_many, \
      "Finished jobs: one more is kept than may be.") \
    X(summarize_the_newest, \
      "Finished jobs: the newest are summarized, and the oldest kept in full.") \
    X(summarize_too_soon, \
      "Finished jobs: one is summarized although its controller makes further pods.") \
    X(finished_names_are_free, \
      "Finished jobs: another job takes the name of one that is kept as a summary.") \
    X(take_ended_pods_for_new, \
      "Finished jobs: a pod of a summarized job that is reported again makes it a job again.") \
    X(forget_finished_on_disk, \
      "Finished jobs: summaries are not written down.") \
    X(ignore_host_ports, \
      "A port of a node is given to as many pods as ask for it.") \
    X(ignore_volumes, \
      "A pod goes to nodes that its volumes do not reach.") \
    X(strand_gpus_by_pod_slots, \
      "Packing: pods without GPUs take the last pod slots of nodes with idle ones.")
// clang-format on

enum class PlantedBug : std::uint8_t {
    none,
#define GPUCTL_AS_ENUMERATOR(name, meaning) name,
    GPUCTL_PLANTED_BUGS(GPUCTL_AS_ENUMERATOR)
#undef GPUCTL_AS_ENUMERATOR
};

struct PlantedBugRow {
    PlantedBug bug;
    std::string_view name;
    std::string_view meaning;
};

inline constexpr auto kPlantedBugs = std::to_array<PlantedBugRow>({
#define GPUCTL_AS_ROW(name, meaning) PlantedBugRow{PlantedBug::name, #name, meaning},
    GPUCTL_PLANTED_BUGS(GPUCTL_AS_ROW)
#undef GPUCTL_AS_ROW
});

#ifdef GPUCTL_PLANTED
bool planted(PlantedBug bug);
// Selects the fault by name; "none" selects no fault. Returns false if no fault has this name.
bool plant(std::string_view name);
#else
constexpr bool planted(PlantedBug) { return false; }
#endif

}  // namespace gpuctl
