#pragma once
// The first seed that shows each planted bug (scheduler/base/planted.hpp) which takes more than a
// few: lived first, so that a search of hundreds of lives need not be repeated whenever the tests
// run. The engine's next change makes other lives of them: who is not caught here is looked for
// from seed 1. Written by `./tools/simulate --planted-table`.

#include <cstdint>
#include <string_view>

namespace gpuctl::bench {

struct WitnessSeed {
    std::string_view bug;
    std::uint64_t seed = 0;
};

inline constexpr WitnessSeed kWitnessSeeds[]{
    // begin
    {"forget_queue_shrink", 29},
    {"any_rank_will_do", 16},
    {"forget_tenant_shrink", 17},
    {"equal_shares_by_age", 287},
    {"leavers_have_had_their_turn", 18},
    {"ignore_effect_ids", 277},
    {"forget_failed_binds", 5},
    {"no_backoff", 5},
    {"ignore_failed_deletions", 13},
    {"forget_unanswered", 18},
    {"forget_retry_of_members", 5},
    {"roll_back_running_gangs", 33},
    {"remember_stopped_gangs", 33},
    {"forget_gangs_asked_to_go", 33},
    {"stop_short_gangs_at_once", 64},
    {"stop_no_stranded_gangs", 93},
    {"start_anew_in_vain", 79},
    {"no_timer_for_stranded_gangs", 93},
    {"tell_nobody_of_stranded_gangs", 93},
    {"forget_stranded_gangs_on_disk", 224},
    {"tell_half_a_gang", 95},
    {"keep_unfit_members", 158},
    {"count_terminating_ranks", 20},
    {"ignore_backoff", 5},
    {"resume_like_others", 35},
    {"pod_slots_off_by_one", 10},
    {"forget_new_demand", 73},
    {"ignore_taints", 5},
    {"ignore_tenant_shares", 86},
    {"youngest_first", 13},
    {"last_of_its_class", 642},
    {"ignore_queue_priority", 20},
    {"no_timer_for_backoff", 5},
    {"no_timer_for_gangs", 18},
    {"no_timer_for_workloads", 1991},
    {"believe_in_old_wakes", 74},
    {"delete_overtakes_create", 9},
    {"skip_a_level", 5},
    {"keep_no_model_back", 41},
    {"one_job_too_many", 6},
    {"skip_gpus_per_job", 35},
    {"nobody_ages", 32},
    {"one_order_for_all", 41},
    {"ignore_promises", 5},
    {"promise_without_limit", 5},
    {"keep_room_at_once", 5},
    {"keep_behind_services", 9},
    {"pass_under_limits", 247},
    {"keep_old_searches", 8},
    {"forget_new_victims", 10},
    {"forget_evictions_on_disk", 35},
    {"charge_evictions_when_asked", 85},
    {"count_replicas_as_one", 50},
    {"stop_equals_for_short", 25},
    {"forget_what_was_done", 19},
    {"preempt_equals", 8},
    {"preempt_only_the_low", 10},
    {"reclaim_by_priority", 12},
    {"preempt_half_a_gang", 18},
    {"reclaim_guarantees", 6},
    {"reclaim_one_too_many", 6},
    {"reclaim_gpus_only", 11},
    {"last_part_leaves_its_share", 38},
    {"claim_no_device", 23},
    {"start_at_once_after_a_claim", 6},
    {"claims_fill_guarantees", 370},
    {"never_shrink", 10},
    {"shrink_below_the_minimum", 22},
    {"shrink_for_anybody", 15},
    {"shrink_in_its_pool_alone", 23},
    {"offer_in_its_pool_alone", 291},
    {"grow_before_others", 5},
    {"long_jobs_begin_last", 683},
    {"due_by_length_alone", 86},
    {"late_work_first", 6},
    {"no_timer_for_the_late", 6},
    {"never_reopen", 9},
    {"no_timer_for_windows", 508},
    {"drain_half_a_gang", 29},
    {"drain_the_unwilling", 13},
    {"forget_postponed_drains", 14},
    {"reserve_for_nobody", 6},
    {"ignore_the_reserve", 23},
    {"spend_without_committing", 16},
    {"forgive_overdrafts", 24},
    {"forget_budgets_on_disk", 17},
    {"ignore_model_preference", 17},
    {"keep_finished_for_ever", 6},
    {"summarize_the_newest", 5},
    {"take_ended_pods_for_new", 18},
    {"forget_finished_on_disk", 18},
    {"strand_gpus_by_pod_slots", 34},
    // end
};

}  // namespace gpuctl::bench
