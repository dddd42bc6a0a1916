// The resources of a job document: amounts, sizes, places, paths.

#include "unit/wire/job_document_support.hpp"
#include "wire/job/job_rules.hpp"

namespace gpuctl::wire {
namespace {

TEST(JobDocument, quantities_are_bounded) {
    const auto problem = [](const std::string& resources) {
        return problems_of(with_resources(resources));
    };
    EXPECT_TRUE(holds(problem("{cpu: -1, memory: 1Gi}"), "resources.cpu"));
    EXPECT_TRUE(holds(problem("{cpu: 100001, memory: 1Gi}"), "at most 100000 cores"));
    EXPECT_TRUE(holds(problem("{cpu: [1], memory: 1Gi}"),
                      "resources.cpu must be cores (8, 0.5) or millicores (500m), not a list"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 32}"), "is a unit such as Gi missing"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: -1Gi}"), "must be a quantity"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 2Pi}"), "at most 1Pi"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 9999999999Ei}"), "must be a quantity"));
    EXPECT_TRUE(holds(problem("{memory: 1Gi}"), "resources.cpu is missing"));
    EXPECT_TRUE(holds(problem("{cpu: 1}"), "resources.memory is missing"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, gpu: 1025}"), "from 0 to 1024"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, gpu: -2}"), "from 0 to 1024"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, gpu: [1]}"), "resources.gpu must be text"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, pool: Bad_Pool}"), "resources.pool"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, nodeCount: 0}"), "from 1 to 10000"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, nodeCount: 18446744073709551615}"), "from 1"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, nodeCount: two}"), "not \"two\""));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, gpuType: 'a b'}"), "resources.gpuType"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, gpuShare: lots}"), "resources.gpuShare"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, gpuShare: 20}"), "a unit such as Gi"));
    EXPECT_TRUE(holds(problem("{cpu: 1, memory: 1Gi, gpu: 0.9999}"), "at most three decimals"));
}

TEST(JobDocument, gpus_come_as_number_or_string_and_their_model_becomes_the_type) {
    EXPECT_EQ(spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 4}")).gpu.count, 4);
    EXPECT_EQ(spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: '4'}")).gpu.count, 4);
    EXPECT_EQ(spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 2.0}")).gpu.count, 2);
    const JobSpec typed = spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 2（V100）}"));
    EXPECT_EQ(typed.gpu_type, "V100");
    EXPECT_EQ(typed.gpu.resource, "nvidia.com/gpu");
    const JobSpec npu = spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 8(npu)}"));
    EXPECT_EQ(npu.gpu.resource, "huawei.com/Ascend910");
    EXPECT_EQ(npu.gpu_type, "");
    EXPECT_EQ(spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 1(mig-1g.10gb)}")).gpu.resource,
              "nvidia.com/mig-1g.10gb");
    EXPECT_TRUE(
        holds(problems_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 1(V100), gpuType: A100}")),
              "contradicts the model"));
}

TEST(JobDocument, several_gpu_types_are_a_list_with_the_preferred_one_first) {
    const JobSpec spec =
        spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 1, gpuType: [H100, A100-80G]}"));
    EXPECT_EQ(spec.gpu_type, "H100");
    EXPECT_EQ(spec.gpu_types_next, std::vector<std::string>{"A100-80G"});
    const JobSpec one = spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 1, gpuType: [H100]}"));
    EXPECT_TRUE(one.gpu_types_next.empty());
    const auto problem = [](const std::string& rest) {
        return problems_of(with_resources("{cpu: 1, memory: 1Gi, " + rest + "}"));
    };
    EXPECT_TRUE(holds(problem("gpu: 1, gpuType: [H100, h100]"), "lists \"h100\" twice"));
    EXPECT_TRUE(holds(problem("gpuType: [H100, A100]"), "resources.gpu requests no GPU"));
    EXPECT_TRUE(holds(problem("gpu: 1, gpuType: [H100, 'a b']"), "resources.gpuType \"a b\""));
    EXPECT_TRUE(holds(problem("gpu: 1(A100), gpuType: [A100-80G, H100]"), "contradicts the model"));
    EXPECT_TRUE(
        holds(problem("gpu: 1, gpuType: [a, b, c, d, e, f, g, h, i]"), "at most 8 are allowed"));
    EXPECT_TRUE(
        holds(problems_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 1, gpuType: [H100, A100]}") +
                          "placement: {spread: host}\n"),
              "not possible together with several models"));
}

