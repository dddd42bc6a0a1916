#pragma once
// Quota reservations: the rest of a limit is reserved for the job at the head of the line under
// that limit, as room on nodes is reserved (reservation.hpp). Without it, jobs with smaller
// requests could pass a job that a limit blocks, for ever. For each head the class computes the
// time at which its limits let it start if all work that counts against them uses its run-time
// limit (EASY backfill, Lifka 1995, applied to limits). Work that ends before that time may pass
// the head; other work may pass only if the head could still start at that time.
//
// If no such time is known, a head that has waited for `backfill.reserveAfter` gets what becomes
// free if work ends in the order in which it began; services are not waited for.
//
// One per pool and Plan. A reservation is computed when a job is tried that might use it, because
// the computation visits running work (docs/adr/0028).

#include <cstdint>
#include <string_view>
#include <vector>

#include "scheduler/plan/commit.hpp"
#include "scheduler/state/accounts/limits.hpp"
#include "scheduler/state/cluster_state.hpp"

namespace gpuctl {

class QuotaReservations {
public:
    void clear() { reservations_.clear(); }
    // Reserves quota for the head. False: nothing can be reserved for it.
    bool add(const ClusterState& state, JobId head);
    // Adds a job that no limit blocks and that has a reservation of nodes with these GPU models.
    void add_head_reservation(const HeadReservation& head_reservation,
                              std::vector<std::string_view> models);
    [[nodiscard]] bool empty() const { return reservations_.empty(); }
    // Finds the head that these pods of the job must wait for. If the pods may use other GPU models
    // instead, adds the models that they must avoid to `models`. The usage in `with` counts as
    // released. A job that starts does not wait for a head of another pool that is after it in the
    // order; growth of a running job waits for all heads.
    enum class For : std::uint8_t { start, growth };
    struct HeadInWay {
        HeadReservation head;  // no job: no head is in the way
        bool is_out = false;
        std::size_t models_with_alternative =
            0;  // added models that the job has an alternative for
    };
    HeadInWay find_head_in_way(const ClusterState& state, JobId job, const std::vector<PodId>& pods,
                               Instant start, std::vector<std::string_view>& models, For what,
                               const ReleasedUsage* with = nullptr);
    void note_placed(const ClusterState& state, JobId job, const std::vector<Placement>& round);
    // Reports the reserved times of heads that other jobs wait behind, and drops jobs that are no
    // longer heads or have no reserved time. True: the reported reservations have changed.
    bool report(Commit& commit, PoolId pool);
    void note_nomination();  // running work has changed: times are computed again

private:
    enum class Answer : std::uint8_t { not_asked, kept, nothing };
    struct QuotaReservation {
        JobId head;
        Answer answer = Answer::not_asked;
        bool has_head_reservation = false;
        Instant at;           // when its limits let it start; never: unknown
        ReleasedUsage later;  // usage that is released by then
        Load ask;             // request of the smallest size that the head starts with
        std::vector<std::string_view> models;  // models of the nodes that are reserved for it
        // by QueueId: usage of the queue counts against a limit of the head
        std::vector<bool> counts_queue;
        bool counts_tenant = false;  // usage of the head's namespace in any pool counts, too
    };
    static void find_what_counts(const ClusterState& state, QuotaReservation& reservation);
    static bool may_count(const ClusterState& state, const QuotaReservation& reservation,
                          const JobRow& other);
    void work_out(const ClusterState& state, QuotaReservation& reservation);
    bool release_until_free(const ClusterState& state, QuotaReservation& reservation);
    bool release_the_oldest(const ClusterState& state, QuotaReservation& reservation);
    // Returns the number of added models that the job has an alternative for.
    std::size_t read_reserved_models(const ClusterState& state, const QuotaReservation& reservation,
                                     JobId job, const std::vector<PodId>& pods,
                                     std::vector<std::string_view>& models);
    [[nodiscard]] bool needs_model(const ClusterState& state, const QuotaReservation& reservation,
                                   std::string_view model) const;
    void read(const ClusterState& state, QuotaReservation& reservation, JobId job,
              const std::vector<PodId>& pods, std::vector<std::string_view>& models,
              const ReleasedUsage* with, HeadInWay& out);

    std::vector<QuotaReservation> reservations_;
    Readiness ready_;  // buffers
    ReleasedUsage trial_;
    std::vector<std::pair<Instant, PodId>> endless_;
};

}  // namespace gpuctl
