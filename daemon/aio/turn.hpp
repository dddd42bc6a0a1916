#pragma once
// How long the turns of the event loop take, and at what they work.
//
// A turn is one handler of the loop, from its begin to its end; nothing else happens on the loop
// meanwhile. What may take long in it says what it is: Turn::mark("plan"). Loop::run() measures
// each turn and reports it to the observer with the last mark.
//
// What could go on for long in small steps asks Turn::is_long() between them and takes another turn
// then: a connection that always has more bytes would keep the loop from everything else.
//
// The begin of a turn that comes straight after another one is the end of that. After a wait the
// begin is the turn's first mark; a turn that waited and marks nothing is measured in CPU time of
// the thread, since Asio does not say when it stopped waiting.
//
// Thread: mark() and work() belong to the calling thread and do nothing outside of a loop's.

#include <functional>
#include <string_view>

#include "daemon/aio/deadline.hpp"

namespace gpuctl::aio {

inline constexpr std::string_view kUnmarkedWork = "other";
inline constexpr std::chrono::milliseconds kTurnTime{2};

// `work` is one of a closed set and lives as long as the process: it becomes a label of a metric.
using TurnObserver = std::function<void(std::string_view work, Clock::duration took)>;

class Turn {
public:
    static void mark(std::string_view work);
    // Of the turn under way; for a task that goes on in a later turn with the same work.
    [[nodiscard]] static std::string_view work();
    // It has taken its time: the rest is for another turn. Never outside of a loop's run().
    [[nodiscard]] static bool is_long();
};

}  // namespace gpuctl::aio
