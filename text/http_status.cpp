#include "text/http_status.hpp"

namespace gpuctl::text {

ErrorCode code_of_http_status(int status) {
    switch (status) {
        case 401:
            return ErrorCode::Unauthorized;
        case 403:
            return ErrorCode::Forbidden;
        case 404:
            return ErrorCode::NotFound;
        case 405:
            return ErrorCode::MethodNotAllowed;
        case 408:
            return ErrorCode::RequestTimeout;
        case 409:
            return ErrorCode::Conflict;
        case 410:
            return ErrorCode::Gone;
        case 413:
            return ErrorCode::BodyTooLarge;
        case 415:
            return ErrorCode::UnsupportedMediaType;
        case 422:
            return ErrorCode::ValidationFailed;
        case 429:
            return ErrorCode::TooManyRequests;
        case 431:
            return ErrorCode::HeaderTooLarge;
        case 502:
            return ErrorCode::Unreachable;
        case 503:
            return ErrorCode::ClusterUnavailable;
        case 504:
            return ErrorCode::Timeout;
        default:
            break;
    }
    if (status >= 500) return ErrorCode::Internal;
    return status >= 400 ? ErrorCode::BadRequest : ErrorCode::ProtocolError;
}

}  // namespace gpuctl::text
