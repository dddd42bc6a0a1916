#include <algorithm>
#include <iostream>
#include <utility>

#include "cli/jobs/job_state.hpp"
#include "cli/policy/policy.hpp"
#include "text/duration.hpp"
#include "wire/job/document.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

// The jobs that a file declares; its other documents go to `policy`. Only kind and names matter
// here, so that a file which the server would refuse today still names the jobs it created.
Result<std::vector<JobName>> jobs_in(const std::string& file, const std::string& namespace_name,
                                     std::vector<DocumentPart>& policy) {
    Result<std::vector<DocumentPart>> parts = read_documents(file);
    if (!parts) return parts.error();
    policy = take_policy_documents(*parts);
    std::vector<JobName> jobs;
    for (const DocumentPart& part : *parts) {
        Result<std::vector<wire::Document>> documents = wire::parse_yaml(part.text);
        if (!documents) return while_doing("read " + file, documents.error());
        for (const wire::Document& document : *documents) {
            const nlohmann::json job = document.root.is_object()
                                           ? document.root.value("job", nlohmann::json::object())
                                           : nlohmann::json::object();
            const std::string name = text_of(job, "name");
            if (name.empty()) {
                return make_error(ErrorCode::ValidationFailed,
                                  "read " + file + ": a document has no job.name");
            }
            jobs.push_back({text_of(job, "namespace", namespace_name), name});
        }
    }
    return jobs;
}

// The results so far.
struct Outcome {
    nlohmann::json results = nlohmann::json::array();  // for --json and -o yaml
    int deleted = 0;
    int failed = 0;
    int exit_code = 0;

    void refused(const Error& error, const std::string& subject, const std::string& job_name,
                 Format format) {
        ++failed;
        exit_code = wire::row_of(error.code).exit_code;
        if (is_document(format)) {
            results.push_back(entry_of(error, subject, job_name));
        } else {
            report(error, format, subject);
        }
    }
    // What was accepted as result `index` did not end in time: it is no success any more.
    void still_there(const Error& error, std::size_t index, const JobName& job, Format format) {
        --deleted;
        refused(error, to_string(job), job.name, format);
        if (!is_document(format)) return;
        results[index] = std::move(results.back());
        results.erase(results.size() - 1);
    }
    static nlohmann::json entry_of(const Error& error, const std::string& subject,
                                   const std::string& job_name) {
        nlohmann::json entry = error_json(error, job_name.empty() ? subject : "");
        if (!job_name.empty()) {
            entry["error"] = error.message;  // the wire form has the message in `error` here
            entry["job_name"] = job_name;
        }
        return entry;
    }
    void removed(const PolicyAnswer& answer) {
        for (const auto& result : answer.results) {
            ++deleted;
            results.push_back(result);
        }
    }
    void removed(const JobName& job, const nlohmann::json& body, const DeleteOptions& options) {
        ++deleted;
        const std::string message = text_of(body, "message");
        if (options.format == Format::table) {
            const std::string sentence =
                message.empty() ? "job " + to_string(job) + " is being deleted" : message;
            std::cout << printable(sentence) << '\n';
        } else if (options.format == Format::name) {
            const JobName known{text_of(body, "namespace", job.namespace_name),
                                text_of(body, "jobId", job.name)};
            std::cout << printable(typed_name(known)) << '\n';
        }
        results.push_back({{"status", "success"},
                           {"message", message},
                           {"job_name", job.name},
                           {"force", options.force}});
    }
};

struct Accepted {
    JobName job;
    std::size_t result = 0;  // its index among the results
};

// Quotas and namespaces are deleted only after a yes, unless forced or in a document format.
bool may_delete(const std::vector<std::vector<DocumentPart>>& policies,
                const DeleteOptions& options) {
    if (options.force || is_document(options.format)) return true;
    std::size_t asked = 0;
    for (const std::vector<DocumentPart>& file : policies) {
        asked +=
            static_cast<std::size_t>(std::count_if(file.begin(), file.end(), needs_confirmation));
    }
    return asked == 0 ||
           is_confirmed("Delete the quotas and namespaces of " + std::to_string(asked) +
                        (asked == 1 ? " document?" : " documents?"));
}

