#pragma once
// Files that people point us to: configuration, keys, tokens. Opening a pipe would wait for whoever
// writes to it, reading a device may never end.

#include <cstddef>
#include <string>

#include "scheduler/base/result.hpp"

namespace gpuctl::aio {

inline constexpr std::size_t kSmallFileBytesMax = 1u << 20;

// Something is there (or where its link leads), and no regular file.
bool is_no_regular_file(const std::string& path);

// All of it. The error's message says only why not ("it is a directory"): what the file was for is
// the caller's to say. Its code is InvalidConfiguration.
Result<std::string> read_small_file(const std::string& path);

}  // namespace gpuctl::aio
