#pragma once
// What the commands of the grammar share: output formats, namespaces, names of jobs. The functions
// add_NAME() add the commands of one file of this folder.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/grammar.hpp"

namespace gpuctl::cli {

using Formats = std::vector<std::string>;

// The output formats of a command besides table; `-o` offers these and refuses the rest. Those that
// end with "=" take an expression. In a namespace of their own, because tests have a kJson, too.
namespace output_formats {
inline const Formats kJson{"json"};
inline const Formats kDocuments{"json", "yaml"};
// As in kubectl, wide equals table where there are no further columns.
inline const Formats kDocumentsAndWide{"json", "yaml", "wide"};
inline const Formats kDocumentsAndNames{"json", "yaml", "name"};
inline const Formats kEvery{"json",  "yaml", "name",      "wide",
                            "jsonl", "csv",  "jsonpath=", "columns="};
}  // namespace output_formats
using namespace output_formats;

inline constexpr const char* kWhereLookedFor = "namespace of the job [all namespaces]";
inline constexpr const char* kWhereMade = "namespace of jobs whose file has none [default]";
inline constexpr const char* kJobNameMeaning = "job or pod name, also NAMESPACE/NAME";

// --json and -o.
void add_output(CLI::App& command, CommandLine& line, const Formats& formats);
// Those of a command that lists, with --sort-by, --no-headers and --watch.
void add_list_output(CLI::App& command, CommandLine& line);
// -n.
void add_scope(CLI::App& command, CommandLine& line, const char* meaning = kWhereLookedFor);
// -A, which excludes -n.
void add_all_namespaces(CLI::App& command, CommandLine& line);

JobName job_of(const std::string& word, const CommandLine& line);
// The one job of a command; its namespace is the command's.
void set_job(CommandLine& line, std::string& word);

// "15m" to 15 minutes; checked by a_duration().
Duration duration_of(const std::string& word);
CLI::Validator a_duration();

// listing.cpp
void add_get(CLI::App& app, CommandLine& line);
// `kind` is of cli/listing/kinds.hpp.
void add_listed(CLI::App& get, CommandLine& line, const std::string& kind,
                const std::string& meaning);
void add_describe(CLI::App& app, CommandLine& line);

// client.cpp
void add_wait(CLI::App& app, CommandLine& line);
void add_cancel(CLI::App& app, CommandLine& line);
void add_top(CLI::App& app, CommandLine& line);
void add_doctor(CLI::App& app, CommandLine& line);
void add_config(CLI::App& app, CommandLine& line);
void add_completion(CLI::App& app, CommandLine& line);
void add_get_notebook(CLI::App& get, CommandLine& line);

}  // namespace gpuctl::cli
