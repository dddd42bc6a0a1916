#pragma once
// The sections of a job document, one reader each; job_document.cpp puts them together.

#include "wire/job/fields.hpp"
#include "wire/job/job_document.hpp"
#include "wire/job/job_keys.hpp"

namespace gpuctl::wire {

struct JobReader {
    const JobDocumentOptions& options;
    JobSpec spec;

    // Unknown keys of a section: warnings, or errors with `strict`.
    void finish(const Fields& fields) const {
        fields.report_unknown(options.strict, [kind = spec.kind](std::string_view key) {
            return home_of(key, kind);
        });
    }
};

void read_job(JobReader& reader, const Field& section);
void read_environment(JobReader& reader, const Field& section);
void read_resources(JobReader& reader, const Field& section);
void read_gpus(JobReader& reader, Fields& resources);  // gpu, gpuType, gpuShare
void read_service(JobReader& reader, const Field& section);
void read_elastic(JobReader& reader, const Field& section, const Field& node_count);
void read_placement(JobReader& reader, const Field& section);
void read_storage(JobReader& reader, const Field& section);
// job.labels, job.annotations, job.epochs, job.batchSize
void read_job_extras(JobReader& reader, Fields& job);
void read_autoscaling(JobReader& reader, const Field& section);
void read_model(JobReader& reader, const Field& section);
void read_output(JobReader& reader, const Field& section);

// resources.nodeCount, which read_elastic compares with.
Field node_count_of(const Field& resources);

// Accepts "32gi" as "32Gi": the suffix's case carries no meaning there.
std::optional<Bytes> read_bytes(std::string text);

// A section of other kinds of jobs: a warning that names them. False: it is one, or absent.
bool is_for_this_kind(const JobReader& reader, const Field& section, std::string_view path);

}  // namespace gpuctl::wire
