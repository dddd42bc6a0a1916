#pragma once
// Rewrites kubectl's spellings of a command line for our parser, and checks the values it parsed.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::cli {

// `delete job/NAME`, as kubectl has it, is `delete job NAME` here; `-n=team` is `--namespace=team`,
// and `help get` is `get --help`.
std::vector<std::string> in_our_spelling(const CLI::App& app, std::vector<std::string> words);

// After parsing: the problem of a value that is empty (-n "$NAMESPACE" without one), or that holds
// an invisible character. Files and regular expressions may hold any.
std::optional<Error> bad_flag_value(const CLI::App& app);

}  // namespace gpuctl::cli
