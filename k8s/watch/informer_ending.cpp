#include "k8s/watch/informer_ending.hpp"

namespace gpuctl::k8s {

End end_of(const ApiError& error) {
    if (error.code == ErrorCode::Cancelled) return {Ending::cancelled, {}, {}, false};
    Ending how = Ending::interrupted;
    if (error.code == ErrorCode::Gone) {
        how = Ending::expired;
    } else if (error.has_cause("ResourceVersionTooLarge")) {
        how = Ending::too_new;
    } else if (error.code == ErrorCode::NotFound) {
        how = Ending::absent;
    } else if (error.code == ErrorCode::BadRequest || error.code == ErrorCode::ValidationFailed ||
               error.code == ErrorCode::ProtocolError) {
        how = Ending::damaged;
    }
    return {how, error.message, error.retry_after, false};
}

End end_of(const Error& error) {
    const bool cancelled = error.code == ErrorCode::Cancelled;
    return {cancelled ? Ending::cancelled : Ending::interrupted, error.message, {}, false};
}

bool needs_list(Ending how) {
    return how == Ending::expired || how == Ending::damaged || how == Ending::full ||
           how == Ending::too_new || how == Ending::relist || how == Ending::absent ||
           how == Ending::unsupported;
}

}  // namespace gpuctl::k8s
