#pragma once
// Bearer tokens from files, flags and the environment. They go into a header, which a line end
// would break, and a wrong server must not receive a part of one. No message quotes a token.

#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"

namespace gpuctl::text {

// "" or what is wrong with it, as the rest of a sentence: "is empty",
// "contains U+000A LINE FEED (character 41); remove it".
std::string problem_with_token(std::string_view token);

// The first word of a file's only line, which one line end may follow. The error's message is the
// rest of a sentence, as above.
Result<std::string> token_of_file(std::string_view content);

}  // namespace gpuctl::text
