#pragma once
// Commands about pools, quotas, queues and namespaces.

#include <string>
#include <vector>

#include "cli/commands/commands.hpp"

namespace gpuctl::cli {

struct PolicyOptions {
    bool is_chosen = false;  // a command of these is on the command line
    std::string kind;        // pool, quota, queue, namespace
    std::vector<std::string> names;
    std::string pool;  // of a queue
    bool force = false;
    bool is_short_form = false;  // --json, not -o json
    Format format = Format::table;
};
aio::Task<int> run_describe_policy(Connection& connection, PolicyOptions options);
// Asks before it deletes quotas and namespaces, unless forced or in a document format.
aio::Task<int> run_delete_policy(Connection& connection, PolicyOptions options);

// The documents of kinds pool, quota, queue and namespace of a file, sent in one request: all or
// none. They are removed from `parts`; what is left are jobs.
struct PolicyFile {
    std::string mode;  // create, apply, delete
    bool strict = false;
    bool dry_run = false;
    bool force = false;
};
struct PolicyAnswer {
    nlohmann::json results = nlohmann::json::array();  // [{kind, name, status, action, message}]
    nlohmann::json warnings = nlohmann::json::array();
};
bool is_policy_document(const DocumentPart& part);
// Of kind quota or namespace.
bool needs_confirmation(const DocumentPart& part);
std::vector<DocumentPart> take_policy_documents(std::vector<DocumentPart>& parts);
aio::Task<Result<PolicyAnswer>> send_policy_documents(Connection& connection, PolicyFile how,
                                                      std::vector<DocumentPart> parts);
// A line for each result, and the warnings.
void print_policy_answer(const std::string& file, const PolicyAnswer& answer, Format format);

// Only Y and y mean yes.
bool is_confirmed(const std::string& question);

}  // namespace gpuctl::cli
