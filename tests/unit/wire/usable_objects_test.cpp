// Which objects of other clients are used, and the problem of each other one.

#include <gtest/gtest.h>

#include "policy_document/objects/layers.hpp"

namespace gpuctl::config {
namespace {

class UsableObjectsTest : public ::testing::Test {
protected:
    void put(const std::string& yaml, std::int64_t created_at) {
        const auto documents = wire::parse_yaml(yaml);
        ASSERT_TRUE(documents);
        const auto read = read_objects(documents->front(), *policy_kind_of(documents->front()));
        ASSERT_TRUE(read) << read.error().message;
        for (const ObjectDraft& draft : read->drafts) {
            PolicyObject object;
            object.key = draft.key;
            object.uid = "uid-" + draft.key.name;
            object.created_at = Instant{created_at};
            object.document = draft.document;
            objects[draft.key] = object;
        }
    }
    std::string problem(PolicyKind kind, const std::string& name) {
        const UsableObjects usable = usable_objects(file, objects);
        const auto found = usable.problems.find({kind, name});
        return found == usable.problems.end()
                   ? ""
                   : std::string{to_string(found->second.why.code)} +
                         (found->second.is_left_out ? " left out" : " used");
    }

    FileLayer file;
    std::map<PolicyKey, PolicyObject> objects;
};

TEST_F(UsableObjectsTest, a_node_of_two_pools_stays_in_the_older_one) {
    put("kind: pool\npool: {name: a-young}\nnodes: [n1, n2]\n", 2);
    put("kind: pool\npool: {name: z-old}\nnodes: [n1]\n", 1);
    EXPECT_EQ(problem(PolicyKind::pool, "a-young"), "Conflict used");
    EXPECT_EQ(problem(PolicyKind::pool, "z-old"), "");
    const auto merged = merge_layers(file, usable_objects(file, objects).objects);
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(merged->nodes.at("n1").pool, "z-old");
    EXPECT_EQ(merged->nodes.at("n2").pool, "a-young");
}

TEST_F(UsableObjectsTest, a_name_of_the_file_is_left_out_and_the_rest_is_used) {
    file.places[{PolicyKind::pool, "train"}] = "gpuctld.yaml:3:5";
    put("kind: pool\npool: {name: train}\nnodes: [n1]\n", 1);
    put("kind: pool\npool: {name: infer}\nnodes: [n1]\n", 2);
    EXPECT_EQ(problem(PolicyKind::pool, "train"), "ManagedByFile left out");
    EXPECT_EQ(problem(PolicyKind::pool, "infer"), "") << "train does not have n1";
    EXPECT_TRUE(merge_layers(file, usable_objects(file, objects).objects));
}

TEST_F(UsableObjectsTest, one_wrong_queue_does_not_stop_the_others) {
    put("kind: queue\nqueue: {name: lost, pool: none}\n", 1);
    EXPECT_EQ(problem(PolicyKind::queue, "none/lost"), "PoolNotFound left out");
    put("kind: pool\npool: {name: p}\n", 1);
    put("kind: queue\nqueue: {name: child, pool: p, parent: top}\n", 1);
    put("kind: queue\nqueue: {name: top, pool: p}\n", 2);
    put("kind: queue\nqueue: {name: orphan, pool: p, parent: nothing}\n", 3);
    EXPECT_EQ(problem(PolicyKind::queue, "p/orphan"), "QueueNotFound left out");
    EXPECT_EQ(problem(PolicyKind::queue, "p/child"), "") << "its parent is younger";
    const auto usable = usable_objects(file, objects).objects;
    EXPECT_TRUE(usable.contains({PolicyKind::queue, "p/top"}));
    EXPECT_TRUE(merge_layers(file, usable));
    put("kind: queue\nqueue: {name: nothing, pool: p}\n", 4);
    EXPECT_EQ(problem(PolicyKind::queue, "p/orphan"), "");
}

}  // namespace
}  // namespace gpuctl::config
