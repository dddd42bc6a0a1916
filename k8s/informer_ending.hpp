#pragma once
// How one list or watch of an informer ended, and thus what it does next.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "k8s/api_status.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::k8s {

enum class Ending : std::uint8_t {
    closed,       // as announced: go on from the last version
    silent,       // the watchdog fired: go on from the last version
    interrupted,  // cut, refused, throttled: back off, go on from the last version
    expired,      // 410: the version is no longer known: list anew
    damaged,      // garbage or an unknown error: back off, list anew
    full,         // the handler has no room: back off, list anew
    too_new,      // ResourceVersionTooLarge: wait a second, list anew
    relist,       // asked for
    absent,       // 404: no such resource
    unsupported,  // sendInitialEvents: list by pages
    listed,       // a list by pages is complete
    cancelled
};

struct End {
    Ending how = Ending::closed;
    std::string why;
    std::optional<std::chrono::seconds> retry_after;
    bool suspicious = false;  // often in a row: perhaps the version itself is the trouble
};

// An answer or ERROR frame of the server (C23).
End end_of(const ApiError& error);
// The connection failed.
End end_of(const Error& error);

[[nodiscard]] bool needs_list(Ending how);

}  // namespace gpuctl::k8s
