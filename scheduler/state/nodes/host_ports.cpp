#include "scheduler/state/nodes/host_ports.hpp"

#include <algorithm>

#include "scheduler/base/seeded_faults.hpp"

namespace gpuctl {

std::uint32_t HostPorts::named(std::string name) {
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    auto port = static_cast<std::uint32_t>(ports_.size());
    if (vacant_.empty()) {
        ports_.emplace_back();
    } else {
        port = vacant_.back();
        vacant_.pop_back();
    }
    ports_[port].name = name;
    ids_.emplace(std::move(name), port);
    return port;
}

std::vector<HostPorts::PortNeed> HostPorts::acquire(const std::vector<HostPort>& ports) {
    std::vector<PortNeed> needs;
    for (auto next = ports.begin(); next != ports.end();) {
        const auto is_other = [&next](const HostPort& one) {
            return one.protocol != next->protocol || one.port != next->port;
        };
        const auto end = std::find_if(next, ports.end(), is_other);
        const bool is_at_all = std::any_of(
            next, end, [](const HostPort& one) { return one.address == kEveryAddress; });
        const std::string name = std::to_string(next->port) + "/" + next->protocol;
        needs.push_back({named(name), is_at_all ? kWholePort : std::int64_t{end - next}});
        for (; next != end; ++next) {
            if (!is_at_all) needs.push_back({named(next->address + ":" + name), kWholePort});
        }
    }
    for (const PortNeed& need : needs) add_user(need.port);
    return needs;
}

void HostPorts::release(std::uint32_t port) {
    Port& row = ports_[port];
    if (--row.users != 0) return;
    ids_.erase(row.name);
    row = Port{};
    vacant_.push_back(port);
}

void HostPorts::occupy(std::uint32_t port, std::uint32_t slot, std::int64_t amount) noexcept {
    auto& held = ports_[port].held;
    const auto found = held.try_emplace(slot, 0).first;
    found->second += amount;
    if (found->second == 0) held.erase(found);
}

}  // namespace gpuctl
