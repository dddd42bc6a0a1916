#pragma once
// Reads files that users name: configuration, keys, tokens. Only regular files are read: opening a
// pipe blocks until its other end is opened, and reading a device may never end.

#include <cstddef>
#include <string>

#include "scheduler/base/result.hpp"

namespace gpuctl::aio {

inline constexpr std::size_t kSmallFileBytesMax = 1u << 20;

// Whether the path (after links) exists and is not a regular file.
bool is_no_regular_file(const std::string& path);

// The whole file. The error's message says only why not ("it is a directory"); the caller adds what
// the file is for. Its code is InvalidConfiguration.
Result<std::string> read_small_file(const std::string& path);

}  // namespace gpuctl::aio
