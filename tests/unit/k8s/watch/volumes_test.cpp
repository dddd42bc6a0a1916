// Claims and volumes in the API server's form, and the constraints of a pod that uses them.

#include "k8s/watch/volumes.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scheduler/policy/filter.hpp"

namespace gpuctl::k8s {
namespace {

using Json = nlohmann::json;

Json claim_json() {
    return Json::parse(R"({"metadata":{"namespace":"t","name":"models","managedFields":[{}],
        "annotations":{"pv.kubernetes.io/bind-completed":"yes"}},
        "spec":{"accessModes":["ReadWriteMany"],"volumeName":"lab-models"},
        "status":{"phase":"Bound"}})");
}

Json volume_json() {
    return Json::parse(R"({"metadata":{"name":"lab-models","labels":{"a":"b"}},
        "spec":{"claimRef":{"namespace":"t","name":"models","uid":"u"},
                "nfs":{"server":"nfs.lab.example","path":"/models"}}})");
}

ClaimReading claim_of(const Json& json) {
    auto claim = read_claim(json.dump());
    EXPECT_TRUE(claim.has_value());
    return claim ? *claim : ClaimReading{};
}

VolumeReading volume_of(const Json& json) {
    auto volume = read_volume_object(json.dump());
    EXPECT_TRUE(volume.has_value());
    return volume ? *volume : VolumeReading{};
}

PodFacts applied(const Volumes& volumes) {
    PodFacts pod;
    pod.ours = true;
    pod.key = {"t", "a"};
    volumes.apply({"models"}, pod);
    return pod;
}

std::string held_for(const Volumes& volumes) {
    const PodFacts pod = applied(volumes);
    EXPECT_LE(pod.unsupported.size(), 1U);
    return pod.unsupported.empty() ? "" : pod.unsupported.front();
}

bool may_use(const Volumes& volumes, const std::map<std::string, std::string>& labels) {
    const PodFacts pod = applied(volumes);
    EXPECT_TRUE(pod.unsupported.empty());
    NodeFacts node;
    node.name = "n1";
    node.labels = labels;
    return first_refusal(pod.rules, node) == NodeRefusal::none;
}

TEST(ConvertVolume, a_claim_is_bound_only_if_its_binding_is_completed) {
    EXPECT_EQ(claim_of(claim_json()).volume, "lab-models");
    EXPECT_EQ(claim_of(claim_json()).key, (ObjectKey{"t", "models"}));
    Json wish = claim_json();
    wish["metadata"].erase("annotations");
    EXPECT_EQ(claim_of(wish).volume, "") << "a volume that is named alone is a wish";
    EXPECT_FALSE(read_claim("{}").has_value());
    EXPECT_FALSE(read_volume_object("[]").has_value());
    const std::string whole = volume_json().dump();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_FALSE(read_volume_object(whole.substr(0, size)).has_value()) << size;
    }
}

TEST(Volumes, a_bound_claim_whose_volume_every_node_reaches_adds_no_rule) {
    Volumes volumes;
    volumes.set(claim_of(claim_json()));
    volumes.set(volume_of(volume_json()));
    EXPECT_EQ(held_for(volumes), "");
    EXPECT_TRUE(applied(volumes).rules.volumes.empty());
}

TEST(Volumes, a_pod_is_held_for_a_claim_that_is_not_ready_by_its_name) {
    Volumes volumes;
    EXPECT_EQ(held_for(volumes), "persistentVolumeClaim models before it exists");
    Json open = claim_json();
    open["spec"].erase("volumeName");
    volumes.set(claim_of(open));
    EXPECT_EQ(held_for(volumes),
              "persistentVolumeClaim models while it is not bound to a volume (gpuctl does not "
              "bind volumes, as WaitForFirstConsumer requires)");
    volumes.set(claim_of(claim_json()));
    EXPECT_EQ(held_for(volumes),
              "persistentVolumeClaim models while its volume lab-models does not exist");
    volumes.set(volume_of(volume_json()));
    EXPECT_EQ(held_for(volumes), "");
    Json terminating = claim_json();
    terminating["metadata"]["deletionTimestamp"] = "2026-11-20T10:00:05Z";
    volumes.set(claim_of(terminating));
    EXPECT_EQ(held_for(volumes), "persistentVolumeClaim models while it is being deleted");
    Json alone = claim_json();
    alone["spec"]["accessModes"] = {"ReadWriteOncePod"};
    volumes.set(claim_of(alone));
    EXPECT_EQ(held_for(volumes), "persistentVolumeClaim models with access mode ReadWriteOncePod");
    volumes.set(claim_of(claim_json()));
    volumes.remove_volume("lab-models");
    EXPECT_EQ(held_for(volumes),
              "persistentVolumeClaim models while its volume lab-models does not exist");
    volumes.remove_claim({"t", "models"});
    EXPECT_EQ(held_for(volumes), "persistentVolumeClaim models before it exists");
}

