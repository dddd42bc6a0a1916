#pragma once
// What is promised to the first in line that found no room: the GPUs of which nodes it will have
// and when, if everything that runs uses up its limit (EASY backfill on real nodes). Work that has
// ended by then goes wherever it fits; other work only where the promised amounts stay free beside
// it.
//
// Where no moment can be told, because what runs has no limits, whoever has waited for long
// (`backfill.keepAfter`) is kept nodes all the same: those on which it fits first if work ends in
// the order in which it began. Services are not waited for. New work is the last to have begun and
// is kept off those nodes, so that they stay the same until the job fits.
//
// One for each pool. A promise holds for one Plan; what was found for it is kept for the next ones
// until something in the pool changes, because finding it visits all that runs. The promise itself
// (who, when) is ClusterState's.

#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/plan/placer.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class Fitting;

class Reservation {
public:
    // For the pods of the first job that does not fit now. False: nothing can be promised, because
    // too much of the pool is held by work without limits, or it never fits.
    bool make(ClusterState& state, Placer& placer, JobId job, const std::vector<PodId>& pods);
    void clear() { promise_ = {}; }  // to be made anew; what is known of the pool stays
    // How often the pool was searched for one.
    [[nodiscard]] std::uint64_t searches() const { return searches_; }

    [[nodiscard]] const Promise& promise() const { return promise_; }
    [[nodiscard]] bool exists() const { return promise_.job.exists(); }
    [[nodiscard]] bool is_on(NodeId node) const;
    // Of its nodes, for as long as the Plan.
    [[nodiscard]] std::vector<std::string_view> models(const ClusterState& state) const;
    // Work of this limit that starts now has ended when the promise falls due.
    [[nodiscard]] bool is_over_by_then(Instant now, Duration limit) const;
    // What was placed after the promise was made. `is_over`: as above.
    void note_placed(const ClusterState& state, const std::vector<Placement>& round, bool is_over);

    // Takes what is promised and free now out of the capacity, and puts it back.
    class Withholding {
    public:
        Withholding(Reservation& from, Capacity& capacity);
        ~Withholding();
        Withholding(const Withholding&) = delete;
        Withholding& operator=(const Withholding&) = delete;

    private:
        Reservation& from_;
        Capacity& capacity_;
    };

private:
    // What is left on a promised node for others, once the first in line has started there.
    struct Left {
        std::uint32_t slot = 0;
        Needs amounts;           // may be negative
        Needs withheld;          // buffer
        bool is_closed = false;  // to parts of GPUs, while it is withheld
    };
    // All that an answer depends on but the pods: as long as it is equal, so are the answers.
    struct Basis {
        std::uint64_t changes = 0;  // of the pool
        std::uint64_t eligibility_epoch = 0;
        std::size_t eligibility_position = 0;
        friend bool operator==(const Basis&, const Basis&) = default;
    };
    // What was found for pods of these shapes, by their serials, in this order.
    struct Answer {
        std::vector<std::uint64_t> shapes;
        bool may_keep = false;  // it was asked for one that has waited for long
        bool is_found = false;
        Instant at;  // never: no moment can be told
    };
    const Answer* known_answer(const ClusterState& state, const Placer& placer, PoolId pool,
                               const std::vector<PodId>& pods);
    bool search(ClusterState& state, Placer& placer, PoolId pool, const std::vector<PodId>& pods);
    bool release_until_it_fits(ClusterState& state, Placer& placer, PoolId pool,
                               const std::vector<PodId>& pods, Transaction& attempt);
    // Likewise, from beginning to beginning of what runs without a limit.
    bool release_the_oldest(ClusterState& state, Placer& placer, PoolId pool,
                            const std::vector<PodId>& pods, Transaction& attempt, Fitting& fitting);
    bool place_at(ClusterState& state, Placer& placer, PoolId pool, const std::vector<PodId>& pods,
                  Instant at);
    void note_left(const ClusterState& state, const Capacity& capacity);

    Promise promise_;
    Basis basis_;
    std::vector<Answer> answers_;        // on this basis; at most one is found, the last
    std::vector<std::uint64_t> shapes_;  // buffer
    bool may_keep_ = false;              // even where no moment can be told
    std::uint64_t searches_ = 0;
    std::vector<Left> left_;
    std::size_t nodes_ = 0;  // of left_ in use
    std::vector<Placement> round_;
    std::vector<Transaction::Entry> log_;
    Stay stay_;                                       // of the pods, where there are windows
    std::vector<Instant> openings_;                   // when windows end
    std::vector<std::pair<Instant, PodId>> endless_;  // buffer
};

}  // namespace gpuctl
