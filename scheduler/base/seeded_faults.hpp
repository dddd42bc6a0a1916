#pragma once
// Seeded faults: known bugs that a build with GPUCTL_SEEDED_FAULTS can switch on, to check that the
// tests detect them (mutation testing). In any other build has_fault() is a constant, and the
// compiler removes the code that depends on it. Only .cpp files may call has_fault(), because
// headers are shared with objects that are built without GPUCTL_SEEDED_FAULTS; tools/tidy refuses a
// call in a header.

#include <array>
#include <cstdint>
#include <string_view>

namespace gpuctl {

// X(name, the effect of the fault). docs/simulation.md lists how soon each fault is detected.
// clang-format off
#define GPUCTL_FAULT_TABLE(X) \
    X(forget_assumed_on_recovery, \
      "After a restart, unanswered binds are sent again, but hold no capacity.") \
    X(skip_queue_maximum, \
      "Limits: the maximum of a queue is not checked.") \
    X(skip_tenant_quota, \
      "Limits: the quota of a namespace is not checked.") \
    X(queue_maximum_off_by_one, \
      "A queue may hold one GPU more than its maximum.") \
    X(count_only_bound_in_quota, \
      "Bound pods are charged, binds in flight are not.") \
    X(memory_charged_for_ever, \
      "Memory that a namespace releases stays charged to it.") \
    X(forget_queue_shrink, \
      "When a queue holds less, no job is woken: a lost wake-up.") \
    X(ignore_roles, \
      "Gangs: enough ranks complete a gang, whatever their roles.") \
    X(any_rank_will_do, \
      "Gangs: the first ranks are placed, not the ranks whose roles are missing.") \
    X(forget_tenant_shrink, \
      "When a namespace holds less, no job is woken: a lost wake-up.") \
    X(double_charge_on_move, \
      "A job that moves to another queue stays charged to the old one, too.") \
    X(ended_pods_keep_room, \
      "A pod that has ended still holds its node.") \
    X(equal_shares_by_age, \
      "Equal shares: usage in the current tick does not break the tie.") \
    X(count_terminating_in_order, \
      "Order of queues: what terminating pods hold counts until they are gone.") \
    X(terminating_pods_free_room, \
      "A terminating pod counts as gone.") \
    X(keep_room_on_release, \
      "A release does not return the capacity to the node.") \
    X(give_room_back_twice, \
      "A release returns the capacity to the node twice.") \
    X(forget_gain_on_release, \
      "When capacity becomes free, no job is woken: a lost wake-up.") \
    X(list_pods_as_they_were, \
      "The index of jobs is not updated when a pod changes.") \
    X(forget_new_pods, \
      "A new pod does not put its job in line again.") \
    X(forget_changed_nodes, \
      "Cached eligibility is not updated when a node changes.") \
    X(forget_gain_on_uncordon, \
      "When a node accepts work again, no job is woken.") \
    X(forget_grown_nodes, \
      "When a node grows, no job is woken.") \
    X(offer_removed_nodes, \
      "A removed node is still offered to pods.") \
    X(ignore_effect_ids, \
      "The answer to an older bind counts for the bind in flight.") \
    X(forget_failed_binds, \
      "A pod whose bind failed stays assumed, and the bind is not tried again.") \
    X(no_backoff, \
      "A failed bind is tried again at once.") \
    X(refuse_binds_for_ever, \
      "A refused bind is not tried again until its pod changes.") \
    X(retry_refused_at_once, \
      "A refused bind is tried again at once.") \
    X(ignore_failed_deletions, \
      "A deletion for a roll-back that the API server refused counts as done.") \
    X(forget_gang_deadline, \
      "The binds of a gang have no deadline.") \
    X(old_epoch, \
      "Binds carry the epoch of the previous term.") \
    X(forget_unanswered, \
      "Effects without an answer before a restart are not sent again.") \
    X(forget_retry_of_members, \
      "Gang members whose bind failed are not tried again.") \
    X(roll_back_running_gangs, \
      "A gang that ran completely is rolled back when it loses a rank.") \
    X(remember_stopped_gangs, \
      "A gang without any rank left starts as if it had run before.") \
    X(forget_gangs_asked_to_go, \
      "A gang whose eviction was requested, and that may stay, counts as a gang that never ran.") \
    X(stop_short_gangs_at_once, \
      "A gang that ran and lacks ranks may be evicted before its deadline.") \
    X(stop_no_stranded_gangs, \
      "A gang that ran and lacks ranks keeps its capacity for ever.") \
    X(restart_gangs_without_room, \
      "A gang that lacks ranks is evicted to start elsewhere although it fits nowhere.") \
    X(no_timer_for_stranded_gangs, \
      "No timer wakes waiting jobs when a gang has lacked ranks for too long.") \
    X(wake_no_job_for_stranded_gangs, \
      "Refused jobs are not woken when a gang has lacked ranks for too long.") \
    X(forget_stranded_gangs_on_disk, \
      "The time since which a gang lacks ranks is not stored.") \
    X(roll_back_all_but_one, \
      "A roll-back leaves the last rank behind.") \
    X(report_half_a_gang, \
      "A half-started gang is reported as started.") \
    X(keep_unfit_members, \
      "A reservation on a node that was removed or shrank is kept.") \
    X(one_rank_fewer, \
      "A gang may start with one rank fewer than its minimum.") \
    X(count_terminating_ranks, \
      "Terminating ranks count as present.") \
    X(ignore_backoff, \
      "A job in backoff is tried nevertheless.") \
    X(never_lift_blocks, \
      "A class that was refused once stays refused for ever.") \
    X(resume_like_others, \
      "A half-bound gang waits for its turn like a new job.") \
    X(pod_slots_off_by_one, \
      "A node takes one pod more than it has slots for.") \
    X(forget_new_demand, \
      "When the demand of a queue crosses its guarantee, no job is woken.") \
    X(forget_gain_on_policy, \
      "When a new policy allows more, no job is woken.") \
    X(stale_index, \
      "A node that shrank or grew is not moved in the index.") \
    X(fit_by_first_need, \
      "Only the first resource decides whether a node has room.") \
    X(drop_the_undo, \
      "A trial placement is not undone.") \
    X(begin_a_bucket_too_high, \
      "Best fit skips the nodes that fit exactly.") \
    X(ignore_taints, \
      "Taints exclude no pod.") \
    X(ignore_cordons, \
      "A cordon excludes no pod while its taint is missing.") \
    X(ignore_node_selectors, \
      "A nodeSelector selects every node.") \
    X(ignore_gpu_models, \
      "The requested GPU model is ignored.") \
    X(low_priority_first, \
      "Jobs of lower priority are tried first.") \
    X(ignore_tenant_shares, \
      "Shares of namespaces are ignored: the oldest job is tried first.") \
    X(youngest_first, \
      "Among equal jobs the youngest is tried first.") \
    X(last_of_its_class, \
      "Among the jobs of a class the last one is placed.") \
    X(ignore_queue_priority, \
      "Priorities of queues are ignored.") \
    X(ignore_guarantees, \
      "Guarantees of queues are ignored.") \
    X(ignore_queue_weights, \
      "Weights of queues are ignored.") \
    X(refuse_for_ever, \
      "A shape that found no room is not tried again after capacity became free.") \
    X(refuse_smaller_gangs, \
      "The refusal of a large gang also applies to smaller ones.") \
    X(idle_when_out_of_tries, \
      "A Plan that used up its attempts reports that nothing is left to try.") \
    X(watch_the_wrong_counter, \
      "A job that lacks room waits for its queue to shrink.") \
    X(count_full_gpus_as_free, \
      "GPUs in use are reported as free.") \
    X(count_ranks_on_full_nodes, \
      "Room for ranks is reported that only an empty node has.") \
    X(count_refusing_nodes, \
      "Nodes that refuse the job are reported as usable.") \
    X(no_timer_for_backoff, \
      "No timer wakes a job when its backoff is over.") \
    X(no_timer_for_gangs, \
      "No timer wakes a half-bound gang at its deadline.") \
    X(no_timer_for_workloads, \
      "No timer wakes a job whose workload could not be created.") \
    X(forget_wake_in_a_new_term, \
      "A new term does not request the wake-up of the previous term.") \
    X(believe_in_old_wakes, \
      "A wake-up requested before a restart counts although nothing is due.") \
    X(forget_open_workloads, \
      "A new term does not resend unanswered writes of workloads.") \
    X(write_without_leading, \
      "Workloads are created without leadership.") \
    X(delete_overtakes_create, \
      "A workload is deleted while its creation is in flight.") \
    X(lose_jobs_without_pods, \
      "A job is forgotten when its last pod is removed.") \
    X(forget_started_gangs_on_disk, \
      "It is not stored that a gang ran completely once.") \
    X(forget_timers_on_disk, \
      "Timers are not set again after a restart.") \
    X(skip_a_level, \
      "Limits of the queues above the job's queue are not checked.") \
    X(charge_the_leaf_only, \
      "Usage of a queue is not charged to the queues above it.") \
    X(borrow_one_too_many, \
      "A queue may borrow one GPU more than its borrowing limit.") \
    X(lend_whole_model_guarantees, \
      "A guarantee of a GPU model is lent completely, whatever the lending limit.") \
    X(lend_whole_guarantees, \
      "Guarantees are lent completely, whatever the lending limit.") \
    X(one_job_too_many, \
      "A queue may run one job more than its limit.") \
    X(skip_gpus_per_job, \
      "The limit of GPUs per job is not checked.") \
    X(skip_pool_quota, \
      "The quota of a namespace in one pool is not checked.") \
    X(skip_model_limits, \
      "The limits of a queue for a GPU model are not checked.") \
    X(share_of_gpus_only, \
      "Shares count GPUs only, not CPU and memory.") \
    X(forget_decay, \
      "Past usage does not decay.") \
    X(forget_usage_on_disk, \
      "Past usage is not stored.") \
    X(ignore_ageing, \
      "Waiting does not raise the priority of a job.") \
    X(one_order_for_all, \
      "Every queue and pool orders by fair share, whatever its policy states.") \
    X(compare_leaves_only, \
      "Queues are compared as if all of them were directly below the pool.") \
    X(ignore_head_reservations, \
      "Jobs pass the head of the line although they delay its reservation.") \
    X(backfill_without_limit, \
      "Jobs without a run-time limit pass the head of the line.") \
    X(keep_room_at_once, \
      "Nodes are kept for the head of the line however short it has waited.") \
    X(keep_behind_services, \
      "Nodes that services hold, which do not end, are kept for the head of the line.") \
    X(pass_under_limits, \
      "Jobs pass a head under a limit by using up the rest of the limit.") \
    X(keep_old_searches, \
      "A cached reservation is reported again after the pool has changed.") \
    X(evict_all_but_one, \
      "The last victim of a decision is not evicted.") \
    X(keep_no_nomination, \
      "The capacity that victims release is not nominated for a job.") \
    X(forget_nominations, \
      "When nominated capacity is free, its job is not woken.") \
    X(forget_new_victims, \
      "When a pod becomes evictable for a job, the job is not woken: a lost wake-up.") \
    X(no_timer_for_nominations, \
      "No timer wakes a job whose nomination has expired.") \
    X(forget_evictions_on_disk, \
      "The number of evictions of a job is not stored.") \
    X(charge_evictions_when_asked, \
      "The eviction budget is charged at the request, whatever its outcome.") \
    X(count_replicas_as_one, \
      "All replicas of a service share the eviction budget of one job.") \
    X(forget_moves_of_replicas, \
      "The replacement of an evicted pod counts as never evicted.") \
    X(stop_equals_for_short, \
      "A short job has jobs evicted that have less remaining work than itself.") \
    X(forget_what_was_done, \
      "The progress of a job preempted for shorter work is forgotten.") \
    X(preempt_equals, \
      "Jobs of the same priority are preempted, too.") \
    X(preempt_the_unwilling, \
      "Jobs that may not be preempted are preempted.") \
    X(preempt_only_the_low, \
      "Pods without a stated preemptibility are preempted only if their priority is low.") \
    X(reclaim_by_priority, \
      "Pods that only a higher priority may preempt are also reclaimed.") \
    X(preempt_half_a_gang, \
      "Only one rank of a gang is preempted.") \
    X(preempt_without_fit, \
      "Victims are evicted without a proof that the job fits afterwards.") \
    X(reclaim_guarantees, \
      "A queue has to return more than it borrowed.") \
    X(reclaim_one_too_many, \
      "A queue reclaims one GPU more than its guarantee.") \
    X(never_reclaim, \
      "Lent guarantees are not reclaimed.") \
    X(reclaim_gpus_only, \
      "Work without GPUs that blocks the CPU or memory of guaranteed GPUs stays.") \
    X(keep_stale_nominations, \
      "A nomination on a node that accepts no more work is kept and used.") \
    X(keep_empty_devices_open, \
      "A GPU without any fraction left does not become whole again.") \
    X(overfill_a_gpu, \
      "A GPU takes a fraction that exceeds its free rest by a tenth of a GPU.") \
    X(forget_termination_times, \
      "The end of terminating pods is unknown.") \
    X(last_part_leaves_its_share, \
      "Victims: the last fraction on a GPU is assumed to release only itself.") \
    X(nominate_no_device, \
      "Nominations of fractions of a GPU are used without their device.") \
    X(ignore_termination_before_windows, \
      "Victims: the time until they have terminated does not count before a window.") \
    X(bind_without_device, \
      "The bind of a fraction does not name its GPU.") \
    X(forget_devices_on_disk, \
      "The GPU of a fraction is not stored.") \
    X(miss_a_changed_node, \
      "The node that changed last is evaluated by its previous state.") \
    X(nominations_fill_guarantees, \
      "Nominated capacity counts as held where a guarantee is reserved.") \
    X(reserve_past_the_untried, \
      "A continued Plan makes a new reservation before all jobs were tried.") \
    X(any_rack_will_do, \
      "Gangs that require one rack start on any nodes.") \
    X(forget_where_the_others_are, \
      "A rank is placed as if the other ranks of its job had no nodes.") \
    X(forget_what_racks_gain, \
      "Capacity that becomes free in a rack is not counted there.") \
    X(never_shrink, \
      "Elastic jobs keep all their ranks while other jobs wait.") \
    X(shrink_below_the_minimum, \
      "An elastic job releases one rank too many.") \
    X(shrink_for_lower_priority, \
      "Elastic jobs release ranks for jobs of lower priority, too.") \
    X(shrink_in_its_pool_alone, \
      "Ranks in other pools keep the quota of their namespace when a job lacks it.") \
    X(offer_in_its_pool_alone, \
      "A job that lacks quota is not woken by ranks of another pool that may go now.") \
    X(grow_past_limits, \
      "An elastic job grows beyond the limits of its queue.") \
    X(grow_before_others, \
      "Elastic jobs grow before all waiting jobs were tried.") \
    X(forget_what_was_worked, \
      "The progress of elastic jobs with stated speeds is not stored.") \
    X(forget_sizes_on_disk, \
      "The number of ranks of an elastic job is not stored.") \
    X(long_jobs_begin_last, \
      "A job that must begin now is ordered by its remaining work, behind shorter jobs.") \
    X(hurry_jobs_past_the_target, \
      "A job that has waited longer than the pool's waitTarget still precedes other jobs for it.") \
    X(no_timer_for_wait_targets, \
      "No timer wakes a job that nears the pool's waitTarget: a lost wake-up.") \
    X(preempt_makespan_critical_jobs, \
      "A job that would run alone at the end is preempted for shorter work.") \
    X(due_by_length_alone, \
      "The due time of a job does not depend on its submission time.") \
    X(late_work_first, \
      "Jobs that cannot meet their due time precede jobs that can.") \
    X(no_timer_for_the_late, \
      "No timer wakes jobs when a job can no longer meet its due time: a lost wake-up.") \
    X(ignore_health, \
      "Maintenance: a node that is reported unhealthy accepts work.") \
    X(ignore_windows_to_come, \
      "Maintenance: jobs start that will not have ended when the window begins.") \
    X(never_reopen, \
      "Maintenance: when a window ends, no job is woken: a lost wake-up.") \
    X(no_timer_for_windows, \
      "Maintenance: windows begin and end only with the next event.") \
    X(drain_half_a_gang, \
      "Maintenance: only the ranks of a gang on nodes of the window are evicted.") \
    X(drain_the_unwilling, \
      "Maintenance: a drain evicts every pod with a controller.") \
    X(forget_postponed_drains, \
      "Maintenance: postponed evictions are not requested again.") \
    X(reserve_for_no_job, \
      "Reservations: jobs that a window is reserved for are excluded, too.") \
    X(ignore_the_reserve, \
      "Every job may use the reserve of a pool for services and extra ranks.") \
    X(spend_without_committing, \
      "Budgets: running jobs count with their used time, not with the committed time.") \
    X(forgive_overdrafts, \
      "Budgets: an overdraft is forgotten at the end of its period.") \
    X(no_timer_for_budgets, \
      "Budgets: no job is woken when a period ends, or when its rest is short enough.") \
    X(forget_budgets_on_disk, \
      "Budgets: the used time is not stored.") \
    X(ignore_model_preference, \
      "The order of the accepted GPU models is ignored.") \
    X(mix_models_in_a_gang, \
      "Later ranks of a gang use another GPU model than its other ranks.") \
    X(keep_finished_for_ever, \
      "Finished jobs: their age is not checked.") \
    X(keep_one_finished_too_many, \
      "Finished jobs: one job more is kept than allowed.") \
    X(summarize_the_newest, \
      "Finished jobs: the newest are summarized, and the oldest kept in full.") \
    X(summarize_too_soon, \
      "Finished jobs: a job is summarized although its controller creates further pods.") \
    X(finished_names_are_free, \
      "Finished jobs: another job takes the name of a job that is kept as a summary.") \
    X(take_ended_pods_for_new, \
      "Finished jobs: a pod of a summarized job is reported again and becomes a job.") \
    X(forget_finished_on_disk, \
      "Finished jobs: summaries are not stored.") \
    X(ignore_host_ports, \
      "Several pods get the same port of a node.") \
    X(ignore_volumes, \
      "A pod is placed on nodes that cannot access its volumes.") \
    X(keep_no_seats, \
      "Pauses: a paused job keeps no room for its pods.") \
    X(seats_cost_nothing, \
      "Pauses: the room that a paused job keeps is not charged to its queue and namespace.") \
    X(keep_seats_after_release, \
      "Pauses: a job keeps its room although its user releases it.") \
    X(place_paused_jobs, \
      "Pauses: waiting pods of a paused job are placed.") \
    X(forget_seats_on_disk, \
      "Pauses: the room that a paused job keeps is not stored.") \
    X(take_stale_changes, \
      "Changes: a change of a job that was changed meanwhile is accepted.") \
    X(forget_open_node_changes, \
      "Nodes: a new term does not resend unanswered changes of nodes.") \
    X(send_node_changes_together, \
      "Nodes: several changes of a node are carried out at the same time.") \
    X(take_changes_of_other_jobs, \
      "Changes: a change that is meant for an earlier job changes the job that has its name now.") \
    X(keep_refused_changes, \
      "Changes: a change that the cluster refused for good is not undone.") \
    X(drop_seats_on_resume, \
      "Pauses: a resumed job loses the room that it kept.") \
    X(forget_waiting_node_changes, \
      "Nodes: a change that waits for another of its node is not sent after that.") \
    X(forget_node_changes_on_disk, \
      "Nodes: changes without an answer are not stored.") \
    X(keep_moved_nodes, \
      "Pools: a node that moves to another pool is still offered in its former pool.") \
    X(count_moved_nodes_twice, \
      "Pools: a node that moves to another pool is still counted in its former pool.") \
    X(keep_deleted_queues, \
      "Policy: a queue that was deleted still exists.") \
    X(keep_deleted_quotas, \
      "Policy: the quota of a namespace still limits it after it was deleted.") \
    X(forget_gain_on_quota, \
      "Policy: when the quota of a namespace is raised, no job is woken: a lost wake-up.") \
    X(take_stale_policy_objects, \
      "Policy: an object that is older than the known one replaces it.") \
    X(delete_replaced_policy_objects, \
      "Policy: the deletion of an object also deletes the one that has replaced it.") \
    X(forget_policy_objects_on_disk, \
      "Policy: an object is not stored.") \
    X(strand_gpus_by_pod_slots, \
      "Packing: pods without GPUs take the last pod slots of nodes with idle GPUs.")
// clang-format on

enum class SeededFault : std::uint8_t {
    none,
#define GPUCTL_AS_ENUMERATOR(name, meaning) name,
    GPUCTL_FAULT_TABLE(GPUCTL_AS_ENUMERATOR)
#undef GPUCTL_AS_ENUMERATOR
};

struct SeededFaultRow {
    SeededFault fault;
    std::string_view name;
    std::string_view meaning;
};

inline constexpr auto kSeededFaults = std::to_array<SeededFaultRow>({
#define GPUCTL_AS_ROW(name, meaning) SeededFaultRow{SeededFault::name, #name, meaning},
    GPUCTL_FAULT_TABLE(GPUCTL_AS_ROW)
#undef GPUCTL_AS_ROW
});

#ifdef GPUCTL_SEEDED_FAULTS
bool has_fault(SeededFault fault);
// Selects the fault by name; "none" selects no fault. Returns false if no fault has this name.
bool select_fault(std::string_view name);
#else
constexpr bool has_fault(SeededFault) { return false; }
#endif

}  // namespace gpuctl
