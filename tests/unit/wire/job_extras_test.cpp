// Keys that are checked and stored with the job: labels, annotations, autoscaling, model, output;
// and variables that jobs may not set.

#include "unit/wire/job_document_support.hpp"

namespace gpuctl::wire {
namespace {

TEST(JobExtras, labels_and_annotations_are_read_as_written) {
    const JobSpec spec = spec_of(
        with_job("{name: a, labels: {team: search, example.com/cost: 42, empty: \"\", "
                 "app.kubernetes.io/part-of: shop}, annotations: {note: \"any text, 100%\"}}"));
    EXPECT_EQ(spec.extras.labels,
              (std::map<std::string, std::string>{{"team", "search"},
                                                  {"example.com/cost", "42"},
                                                  {"empty", ""},
                                                  {"app.kubernetes.io/part-of", "shop"}}));
    EXPECT_EQ(spec.extras.annotations,
              (std::map<std::string, std::string>{{"note", "any text, 100%"}}));
}

TEST(JobExtras, keys_of_gpuctl_and_of_kubernetes_are_reserved) {
    for (const char* key :
         {"runwhere.ai/pool", "g8s.host/pool", "gpuctl/pool", "app.kubernetes.io/name",
          "batch.kubernetes.io/job-name", "node.k8s.io/x", "app", "job-name"}) {
        for (const char* section : {"labels", "annotations"}) {
            const std::string problems = problems_of(
                with_job("{name: a, " + std::string{section} + ": {" + std::string{key} + ": x}}"));
            EXPECT_TRUE(holds(problems, "use a domain of your own, such as example.com/"))
                << key << ": " << problems;
        }
    }
    JobDocumentOptions options;
    options.label_prefix = "gpu.example.com";
    EXPECT_TRUE(
        holds(problems_of(with_job("{name: a, labels: {gpu.example.com/pool: x}}"), options),
              "reserved"));
}

TEST(JobExtras, labels_that_kubernetes_would_refuse_are_errors) {
    const std::pair<const char*, const char*> wrong[] = {
        {"{a b: c}", "has a name that may only hold letters"},
        {"{team: two words}", "of the label team may only hold letters"},
        {"{A_/x: y}", "has a prefix that"},
        {"{team: [x]}", "must be text, not a list"}};
    for (const auto& [labels, why] : wrong) {
        EXPECT_TRUE(
            holds(problems_of(with_job("{name: a, labels: " + std::string{labels} + "}")), why))
            << labels;
    }
    EXPECT_TRUE(holds(
        problems_of(with_job("{name: a, annotations: {note: " + std::string(40'000, 'x') + "}}")),
        "at most 32768 are allowed"));
}

std::string with_autoscaling(const std::string& section) {
    return of_kind("inference", "autoscaling: " + section + "\n");
}

TEST(JobExtras, autoscaling_is_checked_and_stored_and_the_answer_says_that_it_does_nothing_yet) {
    const std::string text = with_autoscaling(
        "{enabled: true, min_replicas: 2, maxReplicas: 6, "
        "targetGPUUtilization: 80, target-cpu-utilization: 60}");
    const Autoscaling scaling = spec_of(text).extras.autoscaling;
    EXPECT_EQ(scaling, (Autoscaling{true, 2, 6, 80, 0, 60}));
    EXPECT_TRUE(
        holds(warnings_of(text), "autoscaling is stored with the job and not acted on yet"));
    EXPECT_EQ(spec_of(with_autoscaling("{}")).extras.autoscaling,
              (Autoscaling{false, 1, 10, 70, 0, 0}));
    EXPECT_EQ(
        spec_of(with_autoscaling("{targets: \"cpu:50%; mem=60%,gpu:70%\"}")).extras.autoscaling,
        (Autoscaling{false, 1, 10, 70, 60, 50}));
    for (const auto& [wrong, why] : {std::pair{"{minReplicas: 7, maxReplicas: 6}", "is more than"},
                                     {"{targetGpuUtilization: 0}", "from 1 to 100"},
                                     {"{targets: \"gpu:0%\"}", "autoscaling.targets must be like"},
                                     {"{targets: \"gpu:50\"}", "autoscaling.targets must be like"},
                                     {"{targets: \"gpu:5%,gpu:6%\"}", "each once"},
                                     {"{enabled: maybe}", "true or false"}}) {
        EXPECT_TRUE(holds(problems_of(with_autoscaling(wrong)), why)) << wrong;
    }
    JobDocumentOptions strict;
    strict.strict = true;
    EXPECT_TRUE(holds(problems_of(with_autoscaling("{maxReplica: 3}"), strict),
                      "did you mean maxReplicas?"));
}

TEST(JobExtras, model_and_output_are_stored) {
    const JobSpec inference =
        spec_of(of_kind("inference", "model: {name: llama3, version: 2, cache: false}\n"));
    EXPECT_EQ(inference.extras.model,
              (ModelSource{"model-registry", "llama3", "2", "safetensors", false}));
    EXPECT_TRUE(
        holds(problems_of(of_kind("inference", "model: {source: x}\n")), "model.name is missing"));
    EXPECT_TRUE(spec_of(of_kind("training", "output: {resume_from_checkpoint: true}\n"))
                    .extras.resume_from_checkpoint);
    const JobExtras numbers = spec_of(with_job("{name: a, epochs: 3, batch_size: 8}")).extras;
    EXPECT_EQ(numbers.epochs, 3);
    EXPECT_EQ(numbers.batch_size, 8);
}

TEST(PlatformVariables, that_choose_devices_or_load_code_are_refused_also_without_gpus) {
    for (const char* name :
         {"LD_PRELOAD", "LD_AUDIT", "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
          "ASCEND_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "HABANA_VISIBLE_DEVICES"}) {
        for (const std::string& env :
             {"{" + std::string{name} + ": x}", "[{name: " + std::string{name} + ", value: x}]"}) {
            const std::string problems =
                problems_of(with_environment("{image: i, env: " + env + "}"));
            EXPECT_TRUE(holds(problems, "the variable " + std::string{name})) << problems;
            EXPECT_TRUE(holds(problems, "ask the operator to allow it in pool default"))
                << problems;
        }
    }
    EXPECT_EQ(problems_of(with_environment("{image: i, env: {LD_LIBRARY_PATH: /x, CUDA_HOME: y}}")),
              "");
}

TEST(PlatformVariables, are_accepted_where_the_operator_allows_them_and_of_jobs_that_exist) {
    Sections sections{.environment = "{image: i, env: {LD_PRELOAD: x}}",
                      .resources = "{cpu: 1, memory: 1Gi, pool: lab}"};
    JobDocumentOptions options;
    options.variables_allowed["lab"] = "CUDA_VISIBLE_DEVICES LD_PRELOAD";
    EXPECT_EQ(problems_of(sections.text(), options), "");
    sections.resources = "{cpu: 1, memory: 1Gi, pool: other}";
    EXPECT_TRUE(holds(problems_of(sections.text(), options), "LD_PRELOAD"));
    options.variables_allowed["*"] = "LD_PRELOAD";
    EXPECT_EQ(problems_of(sections.text(), options), "");
    JobDocumentOptions existing;
    existing.was_accepted = true;
    EXPECT_EQ(problems_of(sections.text(), existing), "");
}

}  // namespace
}  // namespace gpuctl::wire
