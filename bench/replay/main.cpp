// gpuctl-trace-replay: see bench/replay/command_line.hpp. Users call it as tools/replay.

#include <cstdio>

#include "bench/replay/command_line.hpp"

int main(int count, char** values) {
    const auto answer = gpuctl::replay::answer_command({values + 1, values + count});
    std::fputs(answer.output.c_str(), stdout);
    std::fputs(answer.complaint.c_str(), stderr);
    return answer.exit_code;
}
