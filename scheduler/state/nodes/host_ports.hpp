#pragma once
// Host ports as columns of Capacity, so that every search for room also checks ports.
//
// A pod that listens on all addresses conflicts with every pod on the same port and protocol; a pod
// that listens on one address conflicts with pods on that address and with the former (the rule of
// kube-scheduler's NodePorts filter). Two columns express this. The column of the port has
// kWholePort on every node: a pod on all addresses takes all of it, and another pod takes one for
// each of its addresses. The column of the port at an address is taken as a whole. Few ports are
// used on few nodes, so only held amounts are stored, by node; elsewhere all is free.
//
// Columns are counted by the shapes that need them, and reused: the table is as long as the number
// of ports that pods of the cluster use now. Owner: Capacity.

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
    // The needs of a pod with these ports; each port gets one more user. Listening twice on one
    // port is no conflict within a pod.
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
