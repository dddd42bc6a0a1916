// What the configuration asks about the chosen backend is a row of a table.

#include "daemon/config/cluster/backend_sections.hpp"

#include <gtest/gtest.h>

#include "daemon/config/load.hpp"

namespace gpuctl::config {
namespace {

Cluster cluster_of(ClusterMode mode) {
    Cluster cluster;
    cluster.mode = mode;
    cluster.kubernetes.host_path_roots = {"/data"};
    return cluster;
}

TEST(BackendSections, roots_of_host_paths_are_those_of_the_chosen_backend) {
    EXPECT_EQ(host_path_roots(cluster_of(ClusterMode::embedded)), sample_host_path_roots());
    EXPECT_EQ(host_path_roots(cluster_of(ClusterMode::kubernetes)),
              std::vector<std::string>{"/data"});
}

TEST(BackendSections, nodes_are_known_where_the_section_lists_them) {
    const Cluster embedded = cluster_of(ClusterMode::embedded);
    EXPECT_EQ(known_nodes(embedded), &embedded.embedded.nodes);
    EXPECT_EQ(known_nodes(cluster_of(ClusterMode::kubernetes)), nullptr);
}

// Without a list of nodes any pool may exist; with one, the key that lists them is named.
TEST(BackendSections, a_policy_is_checked_against_the_nodes_that_are_listed) {
    for (std::size_t i = 0; i < kClusterModeNames.size(); ++i) {
        const BackendSection& section = section_of(static_cast<ClusterMode>(i));
        const auto read =
            parse("cluster: {mode: " + std::string{kClusterModeNames[i]} +
                      "}\npolicy:\n  tenants: [{name: t, pools: [{pool: zzzz, gpuMaximum: 1}]}]\n",
                  "test.yaml");
        EXPECT_EQ(read.has_value(), section.nodes == nullptr) << kClusterModeNames[i];
        if (read) continue;
        EXPECT_NE(read.error().message.find(section.nodes_key), std::string::npos)
            << read.error().message;
    }
}

}  // namespace
}  // namespace gpuctl::config
