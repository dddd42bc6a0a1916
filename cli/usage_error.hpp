#pragma once
// What is wrong with a command line that the parser refused: the word, the nearest valid words, and
// the command that prints the help.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gpuctl::cli {

// "unknown flag --summry of `gpuctl get jobs`; did you mean --summary? See `gpuctl get jobs
// --help`." `app` is the parser after it threw `problem`.
std::string usage_error(const CLI::App& app, const CLI::ParseError& problem);

// Accepts `names` only; its message lists them and says which one is near.
CLI::Validator one_of(std::vector<std::string> names);

}  // namespace gpuctl::cli
