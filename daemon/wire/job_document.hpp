#pragma once
// Job documents (contract.md 3, rulings 4, 5, 10) <-> JobSpec.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/wire/document.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/job_spec.hpp"

namespace gpuctl::wire {

struct JobDocumentOptions {
    bool strict = false;                        // unknown keys are errors instead of warnings
    std::string default_namespace = "default";  // when the document names none
    std::vector<std::string> host_path_roots;   // empty: any absolute path without ".."
    std::int32_t gpu_replicas = 1;              // so many shares, n(vgpu), count as one GPU
};

struct DecodedJob {
    JobSpec spec;
    std::vector<Detail> warnings;  // unknown keys with the nearest known one, old spellings, ...
};

// ValidationFailed with every error of the document in Error::details; UnsupportedKind for pool
// and quota documents (contract issue) and unknown kinds. What only deserves a warning in a refused
// document goes to `warnings`, if given: it may explain an error, but it is none.
Result<DecodedJob> decode_job(const Document& document, const JobDocumentOptions& options,
                              std::vector<Detail>* warnings = nullptr);

// What only the whole file shows: a node that several of its pool documents claim.
Result<void> check_stream(const std::vector<Document>& documents);

// The canonical document, keys in the contract's order; decode_job(encode_job(s)) == s.
nlohmann::ordered_json encode_job(const JobSpec& spec);

}  // namespace gpuctl::wire
