#pragma once
// How one list or watch of an informer ended, which decides the next step.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "k8s/client/api_status.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::k8s {

enum class Ending : std::uint8_t {
    closed,       // as announced: continue from the last version
    silent,       // no byte for the silence limit: continue from the last version
    interrupted,  // cut, refused, throttled: back off, continue from the last version
    expired,      // 410: the version has expired: list again
    damaged,      // garbage or an unknown error: back off, list again
    full,         // the handler is full: back off, list again
    too_new,      // ResourceVersionTooLarge: wait a second, list again
    relist,       // requested by a caller
    absent,       // 404: no such resource
    unsupported,  // sendInitialEvents: list by pages
    listed,       // a paged list is complete
    cancelled
};

struct End {
    Ending how = Ending::closed;
    std::string why;
    std::optional<std::chrono::seconds> retry_after;
    bool suspicious = false;  // if repeated, the version itself may be the cause
};

// An error answer or ERROR frame of the server.
End end_of(const ApiError& error);
// The connection failed.
End end_of(const Error& error);

[[nodiscard]] bool needs_list(Ending how);

}  // namespace gpuctl::k8s
