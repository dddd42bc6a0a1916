#pragma once
// Pod rows: the job of a pod, the node that it holds, and terminating pods.
//
// Owner, thread: ClusterState's.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/model/effect_list.hpp"
#include "scheduler/model/event.hpp"
#include "scheduler/state/decisions.hpp"
#include "scheduler/state/interner.hpp"
#include "scheduler/state/nodes/capacity.hpp"
#include "scheduler/state/pods/pod_table.hpp"
#include "scheduler/state/pods/shapes.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

class ClusterState;

class Pods {
public:
    explicit Pods(ClusterState& state) : state_(state) {}

    [[nodiscard]] const ShapeTable& shapes() const { return shapes_; }
    [[nodiscard]] const std::map<ObjectKey, PodId>& pods_by_key() const { return pod_keys_; }
    [[nodiscard]] PodId find_pod(std::string_view uid) const;
    [[nodiscard]] PodId find_pod(const ObjectKey& key) const;
    [[nodiscard]] bool is_free(const std::vector<Placement>& round) const;
    void read_terminating(PoolId pool, std::vector<PodId>& out) const;  // none: all pools
    void on(const PodObserved& event, EffectList& effects);
    void on(const PodRemoved& event, EffectList& effects);
    PodId make_pod(PodFacts facts);
    void hold(PodId id, NodeId node, std::int32_t device);
    void release(PodId id);
    void rejoin(std::vector<std::string> uids);  // pods whose job may have changed
    void note_termination(PodId id);
    void note_surplus(PodId id);  // a rank that its job gives up, and that holds resources
    void set_message(PodId id, std::string message) {
        pods_.base(id, {}).message = std::move(message);
    }
    void forget_pods_of(JobId job);  // the job is summarized
    // A row that holds the room that the pod has just released (seats.cpp). It is no pod of the
    // cluster: no pod has its name or uid.
    void add_seat(const PodFacts& pod, const Placement& place, JobId job);
    void drop_seat(PodId seat);
    // The next pod whose grace period ended long before `now`; none: there is no more.
    PodId take_late(Instant now);

    PodTable& rows() { return pods_; }
    [[nodiscard]] const PodTable& rows() const { return pods_; }
    [[nodiscard]] const std::set<PodId>& maybe_terminating() const { return maybe_terminating_; }
    [[nodiscard]] const std::set<std::pair<Instant, PodId>>& late_next() const {
        return late_next_;
    }

    // --- from an image ---
    void restore_growth(PodId id, bool grows_with_demand, Key<StateReader>);
    void restore_late(Instant now, Key<StateReader>);
    void restore_seat(PodFacts facts, const Placement& place, JobId job, Key<StateReader>);

private:
    void hold_seat(PodFacts facts, const Placement& place, JobId job);
    void drop_pod(PodId id);
    void erase_pod(PodId id);  // it holds nothing and has no job
    void leave_job(PodId id);
    void join_job(PodId id);
    void note_going(PodId id);
    void set_leaves_at(PodId id, Instant at);  // never: it does not terminate

    ClusterState& state_;
    PodTable pods_;
    TextMap<PodId> pod_ids_;
    std::map<ObjectKey, PodId> pod_keys_;
    ShapeTable shapes_;
    std::set<PodId> maybe_terminating_;  // all terminating pods that hold resources, and a few more
    std::set<std::pair<Instant, PodId>> late_next_;  // terminating pods that are not stuck yet
};

}  // namespace gpuctl
