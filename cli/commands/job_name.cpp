#include "cli/commands/job_name.hpp"

#include <vector>

namespace gpuctl::cli {
namespace {

std::vector<std::string> split(std::string_view word) {
    std::vector<std::string> parts{""};
    for (const char c : word) {
        if (c == '/') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

}  // namespace

Result<JobName> parse_job_name(std::string_view word, const std::string& namespace_flag) {
    std::vector<std::string> parts = split(word);
    if (parts.size() > 1 && (parts[0] == "job" || parts[0] == "jobs")) parts.erase(parts.begin());
    bool is_name = parts.size() <= 2;
    for (const std::string& part : parts) is_name = is_name && !part.empty();
    if (!is_name) {
        return make_error(ErrorCode::BadRequest,
                          std::string{word} +
                              " is not a job name; write NAME, NAMESPACE/NAME, job/NAME or "
                              "job/NAMESPACE/NAME");
    }
    if (parts.size() == 1) return JobName{namespace_flag, parts[0]};
    if (!namespace_flag.empty() && namespace_flag != parts[0]) {
        return make_error(ErrorCode::BadRequest, std::string{word} + " is in namespace " +
                                                     parts[0] + ", and -n says " + namespace_flag +
                                                     "; leave one of them out");
    }
    return JobName{parts[0], parts[1]};
}

std::string to_string(const JobName& job) {
    return job.namespace_name.empty() ? job.name : job.namespace_name + "/" + job.name;
}

std::string typed_name(const JobName& job) { return "job/" + to_string(job); }

std::string without_kind(const std::string& word, const std::string& kind) {
    const std::size_t slash = word.find('/');
    if (slash == std::string::npos) return word;
    const std::string prefix = word.substr(0, slash);
    return prefix == kind || prefix + "s" == kind || prefix == kind + "s" ? word.substr(slash + 1)
                                                                          : word;
}

}  // namespace gpuctl::cli
