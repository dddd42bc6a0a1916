#pragma once
// A stretch of the past, told apart into what people and machines did (it happens again in every
// rerun) and what became of our pods by our own decisions (a rerun decides it anew).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/engine/engine.hpp"
#include "scheduler/model/event.hpp"

namespace gpuctl::whatif {

// One pod of ours that was waiting or came within the window.
struct PastPod {
    PodFacts facts;  // as it came: pending, on no node
    Instant arrived;
    bool was_there = false;    // when the window began
    bool was_running = false;  // likewise: its start is nobody's decision any more
    Instant started;           // in fact; never: it did not
    Duration ran;              // 0: not seen to end
    PodPhase ended_as = PodPhase::succeeded;
    Instant given_up;  // removed before it started
};

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

// Fed with journaled inputs in order, those before `since` included: they lead up to it.
class PastCollector {
public:
    PastCollector(Engine engine, Instant since) : engine_(std::move(engine)), since_(since) {}
    void take(const Input& input);
    // An empty `exported`: nothing happened since.
    [[nodiscard]] PastWindow finish() &&;

private:
    void begin_window(Instant now);
    void see(const PodFacts& facts, Instant now);
    void see_removed(const std::string& uid, const Event& event, Instant now);

    Engine engine_;
    Instant since_;
    bool leads_up_ = false;  // something was taken from before
    EffectList effects_;
    PastWindow window_;
    std::map<std::string, std::size_t, std::less<>> by_uid_;
};

}  // namespace gpuctl::whatif
