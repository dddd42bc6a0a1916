// The section `elastic` of a job document: its range of ranks, and its speed for each count.

#include <algorithm>
#include <charconv>

#include "scheduler/model/policy/quantity.hpp"
#include "wire/job/job_rules.hpp"
#include "wire/job/job_sections.hpp"

namespace gpuctl::wire {
namespace {

constexpr std::size_t kSizesListedMax = 64;
constexpr std::int64_t kSpeedMaxMilli = 1'000'000;

std::optional<std::int32_t> ranks_of(const std::string& key) {
    std::int32_t ranks = 0;
    const char* end = key.data() + key.size();
    const auto [rest, problem] = std::from_chars(key.data(), end, ranks);
    if (problem != std::errc{} || rest != end || key.front() == '0' || ranks < 1) {
        return std::nullopt;
    }
    return ranks;
}

// "1.9": at most three decimals, and no quantity suffix.
std::optional<std::int32_t> speed_of_text(const std::string& text) {
    if (text.find_first_not_of("0123456789.") != std::string::npos) return std::nullopt;
    const auto milli = parse_quantity(text, 3);
    if (!milli || *milli < 1 || *milli > kSpeedMaxMilli) return std::nullopt;
    return static_cast<std::int32_t>(*milli);
}

// speedup: {1: 1, 2: 1.9, 4: 3.5}
void read_speedup(JobSpec& spec, const Field& section) {
    if (!section || !section.is_map()) return;
    const std::string range =
        std::to_string(spec.replicas_min) + " to " + std::to_string(spec.replicas_max);
    for (const auto& [key, value] : section.json().items()) {
        const Field field{section.document(), &value, pointer_to(section.pointer(), key),
                          section.problems()};
        const auto ranks = ranks_of(key);
        if (!ranks || *ranks < spec.replicas_min || *ranks > spec.replicas_max) {
            field.error("elastic.speedup is by number of ranks, " + range + " of this job, not \"" +
                        key.substr(0, 60) + "\"");
            continue;
        }
        const auto text = field.word();
        const auto milli = text ? speed_of_text(*text) : std::nullopt;
        if (text && !milli) {
            field.error("elastic.speedup." + key +
                        " must be the speed relative to minReplicas, such as 3.5, not \"" +
                        text->substr(0, 60) + "\"");
        }
        if (milli) spec.speeds.push_back({*ranks, *milli});
    }
    std::sort(spec.speeds.begin(), spec.speeds.end());
    if (section.json().size() > kSizesListedMax) {
        return section.error("elastic.speedup lists " + std::to_string(section.json().size()) +
                             " sizes; at most " + std::to_string(kSizesListedMax) + " are allowed");
    }
    if (spec.replicas_min == spec.replicas_max) {
        spec.speeds.clear();
        return section.warning("elastic.speedup is not used: the job has one size");
    }
    if (spec.speeds.size() < section.json().size()) return;  // reported already
    const bool has_first = !spec.speeds.empty() && spec.speeds.front().ranks == spec.replicas_min &&
                           spec.speeds.front().milli == kSpeedOfOne;
    if (!has_first) {
        section.error("elastic.speedup must have " + std::to_string(spec.replicas_min) +
                      ": 1, because speeds are relative to minReplicas");
    }
}

}  // namespace

void read_elastic(JobReader& reader, const Field& section, const Field& node_count) {
    if (!section) return;
    JobSpec& spec = reader.spec;
    if (spec.kind != JobKind::training) {
        return section.error("elastic is for training jobs; use service.replicas");
    }
    Fields fields{section};
    const auto low = read_integer_key(fields, "elastic.minReplicas");
    const auto high = read_integer_key(fields, "elastic.maxReplicas");
    const Field speedup = find_key(fields, "elastic.speedup");
    reader.finish(fields);
    if (!low || !high) return;
    if (*low > *high) {
        return section.error("elastic.minReplicas " + std::to_string(*low) +
                             " is more than elastic.maxReplicas " + std::to_string(*high));
    }
    if (node_count && (*low != spec.replicas_min || *high != spec.replicas_max)) {
        return section.error("elastic contradicts resources.nodeCount, which sets both numbers");
    }
    spec.replicas_min = static_cast<std::int32_t>(*low);
    spec.replicas_max = static_cast<std::int32_t>(*high);
    read_speedup(spec, speedup);
}

}  // namespace gpuctl::wire
