#pragma once
// A window of the past, divided into events of users and machines, which happen again in every
// rerun, and the history of our pods by our own decisions, which a rerun decides again.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::whatif {

// One of our pods that waited or came within the window. If we stopped it, for another job or as a
// surplus rank of an elastic job, and its controller created it again, that is the same pod: a
// rerun decides again whether it is stopped.
struct PastPod {
    PodFacts facts;  // as it was created: pending, on no node
    Instant arrived;
    bool was_there = false;    // at the beginning of the window
    bool was_running = false;  // likewise: its start is not decided again
    Instant started;           // really; never: it did not start
    Duration ran;              // without the cost of preemptions; 0: its end was not observed
    PodPhase ended_as = PodPhase::succeeded;
    Instant given_up;  // removed before it started
};

// The job that it belongs to; a lone pod is a job of its own name.
ObjectKey job_of(const PodFacts& facts);

struct PastEvent {
    Instant at;
    Event event;
};

struct PastWindow {
    Instant begin;
    Instant end;
    std::string exported;           // the engine at the beginning of the window
    std::vector<PastEvent> events;  // ordered by time
    std::vector<PastPod> pods;      // in the order of the first observation
};

// The progress of its pod in a run of this length; after a preemption it first has to reach its
// previous progress again.
Duration progress(const PodFacts& facts, Duration life, bool was_stopped);
// The part of the progress that survives a preemption: up to the last checkpoint.
Duration kept(const PodFacts& facts, Duration done);

// Takes journaled inputs in order, including those before `since`: they produce the state at the
// beginning of the window.
class PastCollector {
public:
    PastCollector(Engine engine, Instant since) : engine_(std::move(engine)), since_(since) {}
    void take(const Input& input);
    // The window ends then, even if the last input is older: waiting jobs wait until then. An empty
    // `exported`: the journal does not cover the window.
    [[nodiscard]] PastWindow finish(Instant until) &&;

private:
    // A run between two of our preemptions; by the pod's index in the window.
    struct Life {
        Instant started;
        Duration kept;  // from earlier runs
        bool was_stopped = false;
    };
    // Identity of a stopped pod: namespace, job or the pod's own name, rank.
    using Place = std::tuple<std::string, std::string, std::int32_t>;

    void step(const Input& input);
    void forget_refused(const Event& event);
    void begin_window(Instant now);
    std::size_t place_in_window(const PodFacts& facts, Instant now);
    void see(const PodFacts& facts, Instant now);
    void see_removed(const std::string& uid, const Event& event, Instant now);
    [[nodiscard]] bool is_stopped_by_us(const std::string& uid, const PodFacts& facts) const;
    void end_life(std::size_t pod, Instant now);
    void end_whom_it_stands_for(const PodFacts& facts, Instant now);
    static Place place_of(const PodFacts& facts);

    Engine engine_;
    Instant since_;
    bool leads_up_ = false;  // there was an input before the window
    EffectList effects_;
    PastWindow window_;
    std::map<std::string, std::size_t, std::less<>> by_uid_;
    std::vector<Life> lives_;
    std::set<std::string, std::less<>> told_to_stop_;   // uids
    std::map<ObjectKey, std::int32_t> sizes_;           // requested for elastic jobs
    std::multimap<Place, std::size_t> stopped_;         // and not created again yet
    std::map<std::string, Place, std::less<>> ending_;  // by uid: stopped by us, and still there
    std::set<std::string, std::less<>> replaced_;       // uids: replaced before they were gone
};

}  // namespace gpuctl::whatif
