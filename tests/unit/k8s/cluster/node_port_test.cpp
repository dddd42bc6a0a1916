#include "k8s/cluster/node_port.hpp"

#include <gtest/gtest.h>

namespace gpuctl::k8s {
namespace {

TEST(NodePort, is_that_of_the_services_first_port) {
    EXPECT_EQ(node_port_in(R"({"spec":{"ports":[{"port":80,"nodePort":30080},{"nodePort":1}]}})"),
              30080);
    for (const char* without : {R"({"spec":{"ports":[{"port":80}]}})", R"({"spec":{"ports":[]}})",
                                R"({"spec":{}})", "{}", "[]", "no JSON"}) {
        EXPECT_EQ(node_port_in(without), 0) << without;
    }
}

}  // namespace
}  // namespace gpuctl::k8s
