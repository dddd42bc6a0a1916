#pragma once
// The command `replay`:
//
//     replay SUITE --jobs FILE [...]   one replay, its figures as a table or one JSON object
//     replay all --data DIR            every published figure, next to ours
//
// Exit codes: 0 success, 1 a file or a replay failed or an acceptance figure is missed, 2 wrong
// usage.

#include <string>
#include <vector>

namespace gpuctl::replay {

struct Answer {
    int exit_code = 0;
    std::string output;     // to stdout
    std::string complaint;  // to stderr; warnings, too, if the exit code is 0
};

Answer answer_command(const std::vector<std::string>& arguments);

}  // namespace gpuctl::replay
