#pragma once
// Kubernetes quantities: sign, decimal, suffix n u m k M G T P E | Ki..Ei | e/E exponent. Rounds up
// to the requested unit; exact within int64.

#include <optional>
#include <string>
#include <string_view>

#include "scheduler/base/units.hpp"

namespace gpuctl {

// The value in units of 10^-`decimals` (0: whole units, 3: thousandths), rounded up; nullopt: the
// text is no quantity, or it is out of range.
std::optional<std::int64_t> parse_quantity(std::string_view text, int decimals);

std::optional<CpuMilli> parse_cpu(std::string_view text);  // "8", "8000m", "0.5"
std::optional<Bytes> parse_bytes(std::string_view text);   // "32Gi", "500M", "1024"

std::string format_cpu(CpuMilli cpu);    // "8", "500m"
std::string format_bytes(Bytes bytes);   // the largest binary suffix that is exact: "32Gi"
std::string format_gpus(GpuMilli gpus);  // "8", "0.5"

}  // namespace gpuctl
