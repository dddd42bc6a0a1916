#pragma once
// Finds running jobs whose move to other nodes of the pool would make room for a waiting job, if
// the pool has enough capacity in sum (docs/adr/0023). It answers a user's request; no Plan calls
// it.

#include <cstdint>
#include <functional>
#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/preempt/units_by_node.hpp"

namespace gpuctl {

struct MovePlan {
    std::vector<Placement> round;  // where the waiting job is placed
    // Whole jobs to be moved, in the order in which they start again: most GPUs per pod first.
    Units moved;
    // The new nodes of the pods of moved jobs, except for jobs with topology rules: the state still
    // has their old nodes, so only a simulation without them can place them.
    std::vector<Placement> places;
};

// Works on a copy of the columns; the state must outlive it.
class MoveSearch {
public:
    static constexpr std::size_t kJobsMost = 24;  // every subset of these is tried
    static constexpr std::size_t kSetsMost = 20'000;
    static constexpr std::size_t kMovedMost = 16;
    static constexpr int kTogetherMost = 1'000;  // each is a search of its own, see Placer

    // `pods`: the pods of the job that are to start, all of them or none.
    MoveSearch(const ClusterState& state, JobId job, std::vector<PodId> pods);

    // Passes possible plans to `accept` until it returns true: the fewest jobs first, then the
    // least lost work. False: no plan was accepted, or a move is no solution because a limit blocks
    // the job, it only needs to wait for its turn, or the capacity is not sufficient in sum.
    bool find(const std::function<bool(const MovePlan&)>& accept);

private:
    struct Set {
        std::int64_t cost_gpu_ms = 0;
        std::uint32_t members = 0;  // bit set of indexes into few_
        friend auto operator<=>(const Set&, const Set&) = default;
    };
    void read_movable(JobId job);
    void choose_few();
    bool is_worth_it();
    // What is missing on a node for one more rank of the job.
    struct Lack {
        std::int64_t amount = 0;
        NodeId node;
        friend auto operator<=>(const Lack&, const Lack&) = default;
    };
    [[nodiscard]] Need need_of_one_rank() const;
    std::vector<Lack> nodes_by_lack(const Units& all, const UnitsByNode& by_node);
    // Adds the fewest units that release as much on the node, together with those chosen before.
    void choose_on(const Lack& lack, const Units& all, const UnitsByNode& by_node,
                   Units& chosen) const;
    [[nodiscard]] Units movable_units() const;
    [[nodiscard]] std::vector<Set> sets_of(std::size_t size) const;
    // For more jobs than kJobsMost: moves jobs from the nodes where least is missing, together.
    bool find_many(const std::function<bool(const MovePlan&)>& accept);
    void lift(const Units& moved, Transaction& gone) const;
    // Finds where the job would be placed without these jobs, and where these jobs would be placed
    // then.
    bool lay_out(const Units& moved, MovePlan& out);
    bool place_own(std::vector<Placement>& round);
    bool place_in_turn(MovePlan& out);
    // Places the moved jobs together as for a mixed gang: exhaustive within the step limit of that
    // search.
    bool can_place_together(const Units& moved);
    bool place_together(MovePlan& out);
    bool place(JobId job, const std::vector<PodId>& pods, std::vector<Placement>& round);
    bool is_plain(const std::vector<PodId>& pods, JobId job);
    void read_avoided(JobId job, const std::vector<PodId>& pods);

    const ClusterState& state_;
    JobId job_;
    std::vector<PodId> pods_;
    Capacity capacity_;
    Placer placer_;
    std::vector<EvictionUnit> movable_;  // whole jobs, cheapest first
    Units few_;                          // kJobsMost of movable_
    int together_left_ = kTogetherMost;
    std::vector<std::string_view> avoided_;
    std::vector<Transaction::Entry> gone_log_;
    std::vector<Transaction::Entry> taken_log_;
};

}  // namespace gpuctl
