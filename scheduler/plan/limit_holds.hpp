#pragma once
// What is left under limits is kept for whoever is first in line for it, as room on nodes is
// (reservation.hpp): a job that a limit stops could else be passed for ever by work that needs
// less. For each head it is known when its limits would let it start, if all that counts against
// them uses up its own run time (EASY backfill on limits); work that has ended by then passes it,
// other work only if the head could start then all the same.
//
// Where no moment can be told, whoever has waited for long (`backfill.keepAfter`) is kept what is
// left once work has ended in the order in which it began; services are not waited for.
//
// Of one pool, for one Plan. A hold is worked out when somebody asks who might take of it, as that
// visits what runs (docs/adr/0028).

#include <cstdint>
#include <string_view>
#include <vector>

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/limits.hpp"

namespace gpuctl {

class LimitHolds {
public:
    void clear() { holds_.clear(); }
    // False: nothing can be kept for it.
    bool add(const ClusterState& state, JobId head);
    // One that room on nodes is promised to, of these GPU models, and that no limit stops.
    void add_promised(const Promise& promise, std::vector<std::string_view> models);
    [[nodiscard]] bool empty() const { return holds_.empty(); }
    // For whom these pods of the job have to wait or, where they may go to other GPU models, leave
    // theirs: `models` that were added. With a relief: as if the pods of that were gone. Who starts
    // does not wait for one that comes after it in another pool; more of who runs waits for all.
    enum class For : std::uint8_t { start, growth };
    struct Kept {
        Promise for_whom;  // no job: for nobody
        bool is_out = false;
        std::size_t models_beside = 0;  // of those added that leave it others
    };
    Kept keeps_out(const ClusterState& state, JobId job, const std::vector<PodId>& pods,
                   Instant start, std::vector<std::string_view>& models, For what,
                   const Relief* with = nullptr);
    void note_placed(const ClusterState& state, JobId job, const std::vector<Placement>& round);
    // Moments of those behind whom somebody is are told anew; who is no head any more, or has no
    // moment, is forgotten: true.
    bool tell(ClusterState& state, PoolId pool);
    void note_claimed();  // who runs has changed: moments are worked out anew

private:
    enum class Answer : std::uint8_t { not_asked, kept, nothing };
    struct Hold {
        JobId head;
        Answer answer = Answer::not_asked;
        bool is_promised = false;
        Instant at;    // when its limits let it start; never: no moment can be told
        Relief later;  // what has ended by then
        Load ask;      // the least that it starts with
        std::vector<std::string_view> models;  // of the nodes that are promised to it
        std::vector<bool> counts_queue;  // by QueueId: a limit of the head counts what it holds
        bool counts_tenant = false;      // likewise of its namespace, wherever that is
    };
    static void find_what_counts(const ClusterState& state, Hold& hold);
    static bool may_count(const ClusterState& state, const Hold& hold, const JobRow& other);
    void work_out(const ClusterState& state, Hold& hold);
    bool release_until_free(const ClusterState& state, Hold& hold);
    bool release_the_oldest(const ClusterState& state, Hold& hold);
    // How many of those added leave the job others.
    std::size_t read_models_kept(const ClusterState& state, const Hold& hold, JobId job,
                                 const std::vector<PodId>& pods,
                                 std::vector<std::string_view>& models);
    [[nodiscard]] bool needs_model(const ClusterState& state, const Hold& hold,
                                   std::string_view model) const;
    void read(const ClusterState& state, Hold& hold, JobId job, const std::vector<PodId>& pods,
              std::vector<std::string_view>& models, const Relief* with, Kept& out);

    std::vector<Hold> holds_;
    Readiness ready_;  // buffers
    Relief trial_;
    std::vector<std::pair<Instant, PodId>> endless_;
};

}  // namespace gpuctl
