#pragma once
// What is wrong with a command line that the parser refused: the word, the nearest valid words, and
// the command that prints the help.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuctl::cli {

// "unknown flag --summry of `gpuctl get jobs`; did you mean --summary? See `gpuctl get jobs
// --help`." `app` is the parser after it threw `problem`.
std::string usage_error(const CLI::App& app, const CLI::ParseError& problem);

// The same for a command line that requests the help of a command that does not exist; nothing if
// it exists. `app` is the parser after it was stopped by the help flag.
std::optional<std::string> unknown_command_of_help(const CLI::App& app);

// Accepts `names` only; its message lists them and says which one is near.
CLI::Validator one_of(std::vector<std::string> names);
// Accepts whole numbers within these bounds only.
CLI::Validator whole_number(std::int64_t least, std::int64_t most);

}  // namespace gpuctl::cli
