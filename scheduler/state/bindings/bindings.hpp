#pragma once
// Binds: rounds of placements, their outcomes, refusals, and pods that have to be bound again.
//
// Owner, thread: ClusterState's.

#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

class Bindings {
public:
    explicit Bindings(ClusterState& state) : state_(state) {}

    struct Round;  // what is left of a job's last round, counted
    // Assumes all of the round or nothing (false), as the newest state allows.
    bool assume(JobId job, const std::vector<Placement>& round, bool all_or_nothing,
                EffectList& effects, LetIn let_in = LetIn::now);
    void resend_unanswered(EffectList& effects);
    void on(const BindOutcome& event, EffectList& effects);
    void on(const PodDeleteOutcome& event, EffectList& effects);
    void give_up_assumption(PodId id);
    void send_bind(PodId id, const JobRow& job, EffectList& effects);
    Round count_round(const JobRow& job, const GangSize& size) const;
    void settle_round(JobId id, EffectList& effects);
    [[nodiscard]] bool is_unsure(const PodRow& pod) const;
    [[nodiscard]] bool still_fits(const PodRow& pod) const;
    void wait_until_sure(JobRow& job, const PodRow& pod) const;
    void back_off(JobRow& job);
    void set_bar(PodRow& row, PodBar bar);
    void lift_refusals(JobRow& job);
    void find_end_of_refusal(JobRow& job) const;

private:
    void settle_unsure(JobId id, EffectList& effects);
    void report_started(JobId id, EffectList& effects);

    ClusterState& state_;
    std::vector<Transaction::Entry> check_log_;  // a buffer
};

}  // namespace gpuctl
