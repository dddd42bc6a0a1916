#pragma once
// Why a change of a job is not accepted. wording/ makes the sentence.

#include <cstdint>
#include <string>

namespace gpuctl {

enum class ChangeBar : std::uint8_t {
    none,           // it is accepted
    unknown,        // there is no such job
    not_made_here,  // pods of a Kubernetes user
    ended,
    other_job,  // another job has that name by now
    deleting,
    never_made,  // the cluster refused to create it
    stale,       // it was changed since it was read
    busy,        // its previous change is not carried out yet
    no_replicas  // only inference and compute jobs can be scaled
};

struct ChangeRefusal {
    ChangeBar bar = ChangeBar::none;
    std::uint64_t revision = 0;  // of the job now, as users see it
    std::string message;         // of the cluster, for `never_made`

    [[nodiscard]] bool is_accepted() const { return bar == ChangeBar::none; }
};

}  // namespace gpuctl
