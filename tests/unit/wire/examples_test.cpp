// The documents under config/examples: the good ones decode, the broken ones get exact errors.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "daemon/config/load.hpp"
#include "scheduler/model/node.hpp"
#include "unit/wire/support.hpp"
#include "wire/job/job_document.hpp"

namespace gpuctl::wire {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_of(const std::string& directory) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(source_path(directory))) {
        if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

bool is_job(const std::string& name) { return name.rfind("gpuctld", 0) != 0; }

DecodedJob job_of(const std::string& name, const JobDocumentOptions& options = {}) {
    const auto documents = parse_yaml(read_source("config/examples/" + name));
    EXPECT_TRUE(documents.has_value()) << name << ": " << documents.error().message;
    EXPECT_EQ(documents->size(), 1u) << name;
    const auto decoded = decode_job(documents->at(0), options);
    EXPECT_TRUE(decoded.has_value()) << name << ":\n" << joined(decoded.error().details);
    return decoded.has_value() ? *decoded : DecodedJob{};
}

TEST(Examples, there_are_the_seven_samples_two_gangs_and_a_rack_and_each_says_what_it_shows) {
    std::vector<std::string> jobs;
    for (const std::string& name : files_of("config/examples")) {
        EXPECT_EQ(read_source("config/examples/" + name).substr(0, 2), "# ") << name;
        if (is_job(name)) jobs.push_back(name);
    }
    EXPECT_EQ(jobs, (std::vector<std::string>{
                        "compute.yaml", "elastic-training.yaml", "gang-training.yaml",
                        "inference.yaml", "models-training.yaml", "notebook.yaml",
                        "product-inference.yaml", "product-notebook.yaml", "product-training.yaml",
                        "topology-training.yaml", "training.yaml"}));
}

TEST(Examples, every_job_decodes_strictly_and_no_two_have_the_same_key) {
    JobDocumentOptions strict;
    strict.strict = true;
    std::map<ObjectKey, std::string> seen;
    for (const std::string& name : files_of("config/examples")) {
        if (!is_job(name)) continue;
        const DecodedJob job = job_of(name, strict);
        EXPECT_TRUE(seen.emplace(job.spec.key, name).second) << name;
        for (const Detail& warning : job.warnings) {
            EXPECT_NE(warning.message.find("gpuShare"), std::string::npos) << name;
        }
    }
}

TEST(Examples, the_samples_keep_their_names_pools_and_images) {
    const JobSpec training = job_of("training.yaml").spec;
    EXPECT_EQ(training.key.name, "qwen2-7b-llamafactory-sft");
    EXPECT_EQ(training.pool, "training-pool");
    EXPECT_EQ(training.image, "registry.example.com/llama-factory-deepspeed:v0.8.0");
    EXPECT_EQ(training.gpu.count, 4);
    EXPECT_EQ(training.gpu_type, "A100-100G");
    EXPECT_EQ(training.workdirs.size(), 5u);
    const JobSpec inference = job_of("inference.yaml").spec;
    EXPECT_EQ(inference.key.name, "llama3-8b-inference");
    EXPECT_EQ(inference.pool, "inference-pool");
    EXPECT_EQ(inference.replicas_min, 2);
    EXPECT_EQ(inference.service.health_check, "/health");
    const JobSpec notebook = job_of("notebook.yaml").spec;
    EXPECT_EQ(notebook.key.name, "data-prep-notebook");
    EXPECT_EQ(notebook.service.port, 8888);
    const JobSpec product = job_of("product-notebook.yaml").spec;
    EXPECT_EQ(product.service.port, 8000);
    EXPECT_EQ(product.service.target_port, 8888) << "Jupyter listens there";
    const JobSpec compute = job_of("compute.yaml").spec;
    EXPECT_EQ(compute.key.name, "test-nginx");
    EXPECT_EQ(compute.gpu.mode, GpuMode::none);
    const JobSpec gang = job_of("gang-training.yaml").spec;
    EXPECT_EQ(gang.replicas_min, 2);
    EXPECT_EQ(gang.gpu.count, 8);
    const JobSpec elastic = job_of("elastic-training.yaml").spec;
    EXPECT_EQ(elastic.replicas_min, 1);
    EXPECT_EQ(elastic.replicas_max, 4);
}

// Per pool: the nodes, and how many of them can hold one pod of the job.
std::int64_t pods_that_fit(const JobSpec& spec, const std::vector<config::EmbeddedNodes>& nodes) {
    std::int64_t fit = 0;
    for (const config::EmbeddedNodes& group : nodes) {
        const std::string pool = spec.pool.empty() ? kDefaultPool : spec.pool;
        if (group.pool != pool) continue;
        PlacementRules rules;
        set_gpu_models(spec, rules);
        if (!takes_gpu_model(rules, group.gpu_model)) continue;
        if (spec.cpu > CpuMilli{group.cpu_cores * 1000}) continue;
        if (spec.memory > Bytes{group.memory_gib << 30}) continue;
        const std::int64_t per_node =
            spec.gpu.count == 0 ? 1 : group.gpus / std::max<std::int64_t>(spec.gpu.count, 1);
        fit += group.count * per_node;
    }
    return fit;
}

TEST(Examples, every_job_fits_the_default_nodes_and_those_of_the_example_configuration) {
    const auto example = config::parse(read_source("config/examples/gpuctld.yaml"), "gpuctld.yaml");
    ASSERT_TRUE(example.has_value()) << example.error().message;
    for (const std::string& name : files_of("config/examples")) {
        if (!is_job(name)) continue;
        const JobSpec spec = job_of(name).spec;
        EXPECT_GE(pods_that_fit(spec, config::default_nodes()), spec.replicas_min) << name;
        EXPECT_GE(pods_that_fit(spec, example->cluster.embedded.nodes), spec.replicas_min) << name;
        bool declared = false;
        for (const PoolPolicy& pool : example->policy.pools) {
            if (pool.name != spec.pool) continue;
            declared = spec.queue.empty();
            for (const QueuePolicy& queue : pool.queues) declared |= queue.name == spec.queue;
        }
        EXPECT_TRUE(declared) << name << ": its pool and queue must be declared";
    }
}

TEST(Examples, the_kubernetes_configuration_allows_every_host_path_of_the_samples) {
    const auto loaded =
        config::parse(read_source("config/examples/gpuctld-kubernetes.yaml"), "gpuctld.yaml");
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    JobDocumentOptions options;
    options.host_path_roots = loaded->cluster.kubernetes.host_path_roots;
    ASSERT_FALSE(options.host_path_roots->empty());
    for (const std::string& name : files_of("config/examples")) {
        if (is_job(name)) (void)job_of(name, options);
    }
}

// The errors of reading a broken file: parse, whole-file check, then each document.
std::string answer_to(const std::string& name) {
    const std::string text = read_source("config/examples/broken/" + name);
    std::vector<Document> documents;
    if (name.find(".json") != std::string::npos) {
        auto document = parse_json(text);
        if (document.has_error()) return document.error().message;
        documents.push_back(std::move(*document));
    } else {
        auto parsed = parse_yaml(text);
        if (parsed.has_error()) return parsed.error().message;
        documents = std::move(*parsed);
    }
    if (const auto checked = check_stream(documents); checked.has_error()) {
        return checked.error().message;
    }
    for (const Document& document : documents) {
        const auto decoded = decode_job(document, {});
        if (decoded.has_error()) return decoded.error().message;
    }
    return "accepted";
}

TEST(Examples, every_broken_original_gets_a_message_that_says_what_to_change) {
    const std::map<std::string, std::string> answers = {
        {"backtick.yaml",
         "cannot read the YAML document: line 11, column 155: a stray backtick (`): no value can "
         "start with it; remove it or put the text in quotes"},
        {"create-body.json",
         "cannot read the JSON document: line 2, column 84: JSON has no comments"},
        {"elided.yaml", "job qwen2-7b-sft: line 1, column 1: environment is missing (and 1 more)"},
        {"pool-node-twice.yaml",
         "line 22: node node1 is in pool inference-pool here and in pool train-pool at line 9; a "
         "node belongs to at most one pool"},
        // YAML reads a line that holds nothing but a TAB as empty.
        {"pool-tab.yaml", "line 1: kind resource is no job: send it to /api/v1/pools"},
        {"pool.yaml",
         "line 1: kind pool is no job: send it to /api/v1/pools, as `gpuctl create -f` does"},
        {"quota.yaml",
         "line 1: kind quota is no job: send it to /api/v1/quotas, as `gpuctl create -f` does"},
        {"tab-indent.yaml",
         "cannot read the YAML document: line 5, column 1: a TAB cannot indent YAML; use spaces"},
    };
    for (const std::string& name : files_of("config/examples/broken")) {
        const auto it = answers.find(name);
        ASSERT_NE(it, answers.end()) << name << " has no expected message here";
        EXPECT_EQ(answer_to(name).substr(0, it->second.size()), it->second) << name;
    }
    EXPECT_EQ(files_of("config/examples/broken").size(), answers.size());
}

}  // namespace
}  // namespace gpuctl::wire
