// The loop's work for its journal besides writing: new segments, snapshots, and queries on the
// state in the journal's files.

#include <utility>

#include "daemon/core/engine_loop.hpp"
#include "daemon/diagnostics/log.hpp"

namespace gpuctl::core {
namespace {

using ports::EngineObserver;
using ports::SnapshotResult;

// A disk that returns wrong bytes repeatedly must not cost a long turn each time.
constexpr std::chrono::minutes kBetweenRescues{10};

}  // namespace

// At the end of a turn, when everything appended is flushed.
void EngineLoop::tend_journal() {
    if (rolling_) return;
    if (std::exchange(rescue_due_, false)) rescue_journal();
    const bool snapshot_due =
        inputs_since_snapshot_ >= settings_.snapshot_every_inputs && !compacting_;
    if (broken_ || (!snapshot_due && !journal_.is_segment_full())) return;
    rolling_ = true;
    journal_.roll([this, alive = alive_, snapshot_due](const Result<void>& done) {
        if (*alive) rolled(done, snapshot_due);
    });
}

void EngineLoop::rolled(const Result<void>& done, bool snapshot_due) {
    rolling_ = false;
    rolled_.notify_all();
    if (!done) return break_down(done.error());
    if (snapshot_due) begin_snapshot();
    schedule_turn();
}

// The snapshot of the state at the start of the segment, made by the replica in the background.
// Without it all inputs are still in the segments, so a failure is not fatal: if the disk is really
// gone, the next append reports it.
void EngineLoop::begin_snapshot() {
    inputs_since_snapshot_ = 0;
    compacting_ = true;
    replica_.compact(engine_, taken_until_, [this](const Result<void>& written) {
        compacting_ = false;
        if (!written && written.error().code == ErrorCode::ShuttingDown) return;
        notify(&EngineObserver::on_snapshot,
               written ? SnapshotResult::written : SnapshotResult::failed);
        if (written) return;
        log::warn("snapshot not written", {{"err", written.error().message}});
        if (written.error().code != ErrorCode::JournalDamaged) return;
        rescue_due_ = true;
        schedule_turn();
    });
}

// The files do not give the state in memory, so a restart would be refused, or would lose jobs. The
// state in memory is what was acknowledged: a snapshot of it replaces the files. It is written on
// the loop, which blocks meanwhile: better once than to lose jobs.
void EngineLoop::rescue_journal() {
    if (broken_) return;
    const auto now = aio::Clock::now();
    if (rescued_at_ && now < *rescued_at_ + kBetweenRescues) return;
    rescued_at_ = now;
    aio::Turn::mark("rescue");
    const Result<void> written = journal_.write_snapshot(engine_, taken_until_);
    notify(&EngineObserver::on_snapshot,
           written ? SnapshotResult::rescued : SnapshotResult::rescue_failed);
    if (written) {
        inputs_since_snapshot_ = 0;
        return;
    }
    log::error("the journal's files are damaged, and the state in memory cannot be written",
               {{"err", written.error().message}});
}

aio::Task<Result<void>> EngineLoop::ask_replica(Replica::Work work, aio::Deadline deadline) {
    Result<void> answered =
        co_await replica_.query(engine_, taken_until_, std::move(work), deadline);
    co_return answered;
}

}  // namespace gpuctl::core
