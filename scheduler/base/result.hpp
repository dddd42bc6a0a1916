#pragma once
// Expected failures are values: Result<T> holds a T or an Error. Exceptions are for start-up only
// and never cross a module boundary.

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/base/error_code.hpp"

namespace gpuctl {

// The position of a problem in a document. Line and column count from 1; 0 means unknown.
struct Place {
    std::string pointer;  // JSON pointer, e.g. /resources/gpu
    int line = 0;
    int column = 0;
};

struct Detail {
    Place place;
    std::string message;
};

// `message` is a sentence: what we tried, on which object, what happened, what to do next.
struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string message;
    std::vector<Detail> details;  // several problems of one document, in document order
};

template <typename T>
using Result = boost::system::result<T, Error>;

// Result::value() calls this on an error: the caller has a bug if it uses an absent value.
[[noreturn]] inline void throw_exception_from_error(const Error& error,
                                                    const boost::source_location&) {
    throw std::logic_error("value() of a failed Result: " + error.message);
}

inline Error make_error(ErrorCode code, std::string message) {
    return Error{code, std::move(message), {}};
}

// Each layer wraps an error once and adds what the layer was doing.
inline Error while_doing(std::string what, Error error) {
    error.message = std::move(what) + ": " + error.message;
    return error;
}

}  // namespace gpuctl
