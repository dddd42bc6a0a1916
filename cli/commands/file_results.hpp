#pragma once
// What became of the documents of several files, for create and apply.

#include <string>
#include <vector>

#include "cli/policy/policy.hpp"

namespace gpuctl::cli {

struct FileResults {
    nlohmann::json results = nlohmann::json::array();  // for --json and -o yaml
    int done = 0;
    int failed = 0;
    int exit_code = 0;  // of the last refusal

    // Prints the error, or keeps it for the document.
    void refused(const std::string& file, const Error& error, Format format,
                 const std::vector<Detail>& warnings = {});
    // `has_action`: whether the document says what was done (created, updated, unchanged).
    void answered(const std::string& file, const nlohmann::json& body, bool has_action = true);
    void answered(const std::string& file, const PolicyAnswer& answer);
    // 0 if nothing failed, that of the refusal if all did, otherwise kPartialFailure.
    [[nodiscard]] int code() const;
};

}  // namespace gpuctl::cli
