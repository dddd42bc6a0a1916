#pragma once
// Commands about gpuctl itself: its configuration file, completion of the shell, and what is wrong
// with the connection.

#include <string>
#include <vector>

#include "cli/connection.hpp"
#include "cli/output.hpp"

namespace CLI {
class App;
}

namespace gpuctl::cli {

struct ConfigOptions {
    std::string action;  // get-contexts, use-context, view, current-context
    std::string context;
    std::string file;  // of --config; empty: the usual one
    Format format = Format::table;
    bool has_header = true;
};
// No connection is needed.
int run_config(const ConfigOptions& options);

struct CompletionOptions {
    std::string shell;  // bash, zsh
};
int run_completion(const CompletionOptions& options);

// The words that may come next on a command line: the last of `words` is being typed.
std::vector<std::string> completions(const CLI::App& app, const std::vector<std::string>& words);

struct DoctorOptions {
    Format format = Format::table;
    bool is_colored = false;
};
// Exit code 0: no problem; 7: gpuctld does not answer; 1: another problem.
aio::Task<int> run_doctor(Connection& connection, DoctorOptions options);
// When no connection can even be set up: the error is its first problem.
int report_setup(const Error& error, const DoctorOptions& options);

}  // namespace gpuctl::cli
