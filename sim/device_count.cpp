#include "sim/device_count.hpp"

#include <algorithm>

namespace gpuctl::sim {
namespace {

constexpr std::int64_t kOne = 1000;

bool is_part(std::int64_t milli) { return milli > 0 && milli < kOne; }

}  // namespace

void DeviceCount::add(std::int64_t milli, std::int32_t device) {
    if (is_part(milli) && device >= 0) {
        parts_[device] += milli;
    } else {
        whole_ += (milli + kOne - 1) / kOne * kOne;
    }
}

std::int64_t DeviceCount::in_use() const {
    return whole_ + kOne * static_cast<std::int64_t>(parts_.size());
}

std::int64_t DeviceCount::on_device(std::int32_t device) const {
    const auto found = parts_.find(device);
    return found == parts_.end() ? 0 : found->second;
}

// If more devices are in use than exist, it is unknown which devices were removed.
std::int64_t DeviceCount::most_on_one_device(std::int64_t offered) const {
    if (in_use() > offered) return 0;
    std::int64_t most = offered - in_use() >= kOne ? kOne : 0;
    for (const auto& [device, used] : parts_) most = std::max(most, kOne - used);
    return most;
}

std::int64_t DeviceCount::free_for_parts(std::int64_t offered) const {
    if (in_use() > offered) return 0;
    std::int64_t free = offered - in_use();
    for (const auto& [device, used] : parts_) free += std::max<std::int64_t>(kOne - used, 0);
    return free;
}

bool DeviceCount::is_beyond(std::int64_t offered) const {
    return in_use() > offered || std::any_of(parts_.begin(), parts_.end(),
                                             [](const auto& one) { return one.second > kOne; });
}

bool DeviceCount::takes(std::int64_t offered, std::int64_t milli, std::int32_t device) const {
    if (!is_part(milli)) return in_use() + milli <= offered;
    if (parts_.contains(device)) {
        return on_device(device) + milli <= kOne && in_use() <= offered;
    }
    return in_use() + kOne <= offered;
}

std::int64_t DeviceCount::fitting(std::int64_t offered, std::int64_t milli,
                                  std::int64_t enough) const {
    if (milli <= 0) return enough;
    if (in_use() > offered) return 0;
    const std::int64_t free = std::max<std::int64_t>(offered - in_use(), 0);
    if (!is_part(milli)) return std::min(enough, free / milli);
    std::int64_t pods = free / kOne * (kOne / milli);
    for (const auto& [device, used] : parts_) {
        pods += std::max<std::int64_t>(kOne - used, 0) / milli;
    }
    return std::min(enough, pods);
}

}  // namespace gpuctl::sim
