#pragma once
// Binds: rounds of placements, their outcomes, refusals, and pods that have to be bound again.
//
// Owner, thread: ClusterState's.

#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/gangs/gang_tally.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

// The pods of a job's last round, counted by state.
struct BindRound {
    explicit BindRound(const GangSize& size) : settled(size), held(size) {}
    std::int64_t in_flight = 0;
    std::int64_t to_retry = 0;  // assumed, answered "failed"
    std::int64_t bound = 0;     // and neither terminating nor deleted by us
    std::int64_t unreported = 0;
    GangTally settled;  // bound or succeeded
    GangTally held;     // the same and assumed
    [[nodiscard]] std::int64_t assumed() const { return in_flight + to_retry; }
};

class Bindings {
public:
    explicit Bindings(ClusterState& state) : state_(state) {}

    // Assumes the whole round, or nothing (false) if the newest state does not allow it.
    bool assume(JobId job, const std::vector<Placement>& round, bool all_or_nothing,
                EffectList& effects, LetIn let_in = LetIn::now);
    void resend_unanswered(EffectList& effects);
    void on(const BindOutcome& event, EffectList& effects);
    void on(const PodDeleteOutcome& event, EffectList& effects);
    void give_up_assumption(PodId id);
    void send_bind(PodId id, const JobRow& job, EffectList& effects);
    [[nodiscard]] BindRound count_round(const JobRow& job, const GangSize& size) const;
    void settle_round(JobId id, EffectList& effects);
    [[nodiscard]] bool is_unsure(const PodRow& pod) const;
    [[nodiscard]] bool still_fits(const PodRow& pod) const;
    void wait_until_sure(JobId id, const PodRow& pod);
    void back_off(JobId id);
    void set_bar(PodId id, PodBar bar);
    void lift_refusals(JobId id);
    void find_end_of_refusal(JobId id);
    void begin(PodId id);         // a new pod
    void follow_facts(PodId id);  // a new pod, or one whose facts changed
    void nominate(PodId id);      // other pods are evicted for it
    void withdraw_nomination(PodId id);
    void begin_seat(PodId id);                       // it holds room for a paused job
    void delete_pod(PodId id, EffectList& effects);  // its gang is rolled back

private:
    void follow_end(PodId id);
    void follow_node(PodId id);
    void settle_unsure(JobId id, EffectList& effects);
    void send_delete(const PodRow& pod, EffectList& effects);

    ClusterState& state_;
    std::vector<Transaction::Entry> check_log_;  // a buffer
};

}  // namespace gpuctl
