// The table of host ports: the ports of a pod, and the table does not grow with pods that are gone.

#include "scheduler/state/nodes/host_ports.hpp"

#include <gtest/gtest.h>

#include "support/engine_world.hpp"

namespace gpuctl::test {
namespace {

HostPort port(std::int32_t number, std::string address = std::string{kEveryAddress},
              std::string protocol = "TCP") {
    return {std::move(protocol), number, std::move(address)};
}

// May a pod with `second` listen on a node where a pod with `first` does?
bool fit_together(std::vector<HostPort> first, std::vector<HostPort> second) {
    Capacity capacity;
    capacity.ensure_slot(0);
    Resources one = room(0, 1, 1, 1);
    one.host_ports = std::move(first);
    Resources two = room(0, 1, 1, 1);
    two.host_ports = std::move(second);
    (void)capacity.set_allocatable(0, room(0));
    const Needs held = capacity.needs_of(one);
    const Needs asked = capacity.needs_of(two);
    EXPECT_TRUE(capacity.fits(0, asked));
    capacity.occupy(0, held);
    const bool fits = capacity.fits(0, asked);
    EXPECT_EQ(capacity.fitting(0, asked, 2), fits ? 1 : 0) << "each port once";
    capacity.give_back(0, held);
    EXPECT_TRUE(capacity.fits(0, asked));
    return fits;
}

struct Case {
    const char* name;
    std::vector<HostPort> first;
    std::vector<HostPort> second;
    bool fit;
};

// After kube-scheduler's own cases (node_ports_test.go): protocol, port and address.
TEST(HostPorts, conflict_as_kube_scheduler_says) {
    const std::string local = "127.0.0.1";
    const std::vector<Case> cases = {
        {"other ports", {port(8080)}, {port(8001)}, true},
        {"the same", {port(8080)}, {port(8080)}, false},
        {"another protocol", {port(8080)}, {port(8080, std::string{kEveryAddress}, "UDP")}, true},
        {"one of several", {port(8000), port(8080)}, {port(8001), port(8080)}, false},
        {"every address and one", {port(8001)}, {port(8001, local)}, false},
        {"one and every address", {port(8001, local)}, {port(8001)}, false},
        {"two addresses", {port(8001, local)}, {port(8001, "127.0.0.2")}, true},
        {"one address twice", {port(8001, local)}, {port(8001, local)}, false},
        {"an IPv6 address is one address", {port(80, "::")}, {port(80, local)}, true},
        {"three of one pod and one of them",
         {port(80, local), port(80, "127.0.0.2"), port(80, "127.0.0.3")},
         {port(80, "127.0.0.3")},
         false},
        {"three of one pod and another",
         {port(80, local), port(80, "127.0.0.2"), port(80, "127.0.0.3")},
         {port(80, "127.0.0.4")},
         true},
    };
    for (const Case& row : cases)
        EXPECT_EQ(fit_together(row.first, row.second), row.fit) << row.name;
}

TEST(HostPorts, a_pod_that_listens_twice_does_not_conflict_with_itself) {
    EXPECT_TRUE(fit_together({}, {port(80), port(80, "127.0.0.1")}));
}

TEST(HostPorts, rows_are_used_again) {
    HostPorts table;
    for (std::int32_t number = 1; number <= 1000; ++number) {
        const auto needs = table.acquire({port(number, "10.0.0.1")});
        ASSERT_EQ(needs.size(), 2U);
        for (const auto& need : needs) table.release(need.port);
    }
    EXPECT_EQ(table.size(), 2U);
}

TEST(HostPorts, are_free_again_when_their_pod_is_gone_or_has_changed) {
    EngineWorld world;
    world.add(node("a", 8));
    PodFacts one = pod("one", "pod:one", 1);
    one.request.host_ports = {port(80)};
    world.add(one);
    world.run();
    PodFacts two = pod("two", "pod:two", 1);
    two.request.host_ports = {port(80)};
    world.add(two);
    world.run();
    EXPECT_EQ(world.node_of("two"), "");
    PodFacts changed = world.pods.at("one");
    changed.request.host_ports.clear();
    world.add(changed);
    world.run();
    EXPECT_EQ(world.node_of("two"), "a");
}

TEST(HostPorts, of_a_pod_on_an_unknown_node_are_held_when_the_node_is_added) {
    EngineWorld world;
    PodFacts foreign = pod("f", "", 0);
    foreign.ours = false;
    foreign.node = "a";
    foreign.request.host_ports = {port(80)};
    world.add(foreign);
    PodFacts one = pod("one", "pod:one", 1);
    one.request.host_ports = {port(80)};
    world.add(one);
    world.add(node("a", 8));
    world.run();
    EXPECT_EQ(world.node_of("one"), "");
    EXPECT_EQ(world.why("pod:one").front().reason, Reason::host_port_taken);
    ASSERT_EQ(world.why("pod:one").front().tallies.size(), 1U);
    EXPECT_EQ(world.why("pod:one").front().tallies.front().message,
              "node(s) didn't have free ports for the requested pod ports");
}

}  // namespace
}  // namespace gpuctl::test
