#pragma once
// GPUs of one resource on one node. A whole GPU belongs to one pod; a fraction is on the device
// that its binding names. It shares no arithmetic with the engine's capacity.

#include <cstdint>
#include <map>

namespace gpuctl::sim {

class DeviceCount {
public:
    // Adds a request. A fraction without a device counts as a fraction on a device of its own.
    void add(std::int64_t milli, std::int32_t device);

    // Thousandths of devices in use; a device with fractions counts as a whole device.
    [[nodiscard]] std::int64_t in_use() const;
    [[nodiscard]] std::int64_t on_device(std::int32_t device) const;
    // Thousandths that are free for a fraction of a GPU: on the best device, and on all devices
    // together.
    [[nodiscard]] std::int64_t most_on_one_device(std::int64_t offered) const;
    [[nodiscard]] std::int64_t free_for_parts(std::int64_t offered) const;
    // True if the node is overbooked: more devices in use than offered, or more than a whole device
    // used on one device.
    [[nodiscard]] bool is_beyond(std::int64_t offered) const;
    [[nodiscard]] bool takes(std::int64_t offered, std::int64_t milli, std::int32_t device) const;
    // The number of further pods with `milli` each that fit; at most `enough`.
    [[nodiscard]] std::int64_t fitting(std::int64_t offered, std::int64_t milli,
                                       std::int64_t enough) const;

private:
    std::int64_t whole_ = 0;
    std::map<std::int32_t, std::int64_t> parts_;  // thousandths by device
};

}  // namespace gpuctl::sim
