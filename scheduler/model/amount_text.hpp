#pragma once
// Texts of amounts as messages show them.

#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/model/resource_kind.hpp"

namespace gpuctl::fact {
enum class LimitUnit : std::uint8_t;
}

namespace gpuctl::amounts {

std::string gpus(std::int64_t milli);       // "3", "0.5"
std::string gpus_noun(std::int64_t milli);  // "1 GPU", "3 GPUs"
// An amount with the noun of its resource: "3 GPUs", "3 mig-1g.10gb slices", "3 shares of a GPU".
std::string gpus_noun(std::string_view resource, std::int64_t milli);
std::string gpu_part(std::int64_t milli);  // "500/1000"
std::string count(std::int64_t n, const char* one, const char* many);
std::string ranks_text(std::int64_t ranks);  // "1 rank", "3 ranks"
// "8 GPUs", "500m CPU", "3 example.com/fpga".
std::string amount_text(ResourceKind kind, const std::string& resource, std::int64_t amount);
// An amount of a limit in its unit, without the noun: "8", "500m", "256Gi", "40.5" (GPU-hours).
std::string limit_amount(fact::LimitUnit unit, std::int64_t amount);
// An amount of a limit with its noun: "8 GPUs", "500m CPU", "256Gi memory", "1 job", "40.5
// GPU-hours".
std::string limit_amount_noun(fact::LimitUnit unit, std::int64_t amount);

}  // namespace gpuctl::amounts
