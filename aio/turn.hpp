#pragma once
// Measures how long the turns of the event loop take, and which work they do.
//
// A turn is one handler of the loop, from begin to end; nothing else runs on the loop meanwhile.
// Work that may take long names itself with Turn::mark("plan"). Loop::run() measures each turn and
// reports it with the last mark to the observer.
//
// Work that could continue for long in small steps checks Turn::is_long() between steps and
// continues in another turn: a connection that always has more bytes would otherwise block the
// loop.
//
// A turn that follows another one directly begins where that one ends. After a wait, a turn begins
// at its first mark; a turn that waited and has no mark is measured in CPU time of the thread,
// because Asio does not report when its wait ended.
//
// Thread: mark() and work() act on the calling thread and do nothing outside a loop's thread.

#include <functional>
#include <string_view>

#include "aio/deadline.hpp"

namespace gpuctl::aio {

inline constexpr std::string_view kUnmarkedWork = "other";
inline constexpr std::chrono::milliseconds kTurnTime{2};

// `work` is one of a closed set and lives as long as the process: it becomes a label of a metric.
using TurnObserver = std::function<void(std::string_view work, Clock::duration took)>;

class Turn {
public:
    static void mark(std::string_view work);
    // The mark of the current turn, for a task that continues the same work in a later turn.
    [[nodiscard]] static std::string_view work();
    // Whether this turn has used its time and should continue in another one. Always false outside
    // a loop's run().
    [[nodiscard]] static bool is_long();
};

}  // namespace gpuctl::aio