TEST(JobDocument, a_mig_profile_that_does_not_exist_is_refused_with_those_that_do) {
    const auto problem = [](const std::string& rest) {
        return problems_of(with_resources("{cpu: 1, memory: 1Gi, " + rest + "}"));
    };
    EXPECT_TRUE(holds(problem("gpu: 1(mig-5g.40gb)"),
                      "no GPU has a MIG profile 5g.40gb; the nearest are 4g.40gb"));
    EXPECT_TRUE(holds(problem("gpu: 1(mig-1g.5gb), gpuType: H100-80GB"),
                      "H100-80GB has no MIG profile 1g.5gb; the nearest are 1g.10gb"));
    EXPECT_TRUE(holds(problem("gpu: 1(mig-1g.5gb), gpuType: [A100-40GB, A100-80GB]"),
                      "A100-80GB has no MIG profile 1g.5gb"));
    EXPECT_EQ(spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 2(mig-1g.5gb), gpuType: A100}"))
                  .gpu.resource,
              "nvidia.com/mig-1g.5gb");
}

TEST(JobDocument, shares_of_gpus_have_the_configured_size) {
    const JobSpec spec = spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 2(vgpu)}"));
    EXPECT_EQ(spec.gpu.mode, GpuMode::shared);
    EXPECT_EQ(spec.gpu.resource, "nvidia.com/gpu.shared");
    EXPECT_EQ(gpus_total(pod_request(spec)), whole_gpus(2));
    JobDocumentOptions options;
    options.gpu_replicas = 4;
    const auto documents = parse_yaml(with_resources("{cpu: 1, memory: 1Gi, gpu: 2(vgpu)}"));
    const auto quarter = decode_job(documents->front(), options);
    ASSERT_TRUE(quarter.has_value());
    EXPECT_EQ(gpus_total(pod_request(quarter->spec)), GpuMilli{500});
}

TEST(JobDocument, placement_sets_the_topology_rules) {
    const auto with = [](const std::string& placement, const std::string& kind = "training") {
        return "kind: " + kind + "\njob: {name: j}\nenvironment: {image: i, command: [x]}\n" +
               "resources: {cpu: 1, memory: 1Gi}\nplacement: " + placement + "\n";
    };
    const JobSpec spec =
        spec_of(with("{topology: {required: block, preferred: rack}, spread: host}"));
    EXPECT_EQ(spec.topology,
              (TopologyRules{TopologyLevel::block, TopologyLevel::rack, TopologyLevel::host}));
    EXPECT_FALSE(spec_of(with("{}")).topology.any());
    EXPECT_TRUE(holds(problems_of(with("{topology: {required: row}}")),
                      "must be host, nvlink, rack, block or none, not \"row\""));
    EXPECT_TRUE(holds(problems_of(with("{topology: {required: rack}, spread: block}")),
                      "spread must name a level inside it"));
    EXPECT_TRUE(holds(problems_of(with("{topology: {required: rack}}", "inference")),
                      "is for training jobs"));
}

TEST(JobDocument, ranks_on_several_nodes_prefer_a_rack_unless_the_document_has_rules) {
    JobDocumentOptions options;
    options.preferred_of_ranks = TopologyLevel::rack;
    const auto rules_of = [&options](const std::string& rest,
                                     const std::string& count = ", nodeCount: 2") {
        const auto documents = parse_yaml(
            "kind: training\njob: {name: j}\nenvironment: {image: i, command: [x]}\n"
            "resources: {cpu: 1, memory: 1Gi" +
            count + "}\n" + rest);
        const auto decoded = decode_job(documents->front(), options);
        EXPECT_TRUE(decoded.has_value()) << rest;
        return decoded ? decoded->spec.topology : TopologyRules{};
    };
    const TopologyRules rack{.preferred = TopologyLevel::rack};
    EXPECT_EQ(rules_of(""), rack);
    EXPECT_EQ(rules_of("placement: {}\n"), rack);
    EXPECT_EQ(rules_of("elastic: {minReplicas: 1, maxReplicas: 4}\n", ""), rack);
    EXPECT_FALSE(rules_of("", "").any()) << "one rank has no neighbour";
    EXPECT_FALSE(rules_of("placement: {topology: {preferred: none}}\n").any());
    EXPECT_EQ(rules_of("placement: {spread: rack}\n"),
              (TopologyRules{.spread = TopologyLevel::rack}));
    EXPECT_EQ(rules_of("placement: {topology: {required: host}}\n"),
              (TopologyRules{.required = TopologyLevel::host}));
    options.preferred_of_ranks = TopologyLevel::none;
    EXPECT_FALSE(rules_of("").any());
}

