#pragma once
// The command line's grammar: commands, flags and their help.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"

namespace gpuctl::cli {

// All options of the command line; each verb reads its part.
struct CommandLine {
    ConnectionOptions connection;
    std::string output = "table";
    bool json = false;
    std::vector<std::string> job_words;  // of delete, as they were typed

    CreateOptions create;
    GetOptions get;
    DescribeOptions describe;
    ExplainOptions explain;
    ExplainYamlOptions explain_yaml;
    DeleteOptions remove;
    LogsOptions logs;
    WhatIfOptions what_if;
    PreviewOptions preview;
    VersionOptions version;
    ReplayOptions replay;

    // The verb that was chosen; set by its callback.
    std::function<aio::Task<int>(Connection&)> verb;
};

Format format_of(const CommandLine& line);

// `line` must outlive it.
std::unique_ptr<CLI::App> build(CommandLine& line);

}  // namespace gpuctl::cli
