#pragma once
// Interface for what watches the engine loop: metrics, the log, the history of jobs; later
// webhooks, audit, a usage ledger. An observer is called on the loop's thread, in the order below,
// must not block, must not call the loop and must not throw: nothing catches its exception, which
// ends the daemon. It cannot change what happens: every function returns nothing.
//
// The journal is no observer. The loop waits for it: no effect leaves before all inputs behind it
// are written (they survive the end of the process), and when a write fails the loop stops taking
// work. An observer that missed a call loses a line or a count; a journal that missed one would
// lose an acknowledged job.
//
// The calls of a turn, in this order; those of the batch only if events waited, those of the plan
// only if the engine wanted to plan:
//   on_phase journal   the batch was appended and flushed, thus written. Also if the flush failed;
//                      then on_broken follows, and nothing else. If an append fails, only on_broken
//                      is called, here and for a Plan: the inputs before it have no phase then
//   on_input           each input of the batch, before the engine takes it
//   on_phase apply
//   on_input           each Plan, appended but not yet flushed, before the engine takes it
//   on_phase plan
//   (flush: the Plans are written; if that fails on_broken follows, and their effects are dropped)
//   on_effect          each, before the cluster adapter has it

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
