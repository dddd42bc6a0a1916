#pragma once
// One function per verb. Each gets a connection and its own options, prints, and returns the exit
// code.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/job_name.hpp"
#include "cli/connection.hpp"
#include "cli/output.hpp"

namespace gpuctl::cli {

// Exit code: some of several jobs failed.
inline constexpr int kPartialFailure = 8;

struct CreateOptions {
    std::vector<std::string> files;
    bool strict = false;
    bool dry_run = false;
    Format format = Format::table;
};
aio::Task<int> run_create(Connection& connection, CreateOptions options);

struct GetOptions {
    std::string kind;  // jobs, pools, nodes, queues
    std::string name;  // one object; empty: all
    std::string pool;
    std::string job_kind;
    std::string status;
    std::string queue;
    std::string gpu_type;
    bool summary = false;  // one row per job instead of per pod
    bool pods = false;     // the default, given explicitly
    Format format = Format::table;
};
aio::Task<int> run_get(Connection& connection, GetOptions options);

struct DescribeOptions {
    std::string kind;  // job, pool, node
    std::string name;
    Format format = Format::table;
};
aio::Task<int> run_describe(Connection& connection, DescribeOptions options);

struct ExplainOptions {
    std::string job;
    Format format = Format::table;
};
aio::Task<int> run_explain(Connection& connection, ExplainOptions options);

struct ExplainYamlOptions {
    std::string key;  // training, training.resources.gpu
};
// Needs no server.
aio::Task<int> run_explain_yaml(Connection& connection, ExplainYamlOptions options);
void print_explanation(std::ostream& out, const nlohmann::json& body);
// The queues of `get queues`, each below its parent.
void print_queues(std::ostream& out, const nlohmann::json& rows, bool wide);

struct WhatIfOptions {
    std::vector<std::string> files;
    bool strict = false;
    Format format = Format::table;
};
// Exit code 0 when every job would start now, 9 when one would wait.
aio::Task<int> run_what_if(Connection& connection, WhatIfOptions options);
void print_what_if(std::ostream& out, const nlohmann::json& body);
// "What would change that, each by itself:" and a line for each change; if no single change is
// enough, what was tried; nothing when nothing was tried.
void print_remedies(std::ostream& out, const nlohmann::json& body);
// `subject`: "it", or the ranks that wait while the rest runs.
void print_blockers(std::ostream& out, const nlohmann::json& blockers, const char* of = "it");
void print_warnings(const std::string& file, const nlohmann::json& body);

struct PreviewOptions {
    std::string config_file;
    std::int64_t hours = 24;
    Format format = Format::table;
};
aio::Task<int> run_preview(Connection& connection, PreviewOptions options);
void print_preview(std::ostream& out, const nlohmann::json& body);

struct DeleteOptions {
    std::vector<std::string> files;
    std::vector<JobName> jobs;
    bool force = false;
    Format format = Format::table;
};
aio::Task<int> run_delete(Connection& connection, DeleteOptions options);

struct LogsOptions {
    std::string job;
    std::string pod;
    std::string container;
    bool follow = false;
    bool all_pods = false;
    std::int64_t tail = 100;
    std::string grep;
    Format format = Format::table;
};
aio::Task<int> run_logs(Connection& connection, LogsOptions options);

struct VersionOptions {
    bool client_only = false;
    Format format = Format::table;
};
aio::Task<int> run_version(Connection& connection, VersionOptions options);

struct ReplayOptions {
    std::string directory;
    bool events = false;
    bool verify = false;
    Format format = Format::table;
};
// Replaces this process by gpuctl-replay; returns only when that program is missing.
int exec_replay(const ReplayOptions& options);

// Shared by the verbs.
int report(const Error& error, Format format, std::string_view subject = "",
           const std::vector<Detail>& warnings = {});
// {error, message, subject, errors[], warnings[]}: an error in --json output.
nlohmann::json error_json(const Error& error, std::string_view subject = "",
                          const std::vector<Detail>& warnings = {});

// A file, or standard input for "-".
Result<std::string> read_text(const std::string& file);
// The documents of a file, split at its `---` lines; each is preceded by as many empty lines as
// precede it in the file, so that the server's line numbers are those of the file.
struct DocumentPart {
    std::string file;
    std::string text;
};
Result<std::vector<DocumentPart>> read_documents(const std::string& file);

}  // namespace gpuctl::cli
