#pragma once
// One function per verb. Each gets a connection and its own options, prints, and returns the exit
// code.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/job_name.hpp"
#include "cli/connection.hpp"
#include "cli/listing/listing.hpp"
#include "cli/output.hpp"
#include "scheduler/base/time.hpp"

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
    std::string kind;                // of cli/listing/kinds.hpp: jobs, pools, nodes ...
    std::string name;                // one object of the list; empty: all
    std::vector<std::string> names;  // objects that are read one by one, instead of the list
    std::string pool;
    std::string job_kind;
    std::string status;
    std::string queue;
    std::string gpu_type;
    std::string selector;         // -l
    std::string job;              // of events
    std::string key;              // of labels: only this one
    bool summary = false;         // one row per job instead of per pod
    bool pods = false;            // the default, given explicitly
    bool all_schedulers = false;  // pods of other schedulers, too
    bool watch = false;
    std::chrono::milliseconds watch_interval{2'000};
    ListOutput output;
};
aio::Task<int> run_get(Connection& connection, GetOptions options);

struct DescribeOptions {
    std::string kind;  // job, pool, node
    std::string name;
    bool is_short_form = false;  // --json: the contract's snake_case form of a job
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
    Format format = Format::table;
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
    bool wait = false;  // until the jobs are gone
    Duration timeout = Duration::seconds(30);
    std::chrono::milliseconds interval{1'000};
    Format format = Format::table;
};
aio::Task<int> run_delete(Connection& connection, DeleteOptions options);

struct ApplyOptions {
    std::vector<std::string> files;
    bool strict = false;
    bool dry_run = false;
    bool recreate = false;
    bool is_diff = false;  // shows the differences, changes nothing
    Format format = Format::table;
};
// As diff: exit code 0 when nothing differs, 1 when something does.
aio::Task<int> run_apply(Connection& connection, ApplyOptions options);

// A change of one job: scale, update, pause, resume. Absent fields stay as they are.
struct ChangeOptions {
    std::string job;
    std::optional<std::int64_t> replicas;
    std::optional<std::string> image;
    std::optional<std::string> priority;
    std::optional<std::string> queue;
    std::optional<std::string> description;
    bool release = false;
    bool recreate = false;
    bool dry_run = false;
    std::string resource_version;
    Format format = Format::table;
};
aio::Task<int> run_scale(Connection& connection, ChangeOptions options);
aio::Task<int> run_update(Connection& connection, ChangeOptions options);
aio::Task<int> run_pause(Connection& connection, ChangeOptions options);
aio::Task<int> run_resume(Connection& connection, ChangeOptions options);

struct CancelOptions {
    std::vector<JobName> jobs;
    bool force = false;
    Format format = Format::table;
};
aio::Task<int> run_cancel(Connection& connection, CancelOptions options);

struct WaitOptions {
    std::vector<JobName> jobs;
    std::string condition;  // running, ready, succeeded, failed, finished, deleted
    Duration timeout = Duration::seconds(3'600);
    std::chrono::milliseconds interval{1'000};
    Format format = Format::table;
};
aio::Task<int> run_wait(Connection& connection, WaitOptions options);

struct TopOptions {
    std::int64_t jobs = 10;
    bool is_colored = false;
    Format format = Format::table;
};
aio::Task<int> run_top(Connection& connection, TopOptions options);

struct NotebookOptions {
    std::string name;
    Format format = Format::table;
};
aio::Task<int> run_get_notebook(Connection& connection, NotebookOptions options);

struct LogsOptions {
    std::string job;
    std::string pod;
    std::string container;
    bool follow = false;
    bool all_pods = false;
    bool previous = false;    // of the container before its last restart
    bool timestamps = false;  // before each line
    // 0: 100, and every stored line with `since`.
    std::int64_t tail = 0;
    Duration since;  // only lines of this last time; 0: of any time
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
int exit_code_of(const Error& error);
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
// Checks across documents (a node in two pools); the server checks each document by itself.
Result<void> check_whole(const std::vector<DocumentPart>& parts);

}  // namespace gpuctl::cli