// Waits for the deleted jobs, one after another, until the one time for all is over.
aio::Task<void> wait_until_gone(Connection& connection, const DeleteOptions& options,
                                const std::vector<Accepted>& jobs, Outcome& outcome) {
    const std::int64_t end_ms = aio::Loop::wall_ms() + options.timeout.ms();
    for (const auto& [job, result] : jobs) {
        WaitOptions how;
        how.condition = "deleted";
        how.timeout = Duration{std::max<std::int64_t>(0, end_ms - aio::Loop::wall_ms())};
        how.interval = options.interval;
        JobName asked = job;
        const Result<void> gone =
            co_await wait_for_job(connection, std::move(asked), std::move(how));
        if (gone) {
            if (options.format == Format::table) {
                std::cout << "job " << printable(to_string(job)) << " is gone\n";
            }
            continue;
        }
        Error error = gone.error();
        if (error.code == ErrorCode::Timeout) {
            error.message = "delete job " + to_string(job) + ": it is still terminating after " +
                            text::format_span(options.timeout.ms() / 1'000) +
                            "; --timeout waits longer, --force does not wait for its pods";
        }
        outcome.still_there(error, result, job, options.format);
    }
}

}  // namespace

aio::Task<int> run_delete(Connection& connection, DeleteOptions options) {
    std::vector<JobName> jobs;
    std::vector<std::vector<DocumentPart>> policies;  // of each file
    Outcome outcome;
    const std::string namespace_name = connection.options().namespace_name;
    for (const JobName& job : options.jobs) {
        jobs.push_back(
            {job.namespace_name.empty() ? namespace_name : job.namespace_name, job.name});
    }
    for (const std::string& file : options.files) {
        const std::string fallback = namespace_name.empty() ? "default" : namespace_name;
        std::vector<DocumentPart> policy;
        Result<std::vector<JobName>> declared = jobs_in(file, fallback, policy);
        if (!declared) {
            outcome.refused(declared.error(), file, "", options.format);
            continue;
        }
        jobs.insert(jobs.end(), declared->begin(), declared->end());
        if (!policy.empty()) policies.push_back(std::move(policy));
    }
    std::vector<Accepted> accepted;
    for (const JobName& job : jobs) {
        const std::string target =
            "/api/v1/jobs/" + net::percent_encode(job.name) +
            query({{"namespace", job.namespace_name}, {"force", options.force ? "true" : ""}});
        const Result<Reply> reply = co_await connection.call("DELETE", target, "", "");
        if (reply) {
            outcome.removed(job, reply->body, options);
            accepted.push_back({{text_of(reply->body, "namespace", job.namespace_name), job.name},
                                outcome.results.size() - 1});
        } else {
            outcome.refused(reply.error(), to_string(job), job.name, options.format);
        }
    }
    if (options.wait) co_await wait_until_gone(connection, options, accepted, outcome);
    // After the jobs, which may use them.
    if (!policies.empty() && !may_delete(policies, options)) {
        std::cout << "cancelled; no quota or namespace was deleted\n";
        policies.clear();
    }
    for (std::vector<DocumentPart>& policy : policies) {
        const std::string file = policy.front().file;
        const PolicyFile how{"delete", false, false, options.force};
        const Result<PolicyAnswer> sent =
            co_await send_policy_documents(connection, how, std::move(policy));
        if (!sent) {
            outcome.refused(sent.error(), file, "", options.format);
            continue;
        }
        print_policy_answer(file, *sent, options.format);
        outcome.removed(*sent);
    }
    const nlohmann::json& results = outcome.results;
    if (is_document(options.format) && !results.empty()) {
        print_document(std::cout, results.size() == 1 ? results[0] : results, options.format);
    }
    if (outcome.failed > 0 && outcome.deleted > 0) co_return kPartialFailure;
    co_return outcome.exit_code;
}

}  // namespace gpuctl::cli
