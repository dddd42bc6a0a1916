#pragma once
// The keys of job documents as one table: it drives the readers of the sections (names, ranges,
// choices, which keys are required), the warnings about unknown keys, `gpuctl explain-yaml` and
// docs/yaml.md.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "wire/job/fields.hpp"

namespace gpuctl {
enum class JobKind : std::uint8_t;
}

namespace gpuctl::wire {

// Bits of JobKind.
struct JobKinds {
    unsigned bits = 0;
    [[nodiscard]] constexpr bool has(JobKind kind) const {
        return (bits >> static_cast<unsigned>(kind) & 1U) != 0;
    }
};

struct JobKey {
    // "service.port". "[]" is an element of a list, "NAME" a key that users choose.
    std::string_view path;
    std::string_view type;  // for people: "whole number", "list of text"
    JobKinds kinds;
    std::string_view meaning;
    std::string_view example = {};   // of the value, in YAML's flow style
    std::string_view standard = {};  // the value if it is absent; "" none
    bool is_required = false;        // within its section
    std::string_view choices = {};   // separated by spaces
    std::int64_t low = 0;            // bounds of whole numbers; 0 and 0: none
    std::int64_t high = 0;
    std::string_view aliases = {};  // besides other cases, hyphens and underscores
};

// In the documented order: a section, then its members.
std::span<const JobKey> job_keys();
const JobKey* find_job_key(std::string_view path);
// "port" of "service.port".
std::string_view last_part(std::string_view path);
// The members of a section; of "" the sections.
std::vector<const JobKey*> members_of(std::string_view path);

// The key of a section that is being read, by any of its names; an error if it is required and
// absent. Every path must be in the table.
Field find_key(Fields& section, std::string_view path);
std::optional<std::int64_t> read_integer_key(Fields& section, std::string_view path);
// One of the choices, as the table spells it.
std::optional<std::string> read_choice_key(Fields& section, std::string_view path);

// Where a key that is unknown in one section belongs: "service.replicas", or "".
std::string home_of(std::string_view key, JobKind kind);

// What "inference" or "inference.service.port" means: a kind, and a key of it or null for the whole
// kind. An error names the nearest key.
struct KeyOfKind {
    JobKind kind{};
    const JobKey* key = nullptr;
};
Result<KeyOfKind> find_key_of_kind(std::string_view what);
// For `gpuctl explain-yaml`.
std::string explain_job_key(KeyOfKind what);
// docs/yaml.md.
std::string job_keys_page();

}  // namespace gpuctl::wire
