// What the loop does for its journal beside writing to it: new segments, snapshots, and what is
// asked of the state that the journal gives.

#include <utility>

#include "daemon/core/engine_loop.hpp"
#include "daemon/diagnostics/log.hpp"

namespace gpuctl::core {
namespace {

using metrics::Metric;

// A disk that gives back other bytes again and again must not cost a long turn each time.
constexpr std::chrono::minutes kBetweenRescues{10};

}  // namespace

// At the end of a turn, when all that was appended is flushed.
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

// Of the state at the begin of the segment, made by the replica meanwhile. Without it everything is
// still in the segments, so a failure is not fatal: the next append tells if the disk is really
// gone.
void EngineLoop::begin_snapshot() {
    inputs_since_snapshot_ = 0;
    compacting_ = true;
    replica_.compact(engine_, taken_until_, [this](const Result<void>& written) {
        compacting_ = false;
        if (!written && written.error().code == ErrorCode::ShuttingDown) return;
        recorder_.counter(Metric::journal_snapshots, {written ? "ok" : "failed"}).add();
        if (written) return;
        log::warn("snapshot not written", {{"err", written.error().message}});
        if (written.error().code != ErrorCode::JournalDamaged) return;
        rescue_due_ = true;
        schedule_turn();
    });
}

// The files do not give what is in memory, so a restart would be refused, or would forget
// something. What is in memory is what was acknowledged: a snapshot of it replaces the files. It is
// written on the loop, which stands still meanwhile: better once than to lose jobs.
void EngineLoop::rescue_journal() {
    if (broken_) return;
    const auto now = aio::Clock::now();
    if (rescued_at_ && now < *rescued_at_ + kBetweenRescues) return;
    rescued_at_ = now;
    aio::Turn::mark("rescue");
    recorder_.counter(Metric::loop_exports).add();
    const Result<void> written = journal_.write_snapshot(engine_, taken_until_);
    recorder_.counter(Metric::journal_snapshots, {written ? "rescued" : "failed"}).add();
    if (written) {
        inputs_since_snapshot_ = 0;
        log::error(
            "the journal's files are damaged and were replaced by a snapshot of what is in memory; "
            "nothing is lost, but look after the disk: the next damage may be found by a restart");
        return;
    }
    log::error("the journal's files are damaged, and what is in memory cannot be written",
               {{"err", written.error().message}});
}

aio::Task<Result<void>> EngineLoop::ask_replica(Replica::Work work, aio::Deadline deadline) {
    Result<void> answered = co_await replica_.ask(engine_, taken_until_, std::move(work), deadline);
    co_return answered;
}

}  // namespace gpuctl::core
