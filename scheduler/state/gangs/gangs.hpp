#pragma once
// Gangs, whose ranks start together: sizes, deadlines, roll-back, lost ranks, and topology.
//
// Owner, thread: ClusterState's.

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/gangs/gang_tally.hpp"
#include "scheduler/state/image/image_fwd.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/rows.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class ClusterState;
class Retention;

class Gangs {
public:
    explicit Gangs(ClusterState& state) : state_(state) {}

    [[nodiscard]] const std::map<ObjectKey, GangSize>& gang_sizes() const { return gang_sizes_; }
    // The size of the job's gang; absent: the job is no gang.
    [[nodiscard]] std::optional<GangSize> gang_of(const JobRow& job) const;
    [[nodiscard]] std::optional<std::int64_t> gang_size(const JobRow& job) const;  // 0: unknown
    // Nodes of the pods that the job holds and keeps: its next pods are placed near them, or apart.
    void read_anchors(const JobRow& job, std::vector<NodeId>& out) const;
    // GPU models of the other pods of the gang, if the gang accepts several models: the pod must
    // get one of these.
    [[nodiscard]] std::vector<std::string_view> models_of_gang(PodId pod) const;
    // True if ranks of a gang that accepts several GPU models would be on more than one model.
    [[nodiscard]] bool mixes_models(const std::vector<Placement>& round) const;
    // True if this placement breaks the rules of the pods to be together or apart
    // (topology_rules.cpp).
    [[nodiscard]] bool breaks_topology(const JobRow&, const std::vector<Placement>& round) const;
    // Gangs that have lacked ranks for too long, and the time from which a gang is one
    // (stranded.cpp).
    [[nodiscard]] const std::set<Arrived>& stranded_gangs() const { return stranded_gangs_; }
    [[nodiscard]] Instant stranded_from(const JobRow& job) const;
    void on(const GangObserved& event, EffectList& effects);
    void on(const GangRemoved& event, EffectList& effects);
    void note_stranded(JobId id, const Readiness& ready);
    void settle_gang(JobId id, EffectList& effects);
    [[nodiscard]] bool can_roll_back(const JobRow& job) const;
    void begin_round(JobId id);    // its ranks are placed together
    void note_no_gang(JobId id);   // it is no longer a gang
    void extend_round(JobId id);   // its binds are sent again
    void refuse_member(JobId id);  // a rank of the open round cannot be bound
    // The first rank of a gang that is rolled back goes. False: it is not rolled back, or another
    // rank went before.
    bool note_rolled_back(JobId id);
    void note_gone(JobId id, const PodFacts& pod);   // a pod of the job
    void note_there(JobId id, const PodFacts& pod);  // a pod of the job
    [[nodiscard]] FinishedRanks take_finished(JobId id);
    void set_finished(JobId id, FinishedRanks ranks);
    // Of a summarized job.
    void restore_run(JobId id, FinishedRanks ranks, bool started, Key<Retention>);
    void forget_job(JobId id);

    // --- from an image ---
    void restore_sizes(std::map<ObjectKey, GangSize> sizes, Key<StateReader>) {
        gang_sizes_ = std::move(sizes);
    }
    void restore_job(JobId id, Key<StateReader>);

private:
    void end_round(JobId id);
    void forget_run(JobId id);
    void keep_whole_again(const JobRow& job);
    void drop_unfit_members(JobId id);
    void retry_members(JobId id, EffectList& effects);
    void roll_back_gang(JobId id, EffectList& effects);

    ClusterState& state_;
    std::map<ObjectKey, GangSize> gang_sizes_;  // from PodGroup objects
    std::set<Arrived> stranded_gangs_;
};

}  // namespace gpuctl
