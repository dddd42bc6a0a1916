#pragma once
// Job documents <-> JobSpec (config/examples has documents).

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::wire {

struct JobDocumentOptions {
    // By pool, "*" for every pool: variables of the platform that jobs may set there, in one text.
    std::map<std::string, std::string> variables_allowed = {};
    std::string label_prefix = "runwhere.ai";  // of labels that jobs may not set
    // The document is of a job that exists: rules about what a new one may set do not apply.
    bool was_accepted = false;

    bool strict = false;                        // unknown keys are errors instead of warnings
    std::string default_namespace = "default";  // when the document names none
    // workdirs must lie below one of these; nullopt: any absolute path without ".."
    std::optional<std::vector<std::string>> host_path_roots = std::nullopt;
    // What the ranks of a training job prefer to share when its document has no placement.
    TopologyLevel preferred_of_ranks = TopologyLevel::none;
    std::int32_t gpu_replicas = 1;  // replicas, n(vgpu), that count as one GPU
};

struct DecodedJob {
    JobSpec spec;
    std::vector<Detail> warnings;  // unknown keys with the nearest known one, old spellings, ...
};

// ValidationFailed with every error of the document in Error::details; UnsupportedKind for pool and
// quota documents and for unknown kinds. Warnings about a refused document go to `warnings`, if
// given: they may explain an error.
Result<DecodedJob> decode_job(const Document& document, const JobDocumentOptions& options,
                              std::vector<Detail>* warnings = nullptr);

// Checks across the documents of a file: a node that several pool documents claim.
Result<void> check_stream(const std::vector<Document>& documents);

// The canonical document, keys in the documented order; decode_job(encode_job(s)) == s.
nlohmann::ordered_json encode_job(const JobSpec& spec);

}  // namespace gpuctl::wire