// A stored job without rules stays one when its document is read again.
TEST(JobDocument, a_gang_without_rules_is_written_with_none_of_them) {
    JobDocumentOptions options;
    options.preferred_of_ranks = TopologyLevel::rack;
    const JobSpec spec = spec_of(
        "kind: training\njob: {name: j}\nenvironment: {image: i, command: [x]}\n"
        "resources: {cpu: 1, memory: 1Gi, nodeCount: 2}\n");
    const auto documents = parse_yaml(encode_job(spec).dump());
    EXPECT_EQ(decode_job(documents->front(), options)->spec, spec);
}

TEST(JobDocument, a_part_of_a_gpu_is_requested_as_a_fraction) {
    const JobSpec half = spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 0.5}"));
    EXPECT_EQ(half.gpu.mode, GpuMode::fraction);
    EXPECT_EQ(half.gpu.amount, GpuMilli{500});
    EXPECT_EQ(half.gpu.resource, "nvidia.com/gpu");
    EXPECT_EQ(spec_of(with_resources("{cpu: 1, memory: 1Gi, gpu: 0.25(V100)}")).gpu_type, "V100");
    const std::pair<const char*, const char*> refused[] = {
        {"-1", "shared, which is not supported yet"},
        {"'8G,0.5'", "no GPU model is named"},
        {"1.5", "resources.gpu"}};
    for (const auto& [text, why] : refused) {
        EXPECT_TRUE(holds(
            problems_of(with_resources("{cpu: 1, memory: 1Gi, gpu: " + std::string{text} + "}")),
            why))
            << text;
    }
}

TEST(JobDocument, a_part_of_a_gpu_is_requested_by_its_memory) {
    const auto gpu_of = [](const std::string& gpus) {
        return spec_of(with_resources("{cpu: 1, memory: 1Gi, " + gpus + "}")).gpu;
    };
    const GpuRequest quarter = gpu_of("gpuShare: 20Gi, gpuType: A100-80G");
    EXPECT_EQ(quarter.mode, GpuMode::fraction);
    EXPECT_EQ(quarter.amount, GpuMilli{250});
    EXPECT_EQ(quarter.memory, Bytes{20ll << 30});
    EXPECT_EQ(gpu_of("gpu: '20Gi,0.1(A100)', gpuType: A100-80G"), [&] {
        GpuRequest same = quarter;
        same.model = "A100";
        return same;
    }());
    EXPECT_EQ(gpu_of("gpu: '20Gi,0.4', gpuType: A100-80G").amount, GpuMilli{400});
    EXPECT_EQ(gpu_of("gpu: 0.1, gpuShare: 20Gi, gpuType: A100-80G").amount, GpuMilli{250});
    EXPECT_EQ(gpu_of("gpuShare: 20Gi, gpuType: [A100-80G, A100-40G]").amount, GpuMilli{500});
    const GpuRequest whole = gpu_of("gpuShare: 16Gi, gpuType: T4");
    EXPECT_EQ(whole.mode, GpuMode::exclusive);
    EXPECT_EQ(whole.count, 1);
    const std::pair<const char*, const char*> refused[] = {
        {"gpu: '20Gi,0.1'", "name a model such as A100-80G"},
        {"gpuShare: 20Gi, gpuType: warp-9", "the name \"warp-9\" does not say"},
        {"gpuShare: 100Gi, gpuType: A100-80G", "a GPU \"A100-80G\" has 80Gi"},
        {"gpuShare: 0, gpuType: A100-80G", "must be an amount of GPU memory"},
        {"gpu: '8Gi,0.5', gpuShare: 9Gi, gpuType: A100", "different amounts of memory"}};
    for (const auto& [gpus, why] : refused) {
        EXPECT_TRUE(holds(
            problems_of(with_resources("{cpu: 1, memory: 1Gi, " + std::string{gpus} + "}")), why))
            << gpus;
    }
}

