#pragma once
// Ports of nodes as columns of Capacity, so that whatever looks for room looks for ports as well.
//
// A pod that listens at every address conflicts with all on the port, one that listens at one
// address with that address and with the former (S28). Two columns say so: one of the port, of
// which every node has kWholePort, a pod takes all at every address and one for each address of its
// own; and one of the port at an address, taken as a whole. Few ports are in use on few nodes: what
// is held is kept by node, everywhere else all of it is free.
//
// Columns are counted by the shapes that need them and used again: the table is as long as there
// are ports that a pod of the cluster names now. Owner: Capacity.

#include <boost/container/flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/ids.hpp"
#include "scheduler/model/resources.hpp"
#include "scheduler/state/interner.hpp"

namespace gpuctl {

class HostPorts {
public:
    static constexpr std::int64_t kWholePort = std::int64_t{1} << 20;

    struct PortNeed {
        std::uint32_t port = 0;  // of this table
        std::int64_t amount = 0;
    };
    // What a pod with these ports takes; each port of it counts one user more. Listening twice on
    // one port is no conflict within a pod.
    std::vector<PortNeed> acquire(const std::vector<HostPort>& ports);
    void release(std::uint32_t port);
    void add_user(std::uint32_t port) { ++ports_[port].users; }

    [[nodiscard]] std::int64_t free(std::uint32_t port, std::uint32_t slot) const {
        const auto& held = ports_[port].held;
        if (held.empty()) return kWholePort;
        const auto found = held.find(slot);
        return found == held.end() ? kWholePort : kWholePort - found->second;
    }
    void occupy(std::uint32_t port, std::uint32_t slot, std::int64_t amount) noexcept;
    // "2222/TCP", "127.0.0.1:2222/TCP"
    [[nodiscard]] const std::string& name(std::uint32_t port) const { return ports_[port].name; }
    [[nodiscard]] std::size_t size() const { return ports_.size(); }

private:
    struct Port {
        std::string name;
        std::uint32_t users = 0;  // shapes; 0: the row is vacant
        boost::container::flat_map<std::uint32_t, std::int64_t> held;  // by slot, no zeros
    };
    std::uint32_t named(std::string name);

    std::vector<Port> ports_;
    std::vector<std::uint32_t> vacant_;
    TextMap<std::uint32_t> ids_;
};

}  // namespace gpuctl
