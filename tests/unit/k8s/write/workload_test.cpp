// Jobs -> API objects, compared with files in tests/golden/workloads. To update them after an
// intended change: GPUCTL_WRITE_GOLDEN=1 k8s_tests --gtest_filter='Workload*', then read the diff.

#include "k8s/workload/workload.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace gpuctl::k8s {
namespace {

using OrderedJson = nlohmann::ordered_json;

JobRecord job(JobKind kind, std::string name) {
    JobRecord job;
    job.uid = "0194-uid";
    job.source = "kind: " + std::string(to_string(kind)) + "\n";
    job.spec.kind = kind;
    job.spec.key = {"team-a", std::move(name)};
    job.spec.image = "registry.example/image:v1";
    job.spec.cpu = CpuMilli{8'000};
    job.spec.memory = Bytes{32LL << 30};
    return job;
}

void ask_for_gpus(JobRecord& job, std::int64_t count) {
    job.spec.gpu.mode = GpuMode::exclusive;
    job.spec.gpu.count = count;
    job.spec.gpu.amount = whole_gpus(count);
    job.spec.gpu.vendor = "nvidia";
    job.spec.gpu.resource = "nvidia.com/gpu";
}

JobRecord single_training() {
    JobRecord record = job(JobKind::training, "sft");
    record.spec.priority = JobPriority::high;
    record.spec.description = "Feinabstimmung für Übung 1";
    record.spec.pool = "training";
    record.spec.queue = "night";
    record.spec.gpu_type = "A100-80G";
    record.spec.image_pull_secrets = {"reg"};
    record.spec.command = {"torchrun"};
    record.spec.args = {"train.py", "--epochs=3"};
    record.spec.environment = {{"MASTER_PORT", "1234", ""},
                               {"TOKEN", "", R"({"secretKeyRef":{"name":"s","key":"k"}})"}};
    record.spec.run_time_max = Duration::seconds(3'600);
    record.spec.workdirs = {"/data/models/", "", "/data/ds_config.json", "/data/models",
                            "/m/qwen2.5-7b"};
    ask_for_gpus(record, 4);
    return record;
}

TEST(Workload, mounts_as_a_file_only_what_is_certainly_a_file) {
    JobRecord record = job(JobKind::compute, "web");
    record.spec.workdirs = {"/etc/nginx/conf.d", "/data/v1.0", "/m/qwen2.5-7b", "/d/a.json",
                            "/d/b.json/"};
    const auto body = nlohmann::json::parse(*workload_body(record, WorkloadSettings{}));
    std::vector<std::string> types;
    for (const auto& volume : body["spec"]["template"]["spec"]["volumes"]) {
        types.push_back(volume["hostPath"]["type"]);
    }
    EXPECT_EQ(types, (std::vector<std::string>{"DirectoryOrCreate", "DirectoryOrCreate",
                                               "DirectoryOrCreate", "File", "DirectoryOrCreate"}));
}

JobRecord gang_training() {
    JobRecord record = job(JobKind::training, "llm");
    record.spec.replicas_min = 2;
    record.spec.replicas_max = 2;
    ask_for_gpus(record, 8);
    return record;
}

JobRecord inference() {
    JobRecord record = job(JobKind::inference, "chat");
    record.spec.pool = "infer";
    record.spec.service.replicas = 2;
    record.spec.service.port = 8080;
    record.spec.service.health_check = "/health";
    record.spec.service.timeout = Duration::seconds(5);
    ask_for_gpus(record, 1);
    return record;
}

JobRecord notebook() {
    JobRecord record = job(JobKind::notebook, "nb");
    record.spec.service.port = 8888;
    record.spec.priority = JobPriority::low;
    record.spec.preemptible = true;
    ask_for_gpus(record, 1);
    return record;
}

JobRecord notebook_with_storage() {
    JobRecord record = notebook();
    record.spec.claims = {{"data", "/home/jovyan/data", Bytes{100LL << 30}, "fast"},
                          {"cache", "/cache", Bytes{1LL << 30}, ""}};
    return record;
}

JobRecord deepspeed_training() {
    JobRecord record = job(JobKind::training, "sft");
    record.spec.command = {"llama-factory-cli", "train", "--deepspeed", "ds_config.json"};
    ask_for_gpus(record, 4);
    return record;
}

JobRecord compute() {
    JobRecord record = job(JobKind::compute, "web");
    record.spec.service.port = 80;
    record.spec.service.target_port = 8080;
    record.spec.service.type = "ClusterIP";
    return record;
}

OrderedJson objects_of(const JobRecord& record) {
    OrderedJson objects = OrderedJson::array();
    const auto body = workload_body(record, {});
    EXPECT_TRUE(body.has_value());
    if (body) objects.push_back(OrderedJson::parse(*body));
    if (needs_service(record.spec)) {
        objects.push_back(OrderedJson::parse(service_body(record, {}, "uid-of-the-workload")));
    }
    if (needs_config_map(record.spec)) {
        objects.push_back(OrderedJson::parse(config_map_body(record, {}, "uid-of-the-workload")));
    }
    for (const VolumeClaim& claim : record.spec.claims) {
        objects.push_back(OrderedJson::parse(claim_body(record, claim, {})));
    }
    objects.push_back(OrderedJson::parse(priority_class_body(record.spec.priority)));
    return objects;
}

std::string read_file(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

struct GoldenCase {
    const char* name;
    JobRecord (*make)();
};
void PrintTo(const GoldenCase& row, std::ostream* out) { *out << row.name; }

class WorkloadGolden : public testing::TestWithParam<GoldenCase> {};

TEST_P(WorkloadGolden, objects_equal_the_golden_files) {
    const std::string path =
        std::string(GPUCTL_SOURCE_DIR) + "/tests/golden/workloads/" + GetParam().name + ".json";
    const std::string text = objects_of(GetParam().make()).dump(2) + "\n";
    if (std::getenv("GPUCTL_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
    EXPECT_EQ(text, read_file(path)) << path;
}

INSTANTIATE_TEST_SUITE_P(Kinds, WorkloadGolden,
                         testing::Values(GoldenCase{"training", single_training},
                                         GoldenCase{"training-gang", gang_training},
                                         GoldenCase{"inference", inference},
                                         GoldenCase{"notebook", notebook},
                                         GoldenCase{"notebook-storage", notebook_with_storage},
                                         GoldenCase{"training-deepspeed", deepspeed_training},
                                         GoldenCase{"compute", compute}),
                         [](const auto& row) {
                             std::string name = row.param.name;
                             for (char& c : name) c = c == '-' ? '_' : c;
                             return name;
                         });

OrderedJson pod_of(const JobRecord& record) {
    return OrderedJson::parse(workload_body(record, {}).value())["spec"]["template"];
}

// A kubelet adds variables named after every Service of the namespace: those of an inference job
// `vllm` would be VLLM_PORT=tcp://..., which vLLM takes for its own.
TEST(Workload, pods_of_jobs_get_no_variables_named_after_services) {
    for (const auto make : {single_training, gang_training, inference, notebook, compute}) {
        EXPECT_EQ(pod_of(make())["spec"]["enableServiceLinks"], false);
    }
}

std::string variable(const OrderedJson& pod, const std::string& name) {
    const OrderedJson environment = pod["spec"]["containers"][0].value("env", OrderedJson::array());
    for (const OrderedJson& entry : environment) {
        if (entry["name"] == name) return entry.value("value", std::string("(from)"));
    }
    return "(absent)";
}

TEST(Workload, labels_and_annotations_of_the_document_are_on_all_objects_and_ours_are_preferred) {
    JobRecord record = job(JobKind::inference, "chat");
    record.spec.description = "ours";
    record.spec.extras.labels = {{"team", "search"}, {"app", "theirs"}};
    record.spec.extras.annotations = {{"example.com/ticket", "OPS-17"}};
    const auto body = OrderedJson::parse(workload_body(record, {}).value());
    const auto service = OrderedJson::parse(service_body(record, {}, "uid"));
    const auto& pods = body["spec"]["template"]["metadata"];
    for (const auto* metadata : {&body["metadata"], &pods, &service["metadata"]}) {
        EXPECT_EQ((*metadata)["labels"]["team"], "search") << metadata->dump();
        EXPECT_EQ((*metadata)["annotations"]["example.com/ticket"], "OPS-17") << metadata->dump();
        EXPECT_EQ((*metadata)["annotations"]["runwhere.ai/description"], "ours");
    }
    EXPECT_EQ(pods["labels"]["app"], "chat");
}

TEST(Acceptance, A5_a_training_job_with_63_characters_in_its_name_is_a_job_without_an_index) {
    JobRecord record = job(JobKind::training, std::string(63, 'a'));
    ask_for_gpus(record, 2);
    const auto body = OrderedJson::parse(workload_body(record, {}).value());
    EXPECT_EQ(body["spec"]["completionMode"], "NonIndexed");
    for (const auto& variable : body["spec"]["template"]["spec"]["containers"][0]["env"]) {
        if (variable["name"] == "RANK") {
            EXPECT_EQ(variable["value"], "0");
        }
        EXPECT_EQ(variable.dump().find("completion-index"), std::string::npos) << variable.dump();
    }
    record.spec.key.name.resize(61);
    const auto indexed = OrderedJson::parse(workload_body(record, {}).value());
    EXPECT_EQ(indexed["spec"]["completionMode"], "Indexed");
}

TEST(Workload, a_users_own_environment_is_never_overwritten) {
    const OrderedJson pod = pod_of(single_training());
    EXPECT_EQ(variable(pod, "MASTER_PORT"), "1234");
    EXPECT_EQ(variable(pod, "NPROC_PER_NODE"), "4");
    EXPECT_EQ(variable(pod, "MASTER_ADDR"), "127.0.0.1");
    EXPECT_EQ(variable(pod, "TOKEN"), "(from)");
}

TEST(Workload, ranks_find_rank_zero_by_name) {
    const OrderedJson pod = pod_of(gang_training());
    EXPECT_EQ(variable(pod, "MASTER_ADDR"), "llm-0.svc-llm.team-a.svc");
    EXPECT_EQ(variable(pod, "WORLD_SIZE"), "2");
    EXPECT_EQ(variable(pod, "RANK"), "(from)");
    EXPECT_EQ(pod["spec"]["subdomain"], "svc-llm");
    EXPECT_EQ(pod["metadata"]["annotations"]["runwhere.ai/gang-min"], "2");
}

// The Job's template cannot change with its size: torchrun reads the range and counts by itself.
TEST(Workload, an_elastic_job_is_created_with_all_its_ranks_and_gets_the_range) {
    JobRecord job = gang_training();
    job.spec.replicas_min = 2;
    job.spec.replicas_max = 6;
    const OrderedJson pod = pod_of(job);
    EXPECT_EQ(variable(pod, "NNODES"), "2:6");
    EXPECT_EQ(variable(pod, "WORLD_SIZE"), "(absent)");
    EXPECT_EQ(variable(pod, "MASTER_ADDR"), "llm-0.svc-llm.team-a.svc") << "rank 0 always stays";
    EXPECT_EQ(pod["metadata"]["annotations"]["runwhere.ai/gang-min"], "2");
    const auto body = workload_body(job, WorkloadSettings{});
    ASSERT_TRUE(body.has_value());
    EXPECT_EQ(OrderedJson::parse(*body)["spec"]["completions"], 6);
    EXPECT_EQ(OrderedJson::parse(*body)["spec"]["parallelism"], 6);
}

TEST(Workload, a_job_without_gpus_sees_no_gpu) {
    EXPECT_EQ(variable(pod_of(compute()), "NVIDIA_VISIBLE_DEVICES"), "none");
    JobRecord chosen = compute();
    chosen.spec.environment = {{"NVIDIA_VISIBLE_DEVICES", "all", ""}};
    EXPECT_EQ(variable(pod_of(chosen), "NVIDIA_VISIBLE_DEVICES"), "all");
    EXPECT_EQ(variable(pod_of(inference()), "NVIDIA_VISIBLE_DEVICES"), "(absent)");
}

TEST(Workload, a_variable_named_twice_is_sent_once_with_its_last_value) {
    JobRecord record = compute();
    record.spec.environment = {{"A", "1", ""}, {"B", "2", ""}, {"A", "3", ""}};
    const OrderedJson pod = pod_of(record);
    EXPECT_EQ(variable(pod, "A"), "3");
    int times = 0;
    for (const OrderedJson& entry : pod["spec"]["containers"][0]["env"])
        times += entry["name"] == "A";
    EXPECT_EQ(times, 1);
}

TEST(Workload, jobs_without_a_pool_stay_out_of_every_pool) {
    const OrderedJson pod = pod_of(gang_training());
    const OrderedJson& terms =
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
           ["nodeSelectorTerms"];
    EXPECT_EQ(terms[0]["matchExpressions"][0]["key"], "runwhere.ai/pool");
    EXPECT_EQ(terms[0]["matchExpressions"][0]["operator"], "DoesNotExist");
}

TEST(Workload, a_namespace_with_path_segments_is_never_part_of_a_path) {
    for (const char* elsewhere : {"..", "default/../kube-system", "B_", ""}) {
        JobRecord lost = single_training();
        lost.spec.key.namespace_name = elsewhere;
        EXPECT_FALSE(is_addressable(lost.spec.key)) << elsewhere;
        EXPECT_EQ(workload_body(lost, {}).error().code, ErrorCode::ValidationFailed) << elsewhere;
    }
    EXPECT_TRUE(is_addressable(single_training().spec.key));
}

TEST(Workload, a_feature_without_a_kubernetes_form_is_reported) {
    JobRecord share = inference();
    share.spec.gpu = GpuRequest{};  // -1: all of a node's at once
    share.spec.gpu.mode = GpuMode::shared;
    EXPECT_EQ(workload_body(share, {}).error().code, ErrorCode::ValidationFailed);
    JobRecord unsupported = inference();  // whose vendor has no variable that makes GPUs visible
    unsupported.spec.gpu.mode = GpuMode::fraction;
    unsupported.spec.gpu.amount = GpuMilli{500};
    unsupported.spec.gpu.vendor = "amd";
    EXPECT_EQ(workload_body(unsupported, {}).error().code, ErrorCode::ValidationFailed);
}

TEST(Workload, several_gpu_models_become_an_affinity_and_their_order_an_annotation) {
    JobRecord record = inference();
    record.spec.pool = "";
    record.spec.gpu_type = "H100";
    record.spec.gpu_types_next = {"A100", "L40S"};
    const OrderedJson pod =
        OrderedJson::parse(workload_body(record, {}).value())["spec"]["template"];
    EXPECT_EQ(pod["metadata"]["annotations"]["runwhere.ai/gpu-type"], "H100,A100,L40S");
    EXPECT_FALSE(
        pod["spec"].value("nodeSelector", OrderedJson::object()).contains("runwhere.ai/gpu-type"));
    const OrderedJson terms =
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
           ["nodeSelectorTerms"];
    ASSERT_EQ(terms.size(), 1u);
    EXPECT_EQ(terms[0]["matchExpressions"],
              OrderedJson::parse(R"([{"key":"runwhere.ai/gpu-type","operator":"In",
                               "values":["H100","A100","L40S"]},
                              {"key":"runwhere.ai/pool","operator":"DoesNotExist"}])"));
}

TEST(Workload, shares_of_gpus_are_requested_by_their_resource) {
    JobRecord record = inference();
    record.spec.gpu = GpuRequest{};
    record.spec.gpu.mode = GpuMode::shared;
    record.spec.gpu.count = 2;
    record.spec.gpu.resource = "nvidia.com/gpu.shared";
    const OrderedJson pod =
        OrderedJson::parse(workload_body(record, {}).value())["spec"]["template"]["spec"];
    EXPECT_EQ(pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu.shared"], "2");
}

TEST(Workload, a_part_of_a_gpu_requests_no_device_and_sees_the_one_it_is_bound_to) {
    JobRecord record = inference();
    record.spec.gpu = GpuRequest{};
    record.spec.gpu.mode = GpuMode::fraction;
    record.spec.gpu.amount = GpuMilli{250};
    record.spec.gpu.vendor = "nvidia";
    record.spec.gpu.resource = "nvidia.com/gpu";
    record.spec.environment = {{"NVIDIA_VISIBLE_DEVICES", "all", ""}};
    const OrderedJson body = OrderedJson::parse(workload_body(record, {}).value());
    const OrderedJson& pod = body["spec"]["template"];
    EXPECT_EQ(pod["metadata"]["annotations"]["runwhere.ai/gpu-fraction"], "0.25");
    EXPECT_EQ(pod["spec"]["nodeSelector"]["runwhere.ai/gpu-sharing"], "true");
    EXPECT_EQ(pod["spec"]["tolerations"].back()["key"], "runwhere.ai/gpu-sharing");
    const OrderedJson& container = pod["spec"]["containers"][0];
    EXPECT_FALSE(container["resources"]["requests"].contains("nvidia.com/gpu"));
    ASSERT_EQ(container["env"].size(), 1u);
    EXPECT_EQ(container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"],
              "metadata.annotations['runwhere.ai/gpu-device']");
}

TEST(Workload, text_that_is_no_utf8_does_not_throw) {
    JobRecord record = compute();
    record.spec.description = "\xff\xfe";
    EXPECT_TRUE(workload_body(record, {}).has_value());
}

TEST(Workload, the_prefix_is_the_configured_one) {
    const WorkloadSettings settings{"other-scheduler", LabelKeys{"example.org"}};
    const std::string body = workload_body(gang_training(), settings).value();
    EXPECT_EQ(body.find("runwhere.ai"), std::string::npos);
    EXPECT_NE(body.find("example.org/gang"), std::string::npos);
    EXPECT_NE(body.find("other-scheduler"), std::string::npos);
}

TEST(Workload, deploy_yaml_grants_exactly_the_rights_of_rbac_yaml) {
    const std::string rbac = read_file(std::string(GPUCTL_SOURCE_DIR) + "/config/rbac.yaml");
    const std::string deploy = read_file(std::string(GPUCTL_SOURCE_DIR) + "/config/deploy.yaml");
    const std::string rules = rbac.substr(rbac.find("apiVersion:"));  // without the heading
    ASSERT_GT(rules.size(), 1'000u);
    EXPECT_NE(deploy.find(rules), std::string::npos);
}

}  // namespace
}  // namespace gpuctl::k8s
