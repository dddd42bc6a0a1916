#pragma once
// Which running jobs, placed elsewhere in their pool, would leave room for one that waits although
// there is enough of it in sum (docs/adr/0023). A question of people's: no Plan asks it.

#include <cstdint>
#include <functional>
#include <vector>

#include "scheduler/plan/placer.hpp"
#include "scheduler/plan/units_by_node.hpp"

namespace gpuctl {

struct MovePlan {
    std::vector<Placement> round;  // where the job goes
    // Whole jobs, in the order in which they start again: who asks for most GPUs a pod comes first.
    Units moved;
    // Where their pods go; without those of jobs that say how their pods are to stand to each
    // other: the old places are still in the books, so only a life without them can tell.
    std::vector<Placement> places;
};

// Works on a copy of the columns; the state must outlive it.
class MoveSearch {
public:
    static constexpr std::size_t kJobsMost = 24;  // among which every set is looked at
    static constexpr std::size_t kSetsMost = 20'000;
    static constexpr std::size_t kMovedMost = 16;
    static constexpr int kTogetherMost = 1'000;  // each is a search of its own, see Placer

    // `pods`: what of the job is to start, all of them or none.
    MoveSearch(const ClusterState& state, JobId job, std::vector<PodId> pods);

    // Offers what would do, the fewest jobs first, then the least lost work, until `accept` is
    // content. False: it never was, or moving anybody is not the point: a limit is in the way, it
    // need only wait for its turn, there is not enough in sum.
    bool find(const std::function<bool(const MovePlan&)>& accept);

private:
    struct Set {
        std::int64_t price_gpu_ms = 0;
        std::uint32_t members = 0;  // of few_, bit by bit
        friend auto operator<=>(const Set&, const Set&) = default;
    };
    void read_movable(JobId job);
    void choose_few();
    bool is_worth_it();
    // What one rank more of the job lacks on a node.
    struct Lack {
        std::int64_t amount = 0;
        NodeId node;
        friend auto operator<=>(const Lack&, const Lack&) = default;
    };
    [[nodiscard]] Need need_of_one_rank() const;
    std::vector<Lack> nodes_by_lack(const Units& all, const UnitsByNode& by_node);
    // The fewest that leave so much there, with those chosen before.
    void choose_on(const Lack& lack, const Units& all, const UnitsByNode& by_node,
                   Units& chosen) const;
    [[nodiscard]] Units movable_units() const;
    [[nodiscard]] std::vector<Set> sets_of(std::size_t size) const;
    // More jobs than sets of them can be counted: those on the nodes that lack least, together.
    bool find_many(const std::function<bool(const MovePlan&)>& accept);
    void lift(const Units& moved, Transaction& gone) const;
    // Without these jobs, where would it go, and where would they?
    bool lay_out(const Units& moved, MovePlan& out);
    bool place_own(std::vector<Placement>& round);
    bool place_in_turn(MovePlan& out);
    // As mixed gangs are: every way, as far as the steps of that search go.
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
    Units few_;                          // kJobsMost of them
    int together_left_ = kTogetherMost;
    std::vector<std::string_view> avoided_;
    std::vector<Transaction::Entry> gone_log_;
    std::vector<Transaction::Entry> taken_log_;
};

}  // namespace gpuctl
