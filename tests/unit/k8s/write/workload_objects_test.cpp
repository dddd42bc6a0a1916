// What a job's objects say beyond its containers: volumes, DeepSpeed files, labels, and what an
// operator configures for its pods.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "k8s/workload/workload.hpp"

namespace gpuctl::k8s {
namespace {

using ObjectJson = nlohmann::json;

JobRecord job_of_kind(JobKind kind, std::int32_t replicas = 1) {
    JobRecord job;
    job.uid = "job-1";
    job.spec.kind = kind;
    job.spec.key = {"team-a", "nb"};
    job.spec.image = "i";
    job.spec.replicas_min = job.spec.replicas_max = replicas;
    job.spec.service.replicas = replicas;
    return job;
}

const VolumeClaim kData{"data", "/data", Bytes{100LL << 30}, ""};

ObjectJson pod_spec_of(const JobRecord& job, const WorkloadSettings& settings = {}) {
    return ObjectJson::parse(*workload_body(job, settings))["spec"]["template"]["spec"];
}

std::string value_of(const ObjectJson& pod, const std::string& name) {
    for (const ObjectJson& entry : pod["containers"][0].value("env", ObjectJson::array())) {
        if (entry["name"] == name) return entry.value("value", std::string("(from)"));
    }
    return "(absent)";
}

ObjectJson existing_claim(const JobRecord& job) {
    return ObjectJson::parse(claim_body(job, kData, {}));
}

std::string claim_problem(const ObjectJson& existing, const JobRecord& job,
                          const VolumeClaim& wanted = kData) {
    return problem_with_claim(existing.dump(), job.spec, wanted, LabelKeys{}).message;
}

TEST(JobStorage, each_entry_is_a_claim_of_its_size_mounted_at_its_path) {
    JobRecord job = job_of_kind(JobKind::notebook);
    job.spec.claims = {kData, {"cache", "/cache", Bytes{1 << 30}, "fast"}};
    const ObjectJson pod = pod_spec_of(job);
    EXPECT_EQ(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], "nb-data");
    EXPECT_EQ(pod["volumes"][1]["persistentVolumeClaim"]["claimName"], "nb-cache");
    EXPECT_EQ(pod["containers"][0]["volumeMounts"][1]["mountPath"], "/cache");
    const ObjectJson data = existing_claim(job);
    EXPECT_EQ(data["spec"]["resources"]["requests"]["storage"], "100Gi");
    EXPECT_FALSE(data["spec"].contains("storageClassName")) << "the cluster's default class";
    const ObjectJson cache = ObjectJson::parse(claim_body(job, job.spec.claims[1], {}));
    EXPECT_EQ(cache["spec"]["storageClassName"], "fast");
}

TEST(JobStorage, a_claim_has_no_owner_so_that_its_data_outlives_the_job) {
    const ObjectJson claim = existing_claim(job_of_kind(JobKind::notebook));
    EXPECT_FALSE(claim["metadata"].contains("ownerReferences"));
    EXPECT_FALSE(claim["metadata"]["labels"].contains("runwhere.ai/job-uid"));
}

TEST(JobStorage, a_volume_for_several_pods_can_be_mounted_on_several_nodes) {
    const auto mode = [](std::int32_t replicas) {
        return existing_claim(job_of_kind(JobKind::inference, replicas))["spec"]["accessModes"][0];
    };
    EXPECT_EQ(mode(1), "ReadWriteOnce");
    EXPECT_EQ(mode(2), "ReadWriteMany");
}

TEST(JobStorage, a_claim_of_an_earlier_job_of_the_same_name_is_used_again) {
    JobRecord job = job_of_kind(JobKind::notebook);
    const ObjectJson existing = existing_claim(job);
    job.uid = "another";
    EXPECT_EQ(claim_problem(existing, job), "");
}

TEST(JobStorage, a_claim_with_another_size_or_class_is_refused_with_what_to_write) {
    const JobRecord job = job_of_kind(JobKind::notebook);
    ObjectJson existing = existing_claim(job);
    VolumeClaim wanted = kData;
    wanted.size = Bytes{200LL << 30};
    EXPECT_EQ(claim_problem(existing, job, wanted),
              "PersistentVolumeClaim team-a/nb-data exists with 100Gi and storage.data.size is "
              "200Gi; write size: 100Gi to use its data, or choose another name for the volume");
    wanted = kData;
    wanted.storage_class = "fast";
    existing["spec"]["storageClassName"] = "slow";
    EXPECT_NE(claim_problem(existing, job, wanted).find("storage class \"slow\""),
              std::string::npos);
}

TEST(JobStorage, a_claim_of_another_owner_is_never_mounted) {
    const JobRecord job = job_of_kind(JobKind::notebook);
    ObjectJson foreign = existing_claim(job);
    foreign["metadata"].erase("labels");
    EXPECT_NE(claim_problem(foreign, job).find("was not created by gpuctl"), std::string::npos);
    ObjectJson other = existing_claim(job);  // volume "data" of job "nb-x", volume "x-data" of "nb"
    other["metadata"]["labels"]["runwhere.ai/name"] = "nb-x";
    EXPECT_NE(claim_problem(other, job).find("belongs to job nb-x"), std::string::npos);
    EXPECT_NE(problem_with_claim("no json", job.spec, kData, LabelKeys{}).message, "");
}

TEST(JobStorage, a_claim_that_is_being_deleted_is_waited_for) {
    const JobRecord job = job_of_kind(JobKind::notebook);
    ObjectJson existing = existing_claim(job);
    existing["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    EXPECT_TRUE(problem_with_claim(existing.dump(), job.spec, kData, LabelKeys{}).retryable);
}

TEST(JobStorage, a_claim_for_one_pod_is_refused_to_several) {
    const ObjectJson existing = existing_claim(job_of_kind(JobKind::inference));
    EXPECT_NE(claim_problem(existing, job_of_kind(JobKind::inference, 2)).find("for one pod"),
              std::string::npos);
}

TEST(JobStorage, one_path_for_two_volumes_is_refused) {
    JobRecord job = job_of_kind(JobKind::notebook);
    job.spec.claims = {kData};
    job.spec.workdirs = {"/data"};
    const auto body = workload_body(job, {});
    ASSERT_FALSE(body.has_value());
    EXPECT_NE(body.error().message.find("mounts /data twice"), std::string::npos);
}

JobRecord training_with(std::vector<std::string> command, std::vector<std::string> args = {}) {
    JobRecord job = job_of_kind(JobKind::training);
    job.spec.command = std::move(command);
    job.spec.args = std::move(args);
    return job;
}

TEST(DeepSpeedFiles, a_job_that_names_one_without_a_folder_gets_it) {
    EXPECT_TRUE(needs_config_map(training_with({"train", "--deepspeed", "ds_config.json"}).spec));
    EXPECT_TRUE(needs_config_map(training_with({}, {"--deepspeed=zero3_config.json"}).spec));
    EXPECT_TRUE(
        needs_config_map(training_with({"sh", "-c", "train --ds ./ds_config.json; true"}).spec));
    for (const char* other : {"/data/ds_config.json", "my_ds_config.json", "ds_config.json.bak",
                              "conf/ds_config.json"}) {
        EXPECT_FALSE(needs_config_map(training_with({"train", other}).spec)) << other;
    }
    JobRecord service = training_with({"serve", "ds_config.json"});
    service.spec.kind = JobKind::inference;
    EXPECT_FALSE(needs_config_map(service.spec));
}

TEST(DeepSpeedFiles, the_templates_are_zero_2_and_zero_3_with_offload) {
    const JobRecord job = training_with({"a", "ds_config.json", "zero3_config.json"});
    const ObjectJson map = ObjectJson::parse(config_map_body(job, {}, "owner"));
    EXPECT_EQ(map["metadata"]["name"], "nb-deepspeed");
    EXPECT_EQ(map["metadata"]["ownerReferences"][0]["uid"], "owner");
    const auto file = [&map](const char* name) {
        return ObjectJson::parse(map["data"][name].get<std::string>())["zero_optimization"];
    };
    EXPECT_EQ(file("ds_config.json")["stage"], 2);
    EXPECT_EQ(file("zero3_config.json")["stage"], 3);
    EXPECT_EQ(file("zero3_config.json")["offload_optimizer"]["device"], "cpu");
}

TEST(DeepSpeedFiles, only_the_named_file_is_linked_and_only_where_the_user_has_none) {
    const ObjectJson container =
        pod_spec_of(training_with({"train", "ds_config.json"}))["containers"][0];
    EXPECT_EQ(container["command"],
              (ObjectJson{"sh", "-c",
                          "for f in ds_config.json; do [ -e \"$f\" ] || ln -s "
                          "/etc/gpuctl/deepspeed/\"$f\" \"$f\" || true; done; exec \"$@\"",
                          "gpuctl", "train", "ds_config.json"}));
    EXPECT_EQ(container["volumeMounts"][0]["mountPath"], "/etc/gpuctl/deepspeed");
}

TEST(DeepSpeedFiles, an_entry_point_of_the_image_is_not_wrapped) {
    const ObjectJson pod = pod_spec_of(training_with({}, {"ds_config.json"}));
    EXPECT_FALSE(pod["containers"][0].contains("command"));
    EXPECT_EQ(pod["volumes"][0]["configMap"]["name"], "nb-deepspeed");
}

WorkloadSettings with_defaults() {
    PodDefaults all;
    all.run_as_user = 1'000;
    all.seccomp_profile = "RuntimeDefault";
    all.environment = {{"NCCL_SOCKET_IFNAME", "eth0"}, {"A", "all"}};
    PodDefaults pool;
    pool.pool = "training";
    pool.service_account = "trainer";
    pool.run_as_user = 2'000;
    pool.fs_group = 3'000;
    pool.run_as_non_root = true;
    pool.tolerations = {{"dedicated", "gpu", "NoSchedule"}, {"", "", ""}};
    pool.environment = {{"A", "pool"}};
    WorkloadSettings settings;
    settings.pod_defaults = {pool, all};
    return settings;
}

TEST(PodDefaults, a_pool_wins_over_every_pool_and_its_tolerations_come_besides) {
    JobRecord job = job_of_kind(JobKind::training, 2);
    job.spec.pool = "training";
    const ObjectJson pod = pod_spec_of(job, with_defaults());
    EXPECT_EQ(pod["serviceAccountName"], "trainer");
    EXPECT_EQ(pod["securityContext"],
              ObjectJson::parse(R"({"runAsUser":2000,"fsGroup":3000,"runAsNonRoot":true,
                                    "seccompProfile":{"type":"RuntimeDefault"}})"));
    ASSERT_EQ(pod["tolerations"].size(), 3u);
    EXPECT_EQ(pod["tolerations"][0]["key"], "runwhere.ai/pool");
    EXPECT_EQ(pod["tolerations"][1],
              ObjectJson::parse(
                  R"({"key":"dedicated","operator":"Equal","value":"gpu","effect":"NoSchedule"})"));
    EXPECT_EQ(pod["tolerations"][2], ObjectJson::parse(R"({"operator":"Exists"})"));
    EXPECT_EQ(value_of(pod, "A"), "pool");
    EXPECT_EQ(value_of(pod, "NCCL_SOCKET_IFNAME"), "eth0");
}

TEST(PodDefaults, another_pool_gets_only_what_is_for_every_pool) {
    const ObjectJson pod = pod_spec_of(job_of_kind(JobKind::training), with_defaults());
    EXPECT_FALSE(pod.contains("serviceAccountName"));
    EXPECT_EQ(pod["securityContext"]["runAsUser"], 1'000);
    EXPECT_EQ(value_of(pod, "A"), "all");
}

TEST(PodDefaults, a_users_own_variable_wins) {
    JobRecord job = job_of_kind(JobKind::training);
    job.spec.environment = {{"NCCL_SOCKET_IFNAME", "ib0", ""}};
    EXPECT_EQ(value_of(pod_spec_of(job, with_defaults()), "NCCL_SOCKET_IFNAME"), "ib0");
}

// A wrong interface keeps NCCL from connecting, and the pods have no node when they are made.
TEST(PodDefaults, no_interface_of_nccl_is_guessed) {
    EXPECT_EQ(value_of(pod_spec_of(job_of_kind(JobKind::training, 2)), "NCCL_SOCKET_IFNAME"),
              "(absent)");
}

TEST(ObjectLabels, every_object_says_what_it_is_to_other_tools) {
    JobRecord job = training_with({"a", "ds_config.json"});
    const ObjectJson workload = ObjectJson::parse(*workload_body(job, {}));
    const auto labels = [](const ObjectJson& object) {
        const ObjectJson& all = object["metadata"]["labels"];
        return all.value("app.kubernetes.io/managed-by", "") + " " +
               all.value("app.kubernetes.io/name", "") + " " +
               all.value("app.kubernetes.io/component", "");
    };
    EXPECT_EQ(labels(workload), "gpuctl nb training");
    EXPECT_EQ(labels(workload["spec"]["template"]), "gpuctl nb training");
    EXPECT_EQ(labels(ObjectJson::parse(service_body(job, {}, "u"))), "gpuctl nb training");
    EXPECT_EQ(labels(ObjectJson::parse(config_map_body(job, {}, "u"))), "gpuctl nb training");
    EXPECT_EQ(labels(existing_claim(job)), "gpuctl nb storage");
    EXPECT_EQ(labels(ObjectJson::parse(priority_class_body(JobPriority::low))),
              "gpuctl gpuctl priority");
}

ObjectJson workload_of(const JobRecord& job) { return ObjectJson::parse(*workload_body(job, {})); }

// "(absent)" where the object has no such annotation.
std::string description_of(const ObjectJson& object) {
    return object["metadata"]
        .value("annotations", ObjectJson::object())
        .value("runwhere.ai/description", "(absent)");
}

void expect_description(JobKind kind, const std::string& text) {
    JobRecord job = job_of_kind(kind);
    if (text != "(absent)") job.spec.description = text;
    const ObjectJson workload = workload_of(job);
    EXPECT_EQ(description_of(workload), text);
    EXPECT_EQ(description_of(workload["spec"]["template"]), text);
    if (kind == JobKind::training) return;
    EXPECT_EQ(description_of(ObjectJson::parse(service_body(job, {}, "u"))), text);
}

TEST(Acceptance, B1_the_description_of_a_training_job_is_an_annotation) {
    expect_description(JobKind::training, "微调");
    expect_description(JobKind::training, "(absent)");
}

TEST(Acceptance, B2_the_description_of_an_inference_job_is_an_annotation) {
    expect_description(JobKind::inference, "text");
    expect_description(JobKind::inference, "(absent)");
}

TEST(Acceptance, B3_the_description_of_a_notebook_is_an_annotation) {
    expect_description(JobKind::notebook, "text");
    expect_description(JobKind::notebook, "(absent)");
}

TEST(Acceptance, B5_objects_have_the_name_of_the_job) {
    const JobRecord service = job_of_kind(JobKind::inference);
    EXPECT_EQ(workload_of(service)["metadata"]["name"], "nb");
    EXPECT_EQ(ObjectJson::parse(service_body(service, {}, "u"))["metadata"]["name"], "svc-nb");
    EXPECT_FALSE(needs_service(job_of_kind(JobKind::training).spec));
}

TEST(Acceptance, B6_each_kind_has_its_workload) {
    const auto kind_of = [](JobKind kind) {
        const ObjectJson workload = workload_of(job_of_kind(kind));
        return workload["apiVersion"].get<std::string>() + " " +
               workload["kind"].get<std::string>();
    };
    EXPECT_EQ(kind_of(JobKind::training), "batch/v1 Job");
    EXPECT_EQ(kind_of(JobKind::inference), "apps/v1 Deployment");
    EXPECT_EQ(kind_of(JobKind::compute), "apps/v1 Deployment");
    EXPECT_EQ(kind_of(JobKind::notebook), "apps/v1 StatefulSet");
    const ObjectJson set = workload_of(job_of_kind(JobKind::notebook));
    EXPECT_EQ(set["spec"]["serviceName"], "svc-nb");
    EXPECT_EQ(set["spec"]["replicas"], 1);
}

TEST(Acceptance, B7_workload_and_pods_have_the_labels_and_services_select_by_app) {
    for (const JobKind kind :
         {JobKind::training, JobKind::inference, JobKind::notebook, JobKind::compute}) {
        const ObjectJson workload = workload_of(job_of_kind(kind));
        const ObjectJson& pod = workload["spec"]["template"];
        for (const char* label : {"job-type", "priority", "pool", "namespace"}) {
            const std::string key = std::string{"runwhere.ai/"} + label;
            EXPECT_TRUE(workload["metadata"]["labels"].contains(key)) << key;
            EXPECT_TRUE(pod["metadata"]["labels"].contains(key)) << key;
        }
        EXPECT_EQ(pod["metadata"]["labels"].contains("app"), kind != JobKind::training);
        if (kind == JobKind::training) continue;
        EXPECT_EQ(workload["spec"]["selector"]["matchLabels"], (ObjectJson{{"app", "nb"}}));
    }
}

TEST(Acceptance, B17_a_pool_is_a_node_selector_and_no_affinity) {
    JobRecord job = job_of_kind(JobKind::training);
    job.spec.pool = "training";
    const ObjectJson pod = pod_spec_of(job);
    EXPECT_EQ(pod["nodeSelector"]["runwhere.ai/pool"], "training");
    EXPECT_FALSE(pod.contains("affinity"));
}

TEST(Acceptance, B18_the_gpu_type_selects_by_the_label_that_nodes_carry) {
    JobRecord job = job_of_kind(JobKind::training);
    job.spec.gpu_type = "A100-80G";
    EXPECT_EQ(pod_spec_of(job)["nodeSelector"]["runwhere.ai/gpu-type"], "A100-80G");
}

}  // namespace
}  // namespace gpuctl::k8s
