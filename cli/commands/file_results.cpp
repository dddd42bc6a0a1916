#include "cli/commands/file_results.hpp"

#include "wire/problem.hpp"

namespace gpuctl::cli {

void FileResults::refused(const std::string& file, const Error& error, Format format,
                          const std::vector<Detail>& warnings) {
    ++failed;
    exit_code = wire::row_of(error.code).exit_code;
    if (!is_document(format)) {
        Error named = error;
        const bool is_named =
            !error.details.empty() || error.message.find(file) != std::string::npos;
        if (!is_named) named.message = file + ": " + named.message;
        report(named, format, file, warnings);
        return;
    }
    nlohmann::json entry = error_json(error, "", warnings);
    entry["file"] = file;
    results.push_back(std::move(entry));
}

void FileResults::answered(const std::string& file, const nlohmann::json& body, bool has_action) {
    ++done;
    nlohmann::json entry{{"file", file}, {"kind", text_of(body, "kind")}};
    if (has_action) entry["action"] = text_of(body, "action");
    entry["results"] = nlohmann::json::array({body});
    results.push_back(std::move(entry));
}

void FileResults::answered(const std::string& file, const PolicyAnswer& answer) {
    for (const auto& result : answer.results) answered(file, result);
}

int FileResults::code() const { return failed > 0 && done > 0 ? kPartialFailure : exit_code; }

}  // namespace gpuctl::cli