TEST(Volumes, the_node_affinity_of_a_volume_is_a_rule) {
    Volumes volumes;
    Json volume = volume_json();
    volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = Json::parse(
        R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["b","c"]}]},
            {"matchExpressions":[{"key":"anywhere","operator":"Exists"}]}])");
    volumes.set(claim_of(claim_json()));
    volumes.set(volume_of(volume));
    EXPECT_TRUE(may_use(volumes, {{"zone", "c"}}));
    EXPECT_TRUE(may_use(volumes, {{"anywhere", ""}}));
    EXPECT_FALSE(may_use(volumes, {{"zone", "a"}}));
    EXPECT_FALSE(may_use(volumes, {}));
    ASSERT_EQ(applied(volumes).rules.volumes.size(), 1U);
    EXPECT_EQ(applied(volumes).rules.volumes.front().claim, "models");
}

TEST(Volumes, a_volume_of_one_node_names_that_node) {
    Volumes volumes;
    Json volume = volume_json();
    volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = Json::parse(
        R"([{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n7"]}]}])");
    volumes.set(claim_of(claim_json()));
    volumes.set(volume_of(volume));
    EXPECT_EQ(applied(volumes).pin, (NodePin{"kubernetes.io/hostname", "n7"}));
}

// From before volumes had a node affinity; kube-scheduler still evaluates them.
TEST(Volumes, zones_that_a_volume_has_as_labels_are_a_rule) {
    Volumes volumes;
    volumes.set(claim_of(claim_json()));
    Json volume = volume_json();
    volume["metadata"]["labels"] = {{"topology.kubernetes.io/zone", "b__c"},
                                    {"failure-domain.beta.kubernetes.io/region", "r"}};
    volumes.set(volume_of(volume));
    const std::string zone = "topology.kubernetes.io/zone";
    const std::string region = "topology.kubernetes.io/region";
    EXPECT_TRUE(may_use(volumes, {{zone, "c"}, {region, "r"}}));
    EXPECT_FALSE(may_use(volumes, {{zone, "a"}, {region, "r"}}));
    EXPECT_FALSE(may_use(volumes, {{zone, "b"}, {region, "other"}}));
    EXPECT_TRUE(may_use(volumes, {})) << "the place of that node is not known";
}

TEST(Volumes, changes_are_reported_for_the_claims_that_they_concern) {
    Volumes volumes;
    std::vector<std::string> changed;
    volumes.on_change([&](const ObjectKey& claim) { changed.push_back(claim.name); });
    volumes.set(volume_of(volume_json()));
    EXPECT_TRUE(changed.empty()) << "no claim uses it";
    volumes.set(claim_of(claim_json()));
    volumes.set(claim_of(claim_json()));
    EXPECT_EQ(changed, (std::vector<std::string>{"models"}));
    volumes.set(volume_of(volume_json()));
    EXPECT_EQ(changed.size(), 1U) << "no change";
    volumes.remove_volume("lab-models");
    EXPECT_EQ(changed.size(), 2U);
    volumes.remove_claim({"t", "models"});
    EXPECT_EQ(changed.size(), 3U);
}

// A hundred thousand volumes of one zone have one node affinity.
TEST(Volumes, equal_node_affinities_are_stored_once_and_removed_with_their_last_volume) {
    Volumes volumes;
    Json volume = volume_json();
    volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] =
        Json::parse(R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]}])");
    for (int i = 0; i < 10; ++i) {
        volume["metadata"]["name"] = "pv-" + std::to_string(i);
        volumes.set(volume_of(volume));
    }
    EXPECT_EQ(volumes.reaches(), 1U);
    volume["spec"].erase("nodeAffinity");
    volume["metadata"]["name"] = "pv-0";
    volumes.set(volume_of(volume));
    for (int i = 1; i < 9; ++i) volumes.remove_volume("pv-" + std::to_string(i));
    EXPECT_EQ(volumes.reaches(), 1U);
    volumes.remove_volume("pv-9");
    EXPECT_EQ(volumes.reaches(), 0U);
}

}  // namespace
}  // namespace gpuctl::k8s
