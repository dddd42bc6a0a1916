#pragma once
// Interface for what watches the engine loop: metrics, the log, the history of jobs; later
// webhooks, audit, a usage ledger. An observer is called on the loop's thread, in the order below,
// must not block and must not call the loop. It cannot change what happens: every function returns
// nothing.
//
// The journal is no observer. The loop waits for it: an input is written before the engine takes
// it, all inputs behind an effect are written before the effect leaves, and when a write fails the
// loop stops taking work. An observer that missed a call loses a line or a count; a journal that
// missed one would lose an acknowledged job.
//
//   on_input (each, after it was appended to the journal, before the engine takes it)
//   on_phase (journal, apply, plan: once per turn that had inputs, or planned)
//   on_effect (each, after the inputs behind it were written, before the cluster adapter has it)

#include <chrono>
#include <cstdint>

#include "scheduler/base/result.hpp"
#include "scheduler/model/effect.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::ports {

enum class EnginePhase : std::uint8_t {
    journal,  // appending and flushing a batch of inputs
    apply,    // applying the batch to the engine
    plan,     // one or more planning passes
};

enum class SnapshotResult : std::uint8_t {
    written,
    failed,
    rescued,        // a snapshot of the state in memory, made because the files were damaged
    rescue_failed,  // that snapshot failed
};

class EngineObserver {
public:
    using Span = std::chrono::nanoseconds;

    virtual ~EngineObserver() = default;

    virtual void on_input(const Input&) {}
    // `count`: inputs, for `plan` planning passes.
    virtual void on_phase(EnginePhase, std::size_t /*count*/, Span /*took*/) {}
    virtual void on_effect(const Effect&, Instant /*now*/) {}

    // An event was refused because the mailbox was full.
    virtual void on_turned_away() {}
    // A submit waited this long until the journal was on disk.
    virtual void on_synced(Span /*took*/) {}
    virtual void on_snapshot(SnapshotResult) {}
    // The journal failed: the loop accepts no work until a restart.
    virtual void on_broken(const Error&) {}
    // A timer fired this much late because other work kept the loop busy.
    virtual void on_lag(Span /*late*/) {}
};

}  // namespace gpuctl::ports
