#pragma once
// The command line as a whole: grammar, dispatch, exit code.

#include <iosfwd>
#include <string>
#include <vector>

namespace gpuctl::cli {

// Exit codes are those of wire/problem's table; 2 for an invalid command line, 8 when some of
// several things failed, 9 when a job would wait (what-if), 130 when interrupted.
int run(int argc, const char* const* argv);

// Help text of a command path ("create", "get jobs", "" for all), as --help prints it.
std::string help_text(const std::vector<std::string>& command_path);

}  // namespace gpuctl::cli