TEST(JobDocument, services_follow_the_rule_of_their_kind) {
    EXPECT_EQ(spec_of(of_kind("inference")).service.port, 8000);
    EXPECT_EQ(spec_of(of_kind("notebook")).service.port, 8888);
    EXPECT_EQ(spec_of(of_kind("notebook", "service: {port: 80}\n")).service.port, 80);
    EXPECT_EQ(spec_of(of_kind("compute", "service: {replicas: 0}\n")).replicas_max, 0);
    EXPECT_TRUE(holds(problems_of(of_kind("notebook", "service: {replicas: 2}\n")), "always 1"));
    EXPECT_TRUE(holds(problems_of(of_kind("compute", "service: {port: 0}\n")), "from 1 to 65535"));
    EXPECT_TRUE(holds(problems_of(of_kind("compute", "service: {port: 65536}\n")), "65535"));
    EXPECT_TRUE(holds(problems_of(of_kind("compute", "service: {port: http}\n")), "\"http\""));
    EXPECT_TRUE(holds(problems_of(of_kind("compute", "service: {replicas: -1}\n")), "from 0"));
    EXPECT_TRUE(holds(problems_of(of_kind("compute", "service: {healthCheck: health}\n")),
                      "starts with /"));
    EXPECT_TRUE(holds(problems_of(of_kind("compute", "service: {type: Magic}\n")), "NodePort"));
    EXPECT_TRUE(holds(problems_of(of_kind("compute", "service: [80]\n")), "service must be a map"));
}

TEST(JobDocument, an_elastic_job_has_a_range_of_sizes) {
    const std::string text = of_kind("training", "elastic: {minReplicas: 2, maxReplicas: 30}\n");
    const JobSpec elastic = spec_of(text);
    EXPECT_EQ(elastic.replicas_min, 2);
    EXPECT_EQ(elastic.replicas_max, 30);
    EXPECT_EQ(warnings_of(text), "");
    const std::string rigid = of_kind("training", "elastic: {minReplicas: 2, maxReplicas: 2}\n");
    EXPECT_EQ(spec_of(rigid).replicas_max, 2);
    EXPECT_EQ(warnings_of(rigid), "");
}

