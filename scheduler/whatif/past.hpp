#pragma once
// A window of the past, divided into two parts: events of users and machines, which happen again in
// every rerun, and the history of our pods by our own decisions, which a rerun decides again.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::whatif {

// One of our pods that waited or arrived within the window. If we stopped the pod, for another job
// or as a surplus rank of an elastic job, and its controller created it again, both are one
// PastPod: a rerun decides again whether it is stopped.
struct PastPod {
    PodFacts facts;  // as it was created: pending, on no node
    Instant arrived;
    bool was_there = false;  // it existed at the beginning of the window
    // it ran at the beginning of the window: its start is not decided again
    bool was_running = false;
    Instant started;  // real start; never: it did not start
    Duration ran;     // run time without the cost of preemptions; 0: its end was not observed
    PodPhase ended_as = PodPhase::succeeded;
    Instant given_up;  // when it was removed before its start
};

// The job that the pod belongs to; a lone pod is a job with the pod's name.
ObjectKey job_of(const PodFacts& facts);

struct PastEvent {
    Instant at;
    Event event;
};

struct PastWindow {
    Instant begin;
    Instant end;
    std::string exported;           // state of the engine at the beginning of the window
    std::vector<PastEvent> events;  // ordered by time
    std::vector<PastPod> pods;      // in the order of the first observation
};

// The progress of the pod in a run of this length. After a preemption it first has to reach its
// previous progress again.
Duration progress(const PodFacts& facts, Duration run, bool was_stopped);
// The part of the progress that survives a preemption: up to the last checkpoint.
Duration kept(const PodFacts& facts, Duration done);

// Takes journaled inputs in order. Those before `since` produce the state at the beginning of the
// window.
class PastCollector {
public:
    PastCollector(Engine engine, Instant since) : engine_(std::move(engine)), since_(since) {}
    void add_input(const Input& input);
    // Ends the window at `until`, even if the last input is older: waiting jobs wait until then. An
    // empty `exported` means that the journal does not cover the window.
    [[nodiscard]] PastWindow finish(Instant until) &&;

private:
    // A run of a pod between two of our preemptions, by the pod's index in the window.
    struct PodRun {
        Instant started;
        Duration kept;  // progress kept from earlier runs
        bool was_stopped = false;
    };
    // The identity of a stopped pod: its namespace, its job (or its name if it is a lone pod), and
    // its rank.
    using Place = std::tuple<std::string, std::string, std::int32_t>;

    void step(const Input& input);
    void forget_refused(const Event& event);
    void begin_window(Instant now);
    std::size_t place_in_window(const PodFacts& facts, Instant now);
    void see(const PodFacts& facts, Instant now);
    void see_removed(const std::string& uid, const Event& event, Instant now);
    [[nodiscard]] bool is_stopped_by_us(const std::string& uid, const PodFacts& facts) const;
    void end_pod_run(std::size_t pod, Instant now);
    void end_replaced_pod(const PodFacts& facts, Instant now);
    static Place place_of(const PodFacts& facts);

    Engine engine_;
    Instant since_;
    bool leads_up_ = false;  // there was an input before the window
    EffectList effects_;
    PastWindow window_;
    std::map<std::string, std::size_t, std::less<>> by_uid_;
    std::vector<PodRun> pod_runs_;
    std::set<std::string, std::less<>> asked_to_stop_;  // uids of pods whose eviction was requested
    std::map<ObjectKey, std::int32_t> sizes_;    // requested numbers of ranks of elastic jobs
    std::multimap<Place, std::size_t> stopped_;  // stopped pods that were not created again yet
    // by uid: pods that we stopped and that still exist
    std::map<std::string, Place, std::less<>> ending_;
    // uids of pods that were replaced before they were gone
    std::set<std::string, std::less<>> replaced_;
};

}  // namespace gpuctl::whatif
