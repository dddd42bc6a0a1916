// Acceptance cases about job documents, by their id.

#include "unit/wire/job_document_support.hpp"

namespace gpuctl::wire {
namespace {

TEST(Acceptance, A2_malformed_yaml_is_an_error_with_its_line) {
    const auto documents = parse_yaml("kind: training\njob: {name: a\n");
    ASSERT_TRUE(documents.has_error());
    EXPECT_TRUE(holds(documents.error().message, "YAML")) << documents.error().message;
    EXPECT_TRUE(holds(documents.error().message, "line ")) << documents.error().message;
}

TEST(Acceptance, A3_an_unknown_kind_is_an_error_with_its_value) {
    const auto decoded = decode("kind: unsupported\njob: {name: a}\n");
    ASSERT_TRUE(decoded.has_error());
    EXPECT_EQ(decoded.error().code, ErrorCode::UnsupportedKind);
    EXPECT_TRUE(holds(decoded.error().message, "\"unsupported\""));
}

TEST(Acceptance, A5_names_are_required_and_have_at_most_63_characters) {
    EXPECT_TRUE(holds(problems_of(with_job("{}")), "job.name is missing"));
    EXPECT_TRUE(holds(problems_of(with_job("{name: \"\"}")), "/job/name job.name is empty"));
    EXPECT_TRUE(holds(problems_of(with_job("{name: " + std::string(64, 'a') + "}")), "/job/name"));
    EXPECT_EQ(problems_of(with_job("{name: " + std::string(63, 'a') + "}")), "");
}

TEST(Acceptance, A6_priorities_are_equal_with_and_without_quotes) {
    EXPECT_EQ(spec_of(with_job("{name: a, priority: medium}")),
              spec_of(with_job("{name: a, priority: \"medium\"}")));
    EXPECT_EQ(spec_of(with_job("{name: a}")).priority, JobPriority::medium);
    EXPECT_TRUE(holds(problems_of(with_job("{name: a, priority: urgent}")), "urgent"));
}

TEST(Acceptance, A9_cpu_is_cores_or_millicores) {
    for (const char* cpu : {"8", "\"8\"", "8000m"}) {
        EXPECT_EQ(spec_of(with_resources("{memory: 1Gi, cpu: " + std::string{cpu} + "}")).cpu,
                  CpuMilli{8'000})
            << cpu;
    }
}

TEST(Acceptance, A10_the_version_may_be_absent_or_v1) {
    EXPECT_EQ(spec_of(with_job("{name: a}")).version, "v0.1");
    EXPECT_EQ(spec_of("version: v1\n" + with_job("{name: a}")).version, "v1");
}

TEST(Acceptance, A11_other_spellings_of_keys_are_the_keys) {
    const JobSpec spec = spec_of(Sections{.kind = "inference",
                                          .environment = "{image: i, image_pull_secret: reg}",
                                          .resources = "{cpu: 1, memory: 1Gi, gpu: 0.5, "
                                                       "gpu-type: A100-80G, gpu-share: 20Gi}",
                                          .rest = "service: {health_check: /health}\n"}
                                     .text());
    EXPECT_EQ(spec.image_pull_secrets, std::vector<std::string>{"reg"});
    EXPECT_EQ(spec.gpu_type, "A100-80G");
    EXPECT_EQ(spec.gpu.memory, Bytes{20LL << 30});
    EXPECT_EQ(spec.service.health_check, "/health");
}

TEST(Acceptance, A13_and_B9_variables_have_their_own_names_and_numbers_are_text) {
    const JobSpec spec = spec_of(with_environment(
        "{image: i, env: [{name: MODEL_NAME, value: bert-base-uncased}, {name: PORT, value: "
        "6379}]}"));
    EXPECT_EQ(spec.environment,
              (std::vector<EnvironmentVariable>{{"MODEL_NAME", "bert-base-uncased", ""},
                                                {"PORT", "6379", ""}}));
}

TEST(Acceptance, B14_and_B15_a_notebook_has_port_8888_or_its_own) {
    EXPECT_EQ(spec_of(of_kind("notebook")).service.port, 8888);
    EXPECT_EQ(spec_of(of_kind("notebook", "service: {port: 9999}\n")).service.port, 9999);
}

}  // namespace
}  // namespace gpuctl::wire