TEST(JobDocument, an_elastic_job_has_a_speedup_curve) {
    const std::string text =
        of_kind("training",
                "elastic: {minReplicas: 2, maxReplicas: 16, speedup: {2: 1, 16: 5.25, 4: 1.9}}\n");
    EXPECT_EQ(problems_of(text), "");
    EXPECT_EQ(spec_of(text).speeds, (std::vector<SizeSpeed>{{2, 1'000}, {4, 1'900}, {16, 5'250}}));
    EXPECT_EQ(warnings_of(text), "");
}

TEST(JobDocument, an_impossible_speedup_curve_is_refused) {
    const auto problem = [](const std::string& speedup) {
        return problems_of(of_kind(
            "training", "elastic: {minReplicas: 2, maxReplicas: 8, speedup: " + speedup + "}\n"));
    };
    EXPECT_TRUE(
        holds(problem("{2: 1, 9: 3}"), "by number of ranks, 2 to 8 of this job, not \"9\""));
    EXPECT_TRUE(holds(problem("{2: 1, many: 3}"), "not \"many\""));
    EXPECT_TRUE(holds(problem("{2: 1, 4: fast}"),
                      "elastic.speedup.4 must be the speed relative to minReplicas"));
    EXPECT_TRUE(holds(problem("{2: 1, 4: -2}"), "elastic.speedup.4 must be"));
    EXPECT_TRUE(holds(problem("{2: 1, 4: 0}"), "elastic.speedup.4 must be"));
    EXPECT_TRUE(holds(problem("{4: 1.9}"), "must have 2: 1"));
    EXPECT_TRUE(holds(problem("{2: 2, 4: 3.8}"), "must have 2: 1"));
    EXPECT_TRUE(holds(problem("fast"), "must be a map"));
    const std::string rigid =
        of_kind("training", "elastic: {minReplicas: 2, maxReplicas: 2, speedup: {2: 1}}\n");
    EXPECT_TRUE(holds(warnings_of(rigid), "elastic.speedup is not used: the job has one size"));
    EXPECT_TRUE(spec_of(rigid).speeds.empty());
}

TEST(JobDocument, elastic_and_node_count_set_the_ranks) {
    const auto problem = [](const std::string& kind, const std::string& elastic_text) {
        return problems_of(of_kind(kind, "elastic: " + elastic_text + "\n"));
    };
    EXPECT_TRUE(holds(problem("training", "{minReplicas: 4, maxReplicas: 2}"), "is more than"));
    EXPECT_TRUE(holds(problem("training", "{minReplicas: 1}"), "elastic.maxReplicas is missing"));
    EXPECT_TRUE(holds(problem("inference", "{minReplicas: 1, maxReplicas: 2}"), "training jobs"));
    Sections both{.resources = "{cpu: 1, memory: 1Gi, nodeCount: 3}",
                  .rest = "elastic: {minReplicas: 2, maxReplicas: 4}\n"};
    EXPECT_TRUE(holds(problems_of(both.text()), "contradicts resources.nodeCount"));
    Sections inference{.kind = "inference", .resources = "{cpu: 1, memory: 1Gi, nodeCount: 2}"};
    EXPECT_TRUE(holds(problems_of(inference.text()), "use service.replicas"));
}

TEST(JobDocument, host_paths_stay_absolute_and_below_the_allowed_roots) {
    const auto problem = [](const std::string& path, const JobDocumentOptions& options = {}) {
        return problems_of(of_kind("training", "storage: {workdirs: [{path: " + path + "}]}\n"),
                           options);
    };
    EXPECT_EQ(problem("/datasets/alpaca-qwen.json"), "");
    EXPECT_TRUE(holds(problem("data"), "must be absolute"));
    EXPECT_TRUE(holds(problem("/a/../etc"), "may not hold \"..\""));
    EXPECT_TRUE(holds(problem("/a/.."), "may not hold \"..\""));
    EXPECT_TRUE(holds(problem("/"), "root of the file system"));
    EXPECT_TRUE(holds(problem("//."), "root of the file system"));
    EXPECT_TRUE(holds(problem("'/a:b'"), "':'"));
    EXPECT_TRUE(holds(problem("''"), "is empty"));
    JobDocumentOptions options;
    options.host_path_roots = std::vector<std::string>{"/data/", "/home/x"};
    EXPECT_EQ(problem("/data", options), "");
    EXPECT_EQ(problem("/data/a", options), "");
    EXPECT_TRUE(holds(problem("/database", options), "not below an allowed one (/data/, /home/x)"));
    EXPECT_TRUE(holds(problem("/home", options), "not below an allowed one"));
    EXPECT_TRUE(holds(problem("/./etc/passwd", options), "not below an allowed one"));
    options.host_path_roots = std::vector<std::string>{};
    EXPECT_TRUE(holds(problem("/data", options), "hostPathRoots in gpuctld.yaml allows no path"));
    EXPECT_TRUE(holds(problems_of(of_kind("training", "storage: {c: {size: 1Gi}}\n")),
                      "storage.c.mountPath is missing"));
    EXPECT_TRUE(holds(problems_of(of_kind("training", "storage: {c: {mountPath: /a, size: 0}}\n")),
                      "storage.c.size"));
    EXPECT_TRUE(holds(problems_of(of_kind("training", "storage: {workdirs: /a}\n")),
                      "storage.workdirs must be a list"));
}

TEST(HostPaths, directories_that_control_the_host_need_a_root_of_their_own) {
    using Roots = std::vector<std::string>;
    EXPECT_EQ(problem_with_host_path("/data/a", Roots{"/"}), "");
    for (const char* path : {"/etc", "/etc/passwd", "/var", "/var/run/docker.sock", "/proc/1",
                             "/sys", "/root/.ssh", "/run", "/dev/sda", "/boot"}) {
        EXPECT_TRUE(holds(problem_with_host_path(path, Roots{"/"}), "gives control over the host"))
            << path;
    }
    EXPECT_EQ(problem_with_host_path("/etc/nginx/conf.d/a", Roots{"/etc/nginx/conf.d"}), "");
    EXPECT_EQ(problem_with_host_path("/etc/nginx", Roots{"/etc"}), "");
    EXPECT_TRUE(holds(problem_with_host_path("/etc/ssh", Roots{"/", "/etc/nginx"}), "(/etc)"));
    EXPECT_TRUE(holds(problem_with_host_path("/var/run/x", Roots{"/var"}), "(/var/run)"));
    EXPECT_EQ(problem_with_host_path("/var", Roots{"/var"}), "") << "named itself";
    EXPECT_EQ(problem_with_host_path("/var/www", Roots{"/var"}), "");
    EXPECT_EQ(problem_with_host_path("/etcd", Roots{"/"}), "") << "another name";
}

}  // namespace
}  // namespace gpuctl::wire
