#pragma once
// The words of a command line: habits of other command lines in the spelling that our parser knows,
// and what is wrong with values that it took.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::cli {

// `delete job/NAME`, as kubectl has it, is `delete job NAME` here; `-n=team` is `--namespace=team`.
std::vector<std::string> in_our_spelling(const CLI::App& app, std::vector<std::string> words);

// After parsing: a value that is empty (-n "$NAMESPACE" without one), or that holds a character
// which cannot be seen. Files and regular expressions may hold whatever they do.
std::optional<Error> bad_flag_value(const CLI::App& app);

}  // namespace gpuctl::cli
