#pragma once
// The grammar of the commands that open sessions with pods. Private to grammar.cpp.

#include "cli/grammar.hpp"

namespace gpuctl::cli {

void add_sessions(CLI::App& app, CommandLine& line);

}  // namespace gpuctl::cli
