#pragma once
// GPUs of one resource on one node: whole ones belong to one pod each, a part lies on the device
// that its binding names. Shares no arithmetic with the engine's capacity.

#include <cstdint>
#include <map>

namespace gpuctl::sim {

class DeviceCount {
public:
    // A part without a device counts as one on a device of its own.
    void add(std::int64_t milli, std::int32_t device);

    // Thousandths of devices in use: a device in parts is in use as a whole.
    [[nodiscard]] std::int64_t in_use() const;
    [[nodiscard]] std::int64_t on_device(std::int32_t device) const;
    // Free for a pod with a part of a GPU: on the best device, and on all devices together.
    [[nodiscard]] std::int64_t most_on_one_device(std::int64_t offered) const;
    [[nodiscard]] std::int64_t free_for_parts(std::int64_t offered) const;
    // Overbooked: more devices than offered, or more than a whole device on one.
    [[nodiscard]] bool is_beyond(std::int64_t offered) const;
    [[nodiscard]] bool takes(std::int64_t offered, std::int64_t milli, std::int32_t device) const;
    // How many more pods with `milli` each fit; at most `enough`.
    [[nodiscard]] std::int64_t fitting(std::int64_t offered, std::int64_t milli,
                                       std::int64_t enough) const;

private:
    std::int64_t whole_ = 0;
    std::map<std::int32_t, std::int64_t> parts_;  // thousandths by device
};

}  // namespace gpuctl::sim
