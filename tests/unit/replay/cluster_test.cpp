#include "bench/replay/cluster.hpp"

#include <gtest/gtest.h>

namespace gpuctl::replay {
namespace {

using Size = std::optional<std::int32_t>;

struct ClusterCase {
    Suite suite;
    Size gpus, nodes, gpus_per_node;
    std::string result;  // "8 x 8", or why not
};

std::string result(const ClusterCase& asked) {
    SuiteRequest request;
    request.suite = asked.suite;
    request.gpus = asked.gpus;
    request.nodes = asked.nodes;
    request.gpus_per_node = asked.gpus_per_node;
    const auto settings = settings_for(request);
    if (!settings) return settings.error().message;
    return std::to_string(settings->nodes) + " x " + std::to_string(settings->gpus_per_node);
}

TEST(Cluster, is_the_published_one_or_as_large_as_asked_for_in_either_form) {
    const Size no;
    const ClusterCase cases[] = {
        {Suite::philly64, no, no, no, "8 x 8"},   {Suite::philly64, 128, no, no, "16 x 8"},
        {Suite::philly64, 64, no, 4, "16 x 4"},   {Suite::philly64, 64, 4, no, "4 x 16"},
        {Suite::philly64, 64, 16, 4, "16 x 4"},   {Suite::vc, no, 12, no, "12 x 8"},
        {Suite::vc, no, no, 4, "96 x 4"},         {Suite::elastic, no, no, no, "1 x 64"},
        {Suite::elastic, 32, no, no, "1 x 32"},   {Suite::fairness, no, 4, 8, "1 x 32"},
        {Suite::backfill, 100, 50, 2, "1 x 100"},
    };
    for (const ClusterCase& asked : cases) EXPECT_EQ(result(asked), asked.result);
}

TEST(Cluster, whose_size_is_contradicted_or_left_open_is_refused) {
    const Size no;
    const ClusterCase cases[] = {
        {Suite::philly64, 60, no, no,
         "--gpus 60 is not a multiple of 8, the GPUs of a node; choose one, or say "
         "--gpus-per-node"},
        {Suite::vc, 60, 7, no,
         "--gpus 60 do not come to the same number on each of --nodes-count 7"},
        {Suite::vc, 60, 8, 8,
         "--gpus 60 is not --nodes-count 8 times --gpus-per-node 8; leave one of them out"},
        {Suite::elastic, 60, 8, 8,
         "--gpus 60 is not --nodes-count 8 times --gpus-per-node 8; leave one of them out"},
        {Suite::elastic, no, 8, no,
         "suite elastic has one pool of GPUs; say --gpus, or both --nodes-count and "
         "--gpus-per-node"},
        {Suite::vc, no, 1'000'000, 1'000'000,
         "a cluster of 1000000000000 GPUs is beyond the 1000000 that a replay can have"},
    };
    for (const ClusterCase& asked : cases) EXPECT_EQ(result(asked), asked.result);
}

}  // namespace
}  // namespace gpuctl::replay
