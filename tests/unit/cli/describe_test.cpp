// The descriptions of pools, nodes, queues and jobs, as people read them.

#include <gtest/gtest.h>

#include "unit/cli/canned_server.hpp"

namespace gpuctl::cli {
namespace {

std::string described(const std::string& kind, const std::string& body) {
    CannedServer server{200, kJson, body};
    const auto outcome = server.run({"describe", kind, "x"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
}

TEST(Describe, a_pool_has_the_lines_of_the_contract_in_their_order) {
    EXPECT_EQ(
        described(
            "pool",
            R"({"name":"p","description":"tests","status":"active","source":"api","order":"FIFO",)"
            R"("gpuTotal":8,"gpuUsed":3,"gpuFree":5,"gpuFreeMaxPerNode":4,"gpuReserve":0,)"
            R"("gpuType":{"A100":8},"gpuStates":{"available":4,"failed":1},"nodeCount":2,)"
            R"("nodes":["n1","n2"],"nodesClosed":0,"quota":{"maxJobs":3,"maxGpuPerJob":null},)"
            R"("jobs":[{"name":"a","namespace":"t","gpu":3}],"jobsTotal":1,"queues":[]})"),
        "Name:           p\n"
        "Description:    tests\n"
        "Status:         active\n"
        "Source:         api\n"
        "Order:          FIFO\n"
        "GPU total:      8\n"
        "GPU used:       3\n"
        "GPU free:       5 (at most 4 on one node)\n"
        "Other GPUs:     1 failed\n"
        "GPU types:      A100x8\n"
        "Quota:          maxJobs 3, maxGpuPerJob unlimited\n"
        "Node count:     2\n"
        "Nodes:          n1,n2\n"
        "Running jobs:\n"
        "  NAMESPACE  JOB  GPU\n"
        "  t          a    3\n");
}

TEST(Describe, a_node_has_the_lines_of_the_contract_in_their_order) {
    const std::string node =
        R"({"name":"n1","nodeName":"n1","status":"active","k8sStatus":"Ready","pool":"p",)"
        R"("age":"5d","ip":"10.0.0.1","gpuTotal":2,"gpuUsed":1,"gpuFree":1,"gpuType":"A100",)"
        R"("unschedulable":true,"lastUpdatedAt":"2026-11-23T08:00:00Z","note":"",)"
        R"("resources":{"cpuTotal":"8","cpuUsed":"2","memoryTotal":"16Gi","memoryUsed":"1Gi"},)"
        R"("gpuDetail":[{"gpuId":0,"type":"A100","status":"allocated","utilization":null}],)"
        R"("labels":[{"key":"zone","value":"a"}],"slices":[],"maintenance":null,)"
        R"("runningJobs":[{"name":"a-0","job":"a","namespace":"t","status":"Running",)"
        R"("ready":"1/1","gpu":1,"restarts":0,"createdAt":""}]})";
    const std::string events =
        R"({"items":[{"namespace":"t","object":"Pod/a-0","type":"Normal","reason":"Scheduled",)"
        R"("message":"was placed","age":"3s"},{"namespace":"u","object":"Pod/a-0",)"
        R"("message":"of another pod"}]})";
    CannedServer server{{{200, node}, {200, events}}};
    EXPECT_EQ(server.run({"describe", "node", "n1"}).out,
              "Name:           n1\n"
              "Status:         active\n"
              "K8s status:     Ready\n"
              "Takes pods:     no: it is cordoned\n"
              "Pool:           p\n"
              "IP:             10.0.0.1\n"
              "Age:            5d\n"
              "Last updated:   2026-11-23T08:00:00Z\n"
              "CPU:            2 of 8\n"
              "Memory:         1Gi of 16Gi\n"
              "GPU total:      2\n"
              "GPU used:       1\n"
              "GPU free:       1\n"
              "GPU type:       A100\n"
              "GPUs:\n"
              "  GPU  TYPE  STATUS     UTILIZATION  MEMORY\n"
              "  0    A100  allocated  -            -\n"
              "Labels:\n"
              "  zone: a\n"
              "Running jobs:\n"
              "  NAMESPACE  JOB  POD  STATUS   READY  GPU  RESTARTS  AGE\n"
              "  t          a    a-0  Running  1/1    1    0         N/A\n"
              "Events of its pods (newest first):\n"
              "  AGE  TYPE    REASON     OBJECT   MESSAGE\n"
              "  3s   Normal  Scheduled  Pod/a-0  was placed\n");
}

TEST(Describe, a_queue_has_its_limits_and_what_it_holds) {
    const std::string text = described(
        "queue",
        R"({"name":"llm","pool":"p","path":"research/llm","parent":"research","source":"file",)"
        R"("order":"FIFO","priority":2,"weight":3,"guaranteed":4,"maximum":8,"maxJobs":null,)"
        R"("held":6,"entitled":5,"jobsRunning":2,"jobsWaiting":1,"gpusWaiting":4,)"
        R"("used":{"gpus":5,"cpu":"8","memory":"1Gi"},)"
        R"("models":[{"model":"A100","guaranteed":1,"maximum":null,"held":2}]})");
    for (const char* line :
         {"Name:           llm\n", "Parent:         research\n", "Weight:         3\n",
          "Guaranteed:     4 GPUs\n", "Maximum:        8\n", "Max jobs:       none\n",
          "GPUs held:      6\n", "Jobs:           2 running, 1 waiting for 4 GPUs\n",
          "  A100   1           -        2\n"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
    }
}

TEST(Describe, a_service_shows_its_replicas_and_whether_its_pods_have_addresses) {
    const std::string job =
        R"({"name":"x","namespace":"d","kind":"inference","status":"Running","ready":"1/3",)"
        R"("pods":[{"name":"x-1","status":"Running"},{"name":"x-2","status":"Pending"}],)"
        R"("accessMethods":{"podIpAccess":{"podIp":null,"port":80,"url":null},)"
        R"("serviceAccess":{"url":"http://svc-x"}}})";
    const std::string text = described("job", job);
    EXPECT_NE(text.find("Resource type:  Deployment\n"), std::string::npos) << text;
    EXPECT_NE(text.find("Replicas:       3 desired, 2 current, 1 ready, 2 unavailable\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("  pod:       port 80; its pods have no address\n"), std::string::npos)
        << text;
}

}  // namespace
}  // namespace gpuctl::cli
