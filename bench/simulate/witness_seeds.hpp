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
    {"skip_queue_maximum", 218},
    {"forget_queue_shrink", 5},
    {"forget_grown_nodes", 28},
    {"ignore_effect_ids", 268},
    {"forget_failed_binds", 5},
    {"no_backoff", 5},
    {"forget_unanswered", 5},
    {"forget_retry_of_members", 5},
    {"roll_back_running_gangs", 33},
    {"stop_short_gangs_at_once", 93},
    {"stop_no_stranded_gangs", 322},
    {"start_anew_in_vain", 79},
    {"no_timer_for_stranded_gangs", 86},
    {"tell_nobody_of_stranded_gangs", 486},
    {"forget_stranded_gangs_on_disk", 224},
    {"tell_half_a_gang", 53},
    {"keep_unfit_members", 158},
    {"count_terminating_ranks", 20},
    {"ignore_backoff", 5},
    {"resume_like_others", 257},
    {"pod_slots_off_by_one", 6},
    {"forget_new_demand", 619},
    {"ignore_taints", 5},
    {"ignore_tenant_shares", 86},
    {"youngest_first", 9},
    {"last_of_its_class", 763},
    {"ignore_queue_priority", 13},
    {"no_timer_for_backoff", 5},
    {"no_timer_for_workloads", 826},
    {"believe_in_old_wakes", 26},
    {"delete_overtakes_create", 9},
    {"forget_started_gangs_on_disk", 36},
    {"skip_a_level", 5},
    {"one_job_too_many", 6},
    {"skip_gpus_per_job", 35},
    {"skip_model_limits", 5},
    {"nobody_ages", 32},
    {"one_order_for_all", 12},
    {"ignore_promises", 171},
    {"promise_without_limit", 171},
    {"keep_room_at_once", 18},
    {"keep_behind_services", 9},
    {"keep_old_searches", 5},
    {"forget_new_victims", 9},
    {"no_timer_for_claims", 524},
    {"forget_evictions_on_disk", 21},
    {"stop_equals_for_short", 25},
    {"forget_what_was_done", 21},
    {"preempt_equals", 18},
    {"preempt_half_a_gang", 9},
    {"reclaim_one_too_many", 6},
    {"keep_stale_claims", 236},
    {"miss_a_changed_node", 7},
    {"claims_fill_guarantees", 129},
    {"promise_past_the_untried", 259},
    {"never_shrink", 10},
    {"shrink_below_the_minimum", 10},
    {"shrink_for_anybody", 27},
    {"grow_before_others", 7},
    {"long_jobs_begin_last", 683},
    {"stop_who_has_to_go_on", 114},
    {"due_by_length_alone", 86},
    {"never_reopen", 7},
    {"no_timer_for_windows", 14},
    {"forget_postponed_drains", 14},
    {"reserve_for_nobody", 6},
    {"ignore_the_reserve", 23},
    {"spend_without_committing", 15},
    {"forgive_overdrafts", 24},
    {"no_timer_for_budgets", 53},
    {"forget_budgets_on_disk", 17},
    {"last_part_leaves_its_share", 38},
    {"claim_no_device", 23},
    {"start_at_once_after_a_claim", 6},
    // end
};

}  // namespace gpuctl::bench
