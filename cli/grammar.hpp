#pragma once
// The command line's grammar: commands, flags and their help.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/client/client.hpp"
#include "cli/commands/commands.hpp"
#include "cli/nodes/nodes.hpp"
#include "cli/policy/policy.hpp"
#include "cli/sessions/commands.hpp"

namespace gpuctl::cli {

// All options of the command line; each verb reads its part.
struct CommandLine {
    ConnectionOptions connection;
    std::string output = "table";
    bool json = false;
    std::vector<std::string> change_words;  // of scale, update, pause, resume
    bool no_headers = false;
    std::string color = "auto";
    std::vector<std::string> job_words;  // of delete, cancel and wait, as they were typed

    CreateOptions create;
    GetOptions get;
    DescribeOptions describe;
    ExplainOptions explain;
    ExplainYamlOptions explain_yaml;
    DeleteOptions remove;
    ApplyOptions apply;
    ChangeOptions change;
    LogsOptions logs;
    NodeOptions nodes;
    WhatIfOptions what_if;
    PreviewOptions preview;
    VersionOptions version;
    ReplayOptions replay;
    PolicyOptions policy;
    CancelOptions cancel;
    WaitOptions wait;
    TopOptions top;
    NotebookOptions notebook;
    ConfigOptions config;
    CompletionOptions completion;
    DoctorOptions doctor;
    bool is_doctor = false;  // the chosen verb reports problems of the connection itself
    std::string timeout;     // durations, as they were typed
    std::string since;
    ExecOptions exec;
    CpOptions cp;
    PortForwardOptions port_forward;
    RunOptions run;

    // The verb that was chosen; set by its callback.
    std::function<aio::Task<int>(Connection&)> verb;
    // Set instead by a verb that needs no connection.
    std::function<int()> local;
};

Format format_of(const CommandLine& line);
// Of a command that lists: -o, --json, --no-headers, --sort-by and --color.
ListOutput list_output_of(const CommandLine& line);

// `line` must outlive it.
std::unique_ptr<CLI::App> build(CommandLine& line);

}  // namespace gpuctl::cli
