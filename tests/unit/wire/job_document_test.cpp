// How a job document is read: keys, defaults, problems and their places.

#include "unit/wire/job_document_support.hpp"

namespace gpuctl::wire {
namespace {

TEST(JobDocument, a_minimal_job_gets_every_default) {
    const JobSpec spec = spec_of(Sections{}.text());
    EXPECT_EQ(spec.kind, JobKind::training);
    EXPECT_EQ(spec.version, "v0.1");
    EXPECT_EQ(spec.key, (ObjectKey{"default", "a"}));
    EXPECT_EQ(spec.priority, JobPriority::medium);
    EXPECT_FALSE(spec.preemptible);
    EXPECT_EQ(spec.pool, "");
    EXPECT_EQ(spec.gpu, GpuRequest{});
    EXPECT_EQ(spec.cpu, CpuMilli{1000});
    EXPECT_EQ(spec.memory, Bytes{1 << 30});
    EXPECT_EQ(spec.replicas_min, 1);
    EXPECT_EQ(spec.replicas_max, 1);
}

TEST(JobDocument, every_documented_field_is_decoded) {
    const JobSpec spec = spec_of(R"yaml(
kind: inference
version: v1
job: {name: chat-a, namespace: team-x, priority: high, description: 服务, queue: prod,
      preemptible: true, maxRunTime: 4h, expectedRunTime: 90s}
environment:
  image: repo/img:tag
  imagePullSecret: [reg, reg2]
  command: [run, 1, true]
  args: [--x, ""]
  env:
    - {name: A, value: 1.10}
    - {B: two, C: 3}
    - {name: D, valueFrom: {secretKeyRef: {name: s, key: k}}}
    - {name: E}
service: {replicas: 3, port: 80, targetPort: 8080, protocol: udp, type: clusterip,
          healthCheck: /health, timeout: 5s}
resources: {pool: infer, gpu: "2(nvidia,A100)", gpuType: A100-80G, cpu: 1.5, memory: 32Gi}
storage:
  workdirs: [{path: /data/models/}, /x//y/./z]
  cache: {mountPath: /cache, size: 100Gi, storageClass: fast}
)yaml");
    EXPECT_EQ(spec.version, "v1");
    EXPECT_EQ(spec.key, (ObjectKey{"team-x", "chat-a"}));
    EXPECT_EQ(spec.priority, JobPriority::high);
    EXPECT_EQ(spec.description, "服务");
    EXPECT_EQ(spec.queue, "prod");
    EXPECT_TRUE(spec.preemptible);
    EXPECT_EQ(spec.run_time_max, Duration{4 * 3'600'000});
    EXPECT_EQ(spec.run_time_expected, Duration{90'000});
    EXPECT_EQ(spec.image_pull_secrets, (std::vector<std::string>{"reg", "reg2"}));
    EXPECT_EQ(spec.command, (std::vector<std::string>{"run", "1", "true"}));
    EXPECT_EQ(spec.args, (std::vector<std::string>{"--x", ""}));
    ASSERT_EQ(spec.environment.size(), 5u);
    EXPECT_EQ(spec.environment[0], (EnvironmentVariable{"A", "1.10", ""}));
    EXPECT_EQ(spec.environment[1], (EnvironmentVariable{"B", "two", ""}));
    EXPECT_EQ(spec.environment[3].value_from_json, R"({"secretKeyRef":{"key":"k","name":"s"}})");
    EXPECT_EQ(spec.environment[4], (EnvironmentVariable{"E", "", ""}));
    EXPECT_EQ(spec.service,
              (ServiceSpec{3, 80, 8080, "UDP", "ClusterIP", "/health", Duration{5000}}));
    EXPECT_EQ(spec.replicas_min, 3);
    EXPECT_EQ(spec.replicas_max, 3);
    EXPECT_EQ(spec.pool, "infer");
    EXPECT_EQ(spec.gpu, parse_gpu_string("2(A100)").value());
    EXPECT_EQ(spec.gpu_type, "A100-80G");
    EXPECT_EQ(spec.cpu, CpuMilli{1500});
    EXPECT_EQ(spec.workdirs, (std::vector<std::string>{"/data/models", "/x/y/z"}));
    ASSERT_EQ(spec.claims.size(), 1u);
    EXPECT_EQ(spec.claims[0], (VolumeClaim{"cache", "/cache", Bytes{100ll << 30}, "fast"}));
}

TEST(JobDocument, kebab_snake_and_camel_keys_are_the_same_key) {
    const JobSpec spec = spec_of(R"(
kind: Training
job: {name: a, max-run-time: 1h}
environment: {image: i, image_pull_secret: s}
resources: {accelerator_count: 2, gpu-type: T4, cpu: 8000m, memory: 4gi, node_count: 3,
            pool: default-pool}
)");
    EXPECT_EQ(spec.run_time_max, Duration{3'600'000});
    EXPECT_EQ(spec.image_pull_secrets, std::vector<std::string>{"s"});
    EXPECT_EQ(spec.gpu.count, 2);
    EXPECT_EQ(spec.gpu_type, "T4");
    EXPECT_EQ(spec.cpu, CpuMilli{8000});
    EXPECT_EQ(spec.memory, Bytes{4ll << 30});
    EXPECT_EQ(spec.replicas_min, 3);
    EXPECT_EQ(spec.pool, "") << "default-pool means the default pool";
    EXPECT_TRUE(
        holds(problems_of(with_resources("{cpu: 1, memory: 1Gi, gpu-type: T4, gpuType: T4}")),
              "are the same key"));
}

TEST(JobDocument, all_problems_are_reported_at_once_in_document_order) {
    const std::string problems = problems_of(R"(kind: training
job:
  name: Bad_Name
  priority: urgent
environment:
  command: python train.py
resources:
  gpu: 1.5
  cpu: 0
  memory: lots
)");
    EXPECT_EQ(
        problems,
        "3:3 /job/name job.name \"Bad_Name\" has a 'B' in it; use lower-case letters, digits "
        "and hyphens\n"
        "4:3 /job/priority job.priority must be high, medium or low, not \"urgent\"\n"
        "5:1 /environment environment.image is missing; write, for example, image: "
        "registry.example.com/team/train:v1\n"
        "6:3 /environment/command environment.command must be a list, for example "
        "[\"python\", \"train.py\"]\n"
        "8:3 /resources/gpu resources.gpu \"1.5\" is not a GPU request: at character 2 "
        "(\".\"): a fraction is only possible below one GPU; ask for whole GPUs\n"
        "9:3 /resources/cpu resources.cpu must be more than 0 and at most 100000 cores, not "
        "0\n"
        "10:3 /resources/memory resources.memory must be a quantity such as 32Gi or 500M, not "
        "\"lots\"\n");
    const auto decoded = decode("kind: training\njob: {name: a}\n");
    EXPECT_EQ(decoded.error().message,
              "job a: line 1, column 1: environment is missing (and 1 more)");
}

TEST(JobDocument, a_refusal_opens_with_an_error_and_counts_no_warning) {
    const auto documents = parse_yaml(
        "kind: training\njob: {name: el1, epochs: 3}\nenvironment: {image: i}\n"
        "resources: {cpu: 1, memory: 1Gi}\nmodel: {name: foo}\nstorage:\n"
        "  workdirs: [{path: data}]\n");
    ASSERT_TRUE(documents.has_value());
    std::vector<Detail> warnings;
    const auto decoded = decode_job(documents->at(0), {}, &warnings);
    ASSERT_TRUE(decoded.has_error());
    EXPECT_EQ(decoded.error().details.size(), 1u) << joined(decoded.error().details);
    EXPECT_TRUE(holds(decoded.error().message, "must be absolute")) << decoded.error().message;
    EXPECT_FALSE(holds(decoded.error().message, "more)")) << decoded.error().message;
    EXPECT_TRUE(holds(joined(warnings), "model is not used: it is for kind inference"));
}

TEST(JobDocument, unknown_keys_warn_with_the_nearest_name_and_are_errors_when_strict) {
    const std::string text =
        with_resources("{cpu: 1, memory: 1Gi, gpu-tpye: A100}") + "unrelated: 1\n";
    const std::string warnings = warnings_of(text);
    EXPECT_TRUE(holds(warnings,
                      "4:34 /resources/gpu-tpye unknown key \"gpu-tpye\"; did you mean "
                      "gpuType?"))
        << warnings;
    EXPECT_TRUE(holds(warnings, "unknown key \"unrelated\"\n")) << warnings;
    JobDocumentOptions strict;
    strict.strict = true;
    EXPECT_TRUE(holds(problems_of(text, strict), "did you mean gpuType?"));
}

TEST(JobDocument, a_number_of_gpus_out_of_range_is_refused_with_the_range) {
    for (const char* count : {"-1", "\"-1\"", "1025"}) {
        const std::string problems =
            problems_of(with_resources("{cpu: 1, memory: 1Gi, gpu: " + std::string{count} + "}"));
        EXPECT_TRUE(holds(problems, "resources.gpu must be from 0 to 1024 for one pod, not "))
            << problems;
    }
}

TEST(JobDocument, keys_that_do_nothing_for_the_job_are_accepted_with_a_warning) {
    const std::string warnings = warnings_of(R"(
kind: training
job: {name: a, epochs: 3, batch_size: 8}
environment: {image: i}
resources: {cpu: 1, memory: 1Gi, gpu: 1, gpuShare: 2Gi}
output: {resume_from_checkpoint: true}
service: {port: 80}
)");
    EXPECT_TRUE(
        holds(warnings, "output.resumeFromCheckpoint is stored with the job and not acted on yet"));
    EXPECT_TRUE(holds(
        warnings, "gpuShare is not used: it applies only when resources.gpu is a part of one GPU"));
    EXPECT_TRUE(holds(warnings, "service is not used: a training job has no Service"));
    EXPECT_TRUE(holds(problems_of(with_job("{name: a, epochs: 0}")), "job.epochs must be"));
}

TEST(Acceptance, B13_gpuShare_without_gpu_is_a_warning_and_requests_no_gpu) {
    const std::string text = with_resources("{cpu: 1, memory: 1Gi, gpuShare: 2Gi}");
    EXPECT_EQ(spec_of(text).gpu, GpuRequest{});
    EXPECT_TRUE(holds(warnings_of(text), "gpuShare is not used: the job requests no GPU"));
}

TEST(JobDocument, a_job_declares_its_cost_of_preemption) {
    const JobSpec spec = spec_of(
        with_job("{name: a, preemptible: true, checkpoint: {interval: 10m, restartCost: 90s}}"));
    EXPECT_TRUE(spec.preemptible);
    EXPECT_EQ(spec.checkpoint_interval, Duration::seconds(600));
    EXPECT_EQ(spec.restart_cost, Duration::seconds(90));
}

TEST(JobDocument, names_follow_the_rule_of_their_kind) {
    const auto name = [](const std::string& kind, std::size_t length) {
        Sections sections{.kind = kind, .job = "{name: " + std::string(length, 'a') + "}"};
        return problems_of(sections.text());
    };
    EXPECT_EQ(name("training", 63), "");
    EXPECT_TRUE(holds(name("training", 64), "has 64 characters; at most 63"));
    EXPECT_EQ(name("inference", 59), "");
    EXPECT_TRUE(holds(name("inference", 60), "at most 59"));
    EXPECT_EQ(name("compute", 59), "");
    EXPECT_TRUE(holds(name("compute", 60), "at most 59"));
    EXPECT_EQ(name("notebook", 52), "");
    EXPECT_TRUE(holds(name("notebook", 53), "at most 52"));
    for (const char* bad : {"1a", "a-", "-a", "a.b", "a_b", "A", "''", "a b", "名", "123"}) {
        EXPECT_NE(problems_of(with_job("{name: " + std::string{bad} + "}")), "") << bad;
    }
    EXPECT_TRUE(holds(problems_of(with_job("{name: [a]}")), "job.name must be text, not a list"));
    EXPECT_TRUE(holds(problems_of(with_job("{}")), "job.name is missing"));
    EXPECT_TRUE(holds(problems_of(with_job("a")), "job must be a map"));
    EXPECT_TRUE(holds(problems_of(with_job("{name: a, namespace: A}")), "job.namespace"));
}

TEST(JobDocument, the_namespace_of_the_document_wins_over_the_default) {
    JobDocumentOptions options;
    options.default_namespace = "team-y";
    EXPECT_EQ(spec_of(with_job("{name: a}"), options).key.namespace_name, "team-y");
    EXPECT_EQ(spec_of(with_job("{name: a, namespace: b}"), options).key.namespace_name, "b");
}

TEST(JobDocument, a_job_of_low_priority_is_preemptible_by_default) {
    EXPECT_TRUE(spec_of(with_job("{name: a, priority: LOW}")).preemptible);
    EXPECT_FALSE(spec_of(with_job("{name: a, priority: low, preemptible: false}")).preemptible);
    EXPECT_FALSE(spec_of(with_job("{name: a, priority: \"high\"}")).preemptible);
    EXPECT_TRUE(holds(problems_of(with_job("{name: a, preemptible: maybe}")), "true or false"));
    EXPECT_TRUE(holds(problems_of(with_job("{name: a, priority: 5}")), "not \"5\""));
}

TEST(JobDocument, durations_need_a_unit) {
    EXPECT_EQ(spec_of(with_job("{name: a, maxRunTime: 1h30m}")).run_time_max, Duration{5'400'000});
    EXPECT_EQ(spec_of(with_job("{name: a, maxRunTime: 2d}")).run_time_max, Duration{172'800'000});
    for (const char* bad : {"90", "-1s", "1.5h", "1w", "s", "1m1h", "1s1s", "999999999999d", "[1s]",
                            "99999999999999999999s"}) {
        EXPECT_TRUE(holds(problems_of(with_job("{name: a, maxRunTime: " + std::string{bad} + "}")),
                          "/job/maxRunTime"))
            << bad;
    }
}

TEST(JobDocument, run_times_must_be_possible) {
    EXPECT_TRUE(holds(problems_of(with_job("{name: a, maxRunTime: 0s}")), "longer than 0s"));
    EXPECT_TRUE(holds(problems_of(with_job("{name: a, maxRunTime: 1h, expectedRunTime: 2h}")),
                      "/job/expectedRunTime"));
    EXPECT_EQ(problems_of(with_job("{name: a, maxRunTime: 1h, expectedRunTime: 1h}")), "");
}

TEST(JobDocument, a_name_leaves_room_for_the_index_of_the_last_rank) {
    const auto problems = [](std::size_t length, int ranks) {
        Sections sections;
        sections.job = "{name: " + std::string(length, 'a') + "}";
        sections.resources = "{cpu: 1, memory: 1Gi, nodeCount: " + std::to_string(ranks) + "}";
        return problems_of(sections.text());
    };
    EXPECT_EQ(problems(63, 1), "") << "one rank needs no index";
    EXPECT_TRUE(holds(problems(62, 2), "with 2 ranks at most 59"));
    EXPECT_EQ(problems(59, 10), "") << "svc-aaa has 63 characters";
    EXPECT_TRUE(holds(problems(60, 10), "with 10 ranks at most 59"));
    EXPECT_EQ(problems(57, 10'000), "") << "aaa-9999 has 62 characters";
    EXPECT_TRUE(holds(problems(60, 10'000), "with 10000 ranks at most 58"));
}

TEST(JobDocument, environment_variables_are_checked) {
    EXPECT_EQ(spec_of(with_environment("{image: i, env: {A: 1, B: true}}")).environment,
              (std::vector<EnvironmentVariable>{{"A", "1", ""}, {"B", "true", ""}}));
    const auto problem = [](const std::string& env) {
        return problems_of(with_environment("{image: i, env: " + env + "}"));
    };
    EXPECT_TRUE(holds(problem("[{name: A, value: 1}, {A: 2}]"), "variable A is given twice"));
    EXPECT_TRUE(holds(problem("[{name: 1A, value: x}]"), "not start with a digit"));
    EXPECT_TRUE(holds(problem("[{A=B: x}]"), "variable name"));
    EXPECT_TRUE(holds(problem("[{name: A, value: [x]}]"), "must be text, not a list"));
    EXPECT_TRUE(holds(problem("[{A: {x: y}}]"), "must be text, not a map"));
    EXPECT_TRUE(holds(problem("[{name: A, value: x, valueFrom: {a: b}}]"), "give one"));
    EXPECT_TRUE(holds(problem("[A=1]"), "must be a map of keys and values, not text"));
    EXPECT_TRUE(holds(problem("A"), "must be a list, not text"));
    EXPECT_TRUE(holds(problems_of(with_environment("{image: 'a b'}")), "environment.image"));
    EXPECT_TRUE(holds(problems_of(with_environment("{image: ''}")), "environment.image"));
    EXPECT_TRUE(holds(problems_of(with_environment("{image: i, imagePullSecret: A_B}")),
                      "imagePullSecret"));
    EXPECT_TRUE(holds(problems_of(with_environment("{image: i, args: [{a: b}]}")),
                      "environment.args.0 must be text, not a map"));
}

TEST(JobDocument, other_kinds_say_what_to_do_instead) {
    const auto refusal = [](const std::string& text) {
        const auto decoded = decode(text);
        EXPECT_TRUE(decoded.has_error()) << text;
        return std::string{to_string(decoded.error().code)} + ": " + decoded.error().message;
    };
    EXPECT_TRUE(holds(refusal("kind: pool\npool: {name: a}\n"),
                      "UnsupportedKind: line 1: kind pool is no job: send it to /api/v1/pools"));
    EXPECT_TRUE(holds(refusal("kind: resource\n"), "is no job"));
    EXPECT_TRUE(holds(refusal("kind: quota\n"), "kind quota is no job: send it to /api/v1/quotas"));
    EXPECT_TRUE(holds(refusal("kind: trainning\n"), "did you mean training?"));
    EXPECT_TRUE(holds(refusal("kind: xyz\n"), "training, inference, notebook or compute"));
    EXPECT_TRUE(holds(refusal("apiVersion: v1\nkind: Pod\n"), "Kubernetes object"));
    EXPECT_TRUE(holds(refusal("job: {name: a}\n"), "ValidationFailed: line 1: kind is missing"));
    EXPECT_TRUE(holds(refusal("kind: [a]\n"), "kind must be text"));
    EXPECT_TRUE(holds(refusal("- a\n"), "is a map of keys and values, not a list"));
    EXPECT_TRUE(holds(refusal("just text\n"), "not text"));
}

TEST(JobDocument, json_documents_decode_like_yaml) {
    const auto document = parse_json(
        R"json({"kind": "training", "job": {"name": "a"}, "environment": {"image": "i"},
            "resources": {"cpu": 0.5, "memory": "1Gi", "gpu": "2(V100)"}})json");
    const auto decoded = decode_job(document.value(), {});
    ASSERT_TRUE(decoded.has_value()) << joined(decoded.error().details);
    EXPECT_EQ(decoded->spec.cpu, CpuMilli{500});
    EXPECT_EQ(decoded->spec.gpu_type, "V100");
}

}  // namespace
}  // namespace gpuctl::wire
