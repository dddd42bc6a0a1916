#pragma once
// Job documents for tests, written section by section, and their problems.

#include <gtest/gtest.h>

#include "scheduler/model/gpu/gpu_string.hpp"
#include "unit/wire/support.hpp"
#include "wire/job/job_document.hpp"

namespace gpuctl::wire {

inline Result<DecodedJob> decode(const std::string& text, const JobDocumentOptions& options = {}) {
    const auto documents = parse_yaml(text);
    if (documents.has_error()) return documents.error();
    return decode_job(documents->at(0), options);
}

inline JobSpec spec_of(const std::string& text, const JobDocumentOptions& options = {}) {
    const auto decoded = decode(text, options);
    EXPECT_TRUE(decoded.has_value()) << joined(decoded.error().details);
    return decoded.has_value() ? decoded->spec : JobSpec{};
}

// The problems of a document, one per line; "" when there is none.
inline std::string problems_of(const std::string& text, const JobDocumentOptions& options = {}) {
    const auto decoded = decode(text, options);
    if (decoded.has_value()) return "";
    EXPECT_EQ(decoded.error().code, ErrorCode::ValidationFailed) << decoded.error().message;
    return joined(decoded.error().details);
}

inline std::string warnings_of(const std::string& text) {
    const auto decoded = decode(text);
    EXPECT_TRUE(decoded.has_value()) << joined(decoded.error().details);
    return decoded.has_value() ? joined(decoded->warnings) : "";
}

struct Sections {
    std::string kind = "training";
    std::string job = "{name: a}";
    std::string environment = "{image: i}";
    std::string resources = "{cpu: 1, memory: 1Gi}";
    std::string rest = "";
    std::string text() const {
        return "kind: " + kind + "\njob: " + job + "\nenvironment: " + environment +
               "\nresources: " + resources + "\n" + rest;
    }
};

inline std::string with_job(const std::string& job) { return Sections{.job = job}.text(); }
inline std::string with_environment(const std::string& environment) {
    return Sections{.environment = environment}.text();
}
inline std::string with_resources(const std::string& resources) {
    return Sections{.resources = resources}.text();
}
inline std::string of_kind(const std::string& kind, const std::string& rest = "") {
    return Sections{.kind = kind, .rest = rest}.text();
}

}  // namespace gpuctl::wire
