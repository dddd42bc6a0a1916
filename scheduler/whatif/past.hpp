#pragma once
// A stretch of the past, told apart into what people and machines did (it happens again in every
// rerun) and what became of our pods by our own decisions (a rerun decides it anew).

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::whatif {

// One pod of ours that was waiting or came within the window. One that we stopped, for others or as
// too many of an elastic job, and that its controller made again, is the same pod: whether it is
// stopped is decided anew.
struct PastPod {
    PodFacts facts;  // as it came: pending, on no node
    Instant arrived;
    bool was_there = false;    // when the window began
    bool was_running = false;  // likewise: its start is nobody's decision any more
    Instant started;           // in fact; never: it did not
    Duration ran;              // without what stops cost; 0: not seen to end
    PodPhase ended_as = PodPhase::succeeded;
    Instant given_up;  // removed before it started
};

// The job it belongs to; a pod alone is one by its own name.
ObjectKey job_of(const PodFacts& facts);

struct PastEvent {
    Instant at;
    Event event;
};

struct PastWindow {
    Instant begin;
    Instant end;
    std::string exported;           // the engine when the window began
    std::vector<PastEvent> events;  // by time
    std::vector<PastPod> pods;      // by first sight
};

// What a life of so long brings its pod forward; one that was stopped before first has to get where
// it was.
Duration progress(const PodFacts& facts, Duration life, bool was_stopped);
// What of that outlives a stop: up to the last checkpoint.
Duration kept(const PodFacts& facts, Duration done);

// Fed with journaled inputs in order, those before `since` included: they lead up to it.
class PastCollector {
public:
    PastCollector(Engine engine, Instant since) : engine_(std::move(engine)), since_(since) {}
    void take(const Input& input);
    // The window ends then, however long ago the last input came: who waits waits all the while.
    // An empty `exported`: there is no journal of it.
    [[nodiscard]] PastWindow finish(Instant until) &&;

private:
    // Between two stops of ours; by the pod's place in the window.
    struct Life {
        Instant started;
        Duration kept;  // from the lives before
        bool was_stopped = false;
    };
    // Who was stopped: namespace, job or the pod's own name, rank.
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
    bool leads_up_ = false;  // something was taken from before
    EffectList effects_;
    PastWindow window_;
    std::map<std::string, std::size_t, std::less<>> by_uid_;
    std::vector<Life> lives_;
    std::set<std::string, std::less<>> told_to_stop_;   // uids
    std::map<ObjectKey, std::int32_t> sizes_;           // told to elastic jobs
    std::multimap<Place, std::size_t> stopped_;         // and not made again yet
    std::map<std::string, Place, std::less<>> ending_;  // by uid: told to stop, and still there
    std::set<std::string, std::less<>> replaced_;       // uids: made again before they were gone
};

}  // namespace gpuctl::whatif
