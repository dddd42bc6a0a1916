// Objects of the policy in the state: what a put and a deletion do, and that an image has them.

#include <gtest/gtest.h>

#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/image.hpp"

namespace gpuctl {
namespace {

PolicyObject object_named(const std::string& name, std::uint64_t version = 1,
                          const std::string& uid = "u") {
    PolicyObject object;
    object.key = {PolicyKind::pool, name};
    object.uid = uid;
    object.version = version;
    object.document = "{\"version\":" + std::to_string(version) + "}";
    return object;
}

void send_change(ClusterState& state, std::vector<PolicyObject> put,
                 std::vector<PolicyObjectGone> gone = {}) {
    EffectList effects;
    state.apply(PolicyObjectsChanged{std::move(put), std::move(gone)}, Instant{1'000}, effects);
}

std::uint64_t version_of(const ClusterState& state, const std::string& name) {
    const PolicyObject* object = state.policy_objects.find({PolicyKind::pool, name});
    return object == nullptr ? 0 : object->version;
}

TEST(PolicyObjectsOfState, a_newer_version_replaces_and_an_older_one_is_ignored) {
    ClusterState state;
    send_change(state, {object_named("a"), object_named("b")});
    send_change(state, {object_named("a", 3)});
    EXPECT_EQ(version_of(state, "a"), 3u);
    send_change(state, {object_named("a", 2)});
    send_change(state, {object_named("b", 1, "other")});
    EXPECT_EQ(version_of(state, "a"), 3u);
    EXPECT_EQ(state.policy_objects.find({PolicyKind::pool, "b"})->uid, "u");
}

TEST(PolicyObjectsOfState, only_the_object_of_that_uid_is_deleted) {
    ClusterState state;
    send_change(state, {object_named("a")});
    send_change(state, {}, {{{PolicyKind::pool, "a"}, "other"}});
    EXPECT_EQ(version_of(state, "a"), 1u);
    send_change(state, {}, {{{PolicyKind::quota, "a"}, "u"}});
    EXPECT_EQ(version_of(state, "a"), 1u);
    send_change(state, {}, {{{PolicyKind::pool, "a"}, "u"}});
    EXPECT_EQ(version_of(state, "a"), 0u);
}

TEST(PolicyObjectsOfState, a_replacement_in_the_same_change_may_have_any_version) {
    ClusterState state;
    send_change(state, {object_named("a", 7)});
    send_change(state, {object_named("a", 1, "new")}, {{{PolicyKind::pool, "a"}, "u"}});
    EXPECT_EQ(state.policy_objects.find({PolicyKind::pool, "a"})->uid, "new");
}

TEST(PolicyObjectsOfState, an_image_has_them_and_a_damaged_one_is_refused) {
    ClusterState state;
    send_change(state, {object_named("b", 2), object_named("a")});
    StateImage image = state.image();
    const auto read = ClusterState::from_image(image);
    ASSERT_TRUE(read);
    EXPECT_EQ((*read)->policy_objects.by_key(), state.policy_objects.by_key());
    image.policy_objects.push_back(image.policy_objects.front());
    EXPECT_FALSE(ClusterState::from_image(image)) << "given twice";
    image.policy_objects.back() = object_named("");
    EXPECT_FALSE(ClusterState::from_image(image)) << "without a name";
}

TEST(PolicyObjectsOfState, they_decide_nothing) {
    ClusterState state;
    EffectList effects;
    const Policy before = state.policy();
    state.session.set_idle(true);
    state.apply(PolicyObjectsChanged{{object_named("a")}, {}}, Instant{1'000}, effects);
    EXPECT_EQ(state.policy(), before);
    EXPECT_TRUE(state.session.idle()) << "no Plan is wanted for them";
}

}  // namespace
}  // namespace gpuctl
