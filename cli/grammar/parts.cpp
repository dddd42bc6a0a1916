#include "cli/grammar/parts.hpp"

#include <algorithm>
#include <utility>

#include "cli/usage_error.hpp"

namespace gpuctl::cli {
namespace {

// As one_of(), with formats that have an expression after "=".
CLI::Validator format_of_output(const Formats& formats) {
    Formats names;
    for (const std::string& format : formats) {
        names.push_back(format.ends_with('=') ? format + "..." : format);
    }
    const CLI::Validator words = one_of(names);
    const auto check = [formats, words](std::string& word) -> std::string {
        for (const std::string& format : formats) {
            if (format.ends_with('=') && word.starts_with(format)) {
                return word.size() > format.size() ? ""
                                                   : "`" + word + "` needs an expression after =";
            }
        }
        return words(word);
    };
    return CLI::Validator{check, words.get_description()};
}

}  // namespace

void add_output(CLI::App& command, CommandLine& line, const Formats& formats) {
    Formats all{"table"};
    all.insert(all.end(), formats.begin(), formats.end());
    std::string meaning;
    for (const std::string& format : all) {
        if (!meaning.empty()) meaning += &format == &all.back() ? " or " : ", ";
        meaning += format.ends_with('=') ? format + "..." : format;
    }
    command.add_flag("--json", line.json, "print one JSON document")->group("Output");
    command.add_option("-o,--output", line.output, meaning)
        ->check(format_of_output(all))
        ->group("Output");
}

void add_list_output(CLI::App& command, CommandLine& line) {
    add_output(command, line, kEvery);
    command
        .add_option("--sort-by", line.get.output.sort_by,
                    "a column, or a path of the object (.gpuFree)")
        ->group("Output");
    command.add_flag("--no-headers", line.no_headers, "no header above the rows")->group("Output");
    command
        .add_flag("-w,--watch", line.get.watch,
                  "keep printing rows that change; asks every 2 seconds")
        ->group("Output");
}

void add_scope(CLI::App& command, CommandLine& line, const char* meaning) {
    command.add_option("-n,--namespace", line.connection.namespace_name, meaning)->group("Scope");
}

void add_all_namespaces(CLI::App& command, CommandLine& line) {
    command
        .add_flag("-A,--all-namespaces", line.connection.is_every_namespace,
                  "of all namespaces, ignoring context and environment")
        ->excludes("--namespace")
        ->group("Scope");
}

JobName job_of(const std::string& word, const CommandLine& line) {
    Result<JobName> job = parse_job_name(word, line.connection.namespace_name);
    if (!job) throw CLI::ValidationError("NAME", job.error().message);
    return std::move(*job);
}

void set_job(CommandLine& line, std::string& word) {
    JobName job = job_of(word, line);
    word = std::move(job.name);
    line.connection.namespace_name = std::move(job.namespace_name);
}

}  // namespace gpuctl::cli
