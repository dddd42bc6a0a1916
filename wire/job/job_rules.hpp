#pragma once
// The rules of job documents about single values: names, paths, limits. Each check returns the
// problem, or "".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctl::wire {

// Upper bounds on input, far below what could overflow a sum over a whole cluster.
inline constexpr std::int64_t kCpuMilliMax = 100'000'000;               // 100,000 cores a pod
inline constexpr std::int64_t kMemoryBytesMin = std::int64_t{1} << 20;  // 1 Mi
inline constexpr std::int64_t kMemoryBytesMax = std::int64_t{1} << 50;  // 1 Pi
inline constexpr std::int64_t kClaimBytesMax = std::int64_t{1} << 56;   // 64 Pi
inline constexpr std::int64_t kGpusPerPodMax = 1'024;
inline constexpr std::int64_t kReplicasMax = 10'000;
inline constexpr std::size_t kDescriptionBytesMax = 4'096;
inline constexpr std::size_t kImageBytesMax = 512;
inline constexpr std::size_t kPathBytesMax = 4'096;
inline constexpr std::size_t kEntriesMax = 1'000;  // env, args, workdirs, claims: each

// RFC 1123 label that starts with a letter, at most `length_max` characters.
std::string problem_with_name(std::string_view name, std::size_t length_max);
// RFC 1123 label (may start with a digit), at most 63: namespaces, pools, queues.
std::string problem_with_label(std::string_view label);
// Dot-separated labels, at most 253: secrets, storage classes.
std::string problem_with_subdomain(std::string_view name);
// A label's value: letters, digits, '-', '_', '.', at most 63.
std::string problem_with_label_value(std::string_view value);
std::string problem_with_variable_name(std::string_view name);
// Absolute, not "/", no "..", no ':'.
std::string problem_with_path(std::string_view path);
// Without trailing, doubled and "." parts. Only for paths without a problem.
std::string clean_path(std::string_view path);
bool is_below(std::string_view path, const std::vector<std::string>& roots);
// Why a clean path of a host may not be mounted into a job's pods; empty: it may. Directories that
// give control over the host need a root inside them, whatever the other roots are.
std::string problem_with_host_path(std::string_view path, const std::vector<std::string>& roots);

}  // namespace gpuctl::wire
