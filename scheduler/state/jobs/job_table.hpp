#pragma once
// The rows of jobs, and which part may write which struct of a row (table.hpp).

#include "scheduler/base/ids.hpp"
#include "scheduler/state/jobs/job_row.hpp"
#include "scheduler/state/table.hpp"

namespace gpuctl {

class Accounts;
class Bindings;
class ElasticJobs;
class Gangs;
class Jobs;
class Nominations;
class Pods;
class RunTimes;
class Seats;
class Session;
class StateReader;
class WaitingJobs;
class Workloads;

class JobTable final : public Table<JobRow, JobTable> {
public:
    JobBase& base(JobId id, Key<Jobs>) { return row(id); }
    RetentionRow& retention(JobId id, Key<Jobs>) { return row(id).retention; }
    bool& is_dirty(JobId id, Key<Jobs>) { return row(id).is_dirty; }
    std::vector<PodId>& pods(JobId id, Key<Pods>) { return row(id).pods; }
    std::vector<PodId>& seats(JobId id, Key<Pods>) { return row(id).seats; }
    WorkloadRow& workload(JobId id, Key<Workloads>) { return row(id).workload; }
    ChangeRow& change(JobId id, Key<Workloads>) { return row(id).change; }
    PauseRow& pause(JobId id, Key<Seats>) { return row(id).pause; }
    GangRow& gang(JobId id, Key<Gangs>) { return row(id).gang; }
    BindingRow& binding(JobId id, Key<Bindings>) { return row(id).binding; }
    NominationRow& nomination(JobId id, Key<Nominations>) { return row(id).nomination; }
    ElasticRow& elastic(JobId id, Key<ElasticJobs>) { return row(id).elastic; }
    RunRow& run(JobId id, Key<RunTimes>) { return row(id).run; }
    HoldingRow& holding(JobId id, Key<Accounts>) { return row(id).holding; }
    WaitingRow& waiting(JobId id, Key<WaitingJobs>) { return row(id).waiting; }
    JobReport& report(JobId id, Key<WaitingJobs>) { return row(id).report; }
    Instant& timer_at(JobId id, Key<Session>) { return row(id).timer_at; }

    // A vacant row or a new one, empty.
    JobId add(Key<Jobs>) {
        if (vacant_.empty()) {
            rows_.emplace_back();
            return JobId{static_cast<std::uint32_t>(rows_.size() - 1)};
        }
        const JobId id = vacant_.back();
        vacant_.pop_back();
        row(id) = JobRow{};
        return id;
    }
    void remove(JobId id, Key<Jobs>) {
        row(id) = JobRow{};
        vacant_.push_back(id);
    }
    // All of it: what an image says of a job concerns all parts.
    JobRow& restored(JobId id, Key<StateReader>) { return row(id); }

private:
    [[nodiscard]] JobRow& row(JobId id) { return rows_[id.value()]; }

    std::vector<JobId> vacant_;
};

}  // namespace gpuctl
