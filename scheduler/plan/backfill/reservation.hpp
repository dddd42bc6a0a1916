#pragma once
// The reservation of the job at the head of the line: on which nodes it will have which GPUs, and
// when, if all running work uses its run-time limit (EASY backfill on real nodes: Lifka 1995;
// Mu'alem and Feitelson 2001). Work that ends before that time may use any node; other work may
// only use what the reservation leaves free.
//
// If no time is known because running work has no limits, a head that has waited for
// `backfill.reserveAfter` still gets nodes: those on which it fits first if work ends in the order
// in which it began. Services are not waited for. New work counts as the last to have begun and is
// kept off those nodes, so the nodes stay the same until the job fits.
//
// One per pool. A reservation holds for one Plan. The search result is cached for the next Plans
// until the pool changes, because the search visits all running work. ClusterState stores the
// reservation itself (job and time).

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/plan/allocate/placer.hpp"
#include "scheduler/plan/overlay.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Fitting;

class Reservation {
public:
    // Makes the reservation for the pods of the first job that does not fit now. False: no
    // reservation is possible, because work without limits holds too much of the pool, or because
    // the job never fits.
    bool make(const Overlay& overlay, Placer& placer, JobId job, const std::vector<PodId>& pods);
    void clear() { head_reservation_ = {}; }  // drops the reservation; cached answers stay
    // Number of searches through the pool.
    [[nodiscard]] std::uint64_t searches() const { return searches_; }

    [[nodiscard]] const HeadReservation& head_reservation() const { return head_reservation_; }
    [[nodiscard]] bool exists() const { return head_reservation_.job.exists(); }
    [[nodiscard]] bool is_on(NodeId node) const;
    // GPU models of the reserved nodes. The names are valid during the Plan.
    [[nodiscard]] std::vector<std::string_view> models(const ClusterState& state) const;
    // True if work with this limit that starts now has ended by the reserved time.
    [[nodiscard]] bool is_over_by_then(Instant now, Duration limit) const;
    // Records work that was placed after the reservation was made. `is_over`: the work ends by the
    // reserved time.
    void note_placed(const ClusterState& state, const std::vector<Placement>& round, bool is_over);

    // The free capacity that is reserved, for a Withholding. Valid until the next call or change.
    std::span<const Withholding::OnNode> reserved_amounts(const Capacity& capacity);

private:
    // What a reserved node has left for other jobs after the reserving job has started there.
    struct Left {
        std::uint32_t slot = 0;
        Needs amounts;  // may be negative
    };
    // The state that an answer depends on, except the pods: equal bases give equal answers.
    struct Basis {
        std::uint64_t changes = 0;  // of the pool's capacity
        std::uint64_t eligibility_epoch = 0;
        std::size_t eligibility_position = 0;
        friend bool operator==(const Basis&, const Basis&) = default;
    };
    // The result of a search for pods of these shapes, given by their serials in this order.
    struct Answer {
        std::vector<std::uint64_t> shapes;
        bool may_keep = false;  // the job has waited for backfill.reserveAfter
        bool is_found = false;
        Instant at;  // never: unknown
    };
    const Answer* known_answer(const ClusterState& state, const Placer& placer, PoolId pool,
                               const std::vector<PodId>& pods);
    bool search(const Overlay& overlay, Placer& placer, PoolId pool,
                const std::vector<PodId>& pods);
    bool release_until_it_fits(const Overlay& overlay, Placer& placer, PoolId pool,
                               const std::vector<PodId>& pods, Transaction& attempt);
    // Releases running work without a limit, the oldest first, until there is room for all of
    // `pods`.
    bool release_the_oldest(const Overlay& overlay, Placer& placer, PoolId pool,
                            const std::vector<PodId>& pods, Transaction& attempt, Fitting& fitting);
    bool place_at(const Overlay& overlay, Placer& placer, PoolId pool,
                  const std::vector<PodId>& pods, Instant at);
    void note_left(const ClusterState& state, const Capacity& capacity);

    HeadReservation head_reservation_;
    Basis basis_;
    std::vector<Answer> answers_;        // valid for basis_; at most one of them is_found: the last
    std::vector<std::uint64_t> shapes_;  // buffer
    bool may_keep_ = false;              // the job gets nodes even if no time is known
    std::uint64_t searches_ = 0;
    std::vector<Left> left_;
    std::size_t nodes_ = 0;                      // entries of left_ in use
    std::vector<Withholding::OnNode> withheld_;  // buffer, by position in left_
    std::vector<Placement> round_;
    std::vector<Transaction::Entry> log_;
    Stay stay_;                      // stay of the pods, if there are maintenance windows
    std::vector<Instant> openings_;  // ends of windows
    std::vector<std::pair<Instant, PodId>> endless_;  // buffer
};

}  // namespace gpuctl
