#pragma once
// The grammar of the commands that change jobs: apply, diff, scale, update, pause, resume.

#include "cli/grammar.hpp"

namespace gpuctl::cli {

// `set_job` and `add_output` are those of every command (grammar.cpp).
struct SharedGrammar {
    void (*add_output)(CLI::App& command, CommandLine& line);
    void (*add_scope)(CLI::App& command, CommandLine& line, bool of_a_file);
    void (*set_job)(CommandLine& line, std::string& word);
};
void add_change_commands(CLI::App& app, CommandLine& line, const SharedGrammar& shared);

}  // namespace gpuctl::cli
