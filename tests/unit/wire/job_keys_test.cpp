// The table of keys: the readers follow it, and so do explain-yaml and docs/yaml.md.

#include <cstdlib>
#include <fstream>

#include "unit/wire/job_document_support.hpp"
#include "wire/job/job_keys.hpp"

namespace gpuctl::wire {
namespace {

using KeyJson = nlohmann::json;

constexpr JobKind kAllKinds[] = {JobKind::training, JobKind::inference, JobKind::notebook,
                                 JobKind::compute};

// The smallest document of a kind, with this value (YAML) at a path of the table.
KeyJson document_with(JobKind kind, std::string_view path, const std::string& value) {
    KeyJson document = KeyJson::parse(
        R"({"job": {"name": "a"}, "environment": {"image": "i"},
            "resources": {"cpu": 1, "memory": "1Gi"}})");
    document["kind"] = to_string(kind);
    std::string pointer;
    for (std::string_view rest = path;;) {
        const std::size_t dot = std::min(rest.find('.'), rest.size());
        std::string part{rest.substr(0, dot)};
        const bool is_element = part.ends_with("[]");
        if (is_element) part.resize(part.size() - 2);
        pointer += "/" + (part == "NAME" ? std::string{"cache"} : part) + (is_element ? "/0" : "");
        if (dot == rest.size()) break;
        rest.remove_prefix(dot + 1);
    }
    const auto parsed = parse_yaml(value);
    EXPECT_TRUE(parsed.has_value()) << path << ": " << value;
    document[KeyJson::json_pointer{pointer}] = parsed->at(0).root;
    if (path.starts_with("elastic.")) {
        document["elastic"].emplace("minReplicas", 1);
        document["elastic"].emplace("maxReplicas", 10'000);
    }
    if (path.starts_with("model.")) document["model"].emplace("name", "m");
    if (path.starts_with("storage.NAME.")) {
        document["storage"]["cache"].emplace("mountPath", "/cache");
        document["storage"]["cache"].emplace("size", "1Gi");
    }
    if (path.starts_with("environment.env[]")) document["environment"]["env"][0]["name"] = "A";
    if (path == "autoscaling.minReplicas") document["autoscaling"]["maxReplicas"] = 10'000;
    return document;
}

std::string findings_with(JobKind kind, const JobKey& key, const std::string& value) {
    const auto document = parse_json(document_with(kind, key.path, value).dump());
    const auto decoded = decode_job(*document, {});
    return decoded ? joined(decoded->warnings) : "error " + joined(decoded.error().details);
}

Result<std::string> explained(std::string_view what) {
    const Result<KeyOfKind> found = find_key_of_kind(what);
    if (!found) return found.error();
    return explain_job_key(*found);
}

TEST(JobKeys, every_example_is_accepted_by_every_kind_that_has_the_key) {
    for (const JobKey& key : job_keys()) {
        if (key.example.empty() || key.path == "kind") continue;
        for (const JobKind kind : kAllKinds) {
            if (!key.kinds.has(kind)) continue;
            const bool is_fixed = kind == JobKind::notebook && key.path == "service.replicas";
            const std::string value = is_fixed ? "1" : std::string{key.example};
            const std::string found = findings_with(kind, key, value);
            EXPECT_FALSE(found.starts_with("error")) << key.path << ": " << value << "\n" << found;
            EXPECT_FALSE(holds(found, "unknown key")) << found;
        }
    }
}

TEST(JobKeys, whole_numbers_are_read_within_the_bounds_of_the_table) {
    for (const JobKey& key : job_keys()) {
        if (key.type != "whole number") continue;
        ASSERT_NE(key.high, 0) << key.path;
        for (const JobKind kind : kAllKinds) {
            if (!key.kinds.has(kind)) continue;
            const std::string below = findings_with(kind, key, std::to_string(key.low - 1));
            const std::string above = findings_with(kind, key, std::to_string(key.high + 1));
            const std::string range =
                "from " + std::to_string(key.low) + " to " + std::to_string(key.high);
            EXPECT_TRUE(holds(below, range)) << key.path << " " << below;
            EXPECT_TRUE(holds(above, range)) << key.path << " " << above;
            if (kind == JobKind::notebook && key.path == "service.replicas") continue;
            const std::string highest = findings_with(kind, key, std::to_string(key.high));
            EXPECT_FALSE(highest.starts_with("error")) << key.path << " " << highest;
        }
    }
}

TEST(JobKeys, choices_are_those_of_the_table_and_all_are_named_when_another_word_is_written) {
    for (const JobKey& key : job_keys()) {
        if (key.choices.empty() || key.path == "kind") continue;
        for (std::string_view rest = key.choices; !rest.empty();) {
            const std::string choice{rest.substr(0, rest.find(' '))};
            for (const JobKind kind : kAllKinds) {
                if (!key.kinds.has(kind)) continue;
                EXPECT_FALSE(findings_with(kind, key, choice).starts_with("error"))
                    << key.path << ": " << choice;
                const std::string wrong = findings_with(kind, key, "sideways");
                EXPECT_TRUE(holds(wrong, choice) && holds(wrong, "not \"sideways\"")) << wrong;
            }
            rest.remove_prefix(std::min(choice.size() + 1, rest.size()));
        }
    }
}

TEST(JobKeys, an_absent_key_that_is_required_is_reported_with_an_example) {
    const std::string problems = problems_of(
        "kind: training\njob: {}\nenvironment: {}\n"
        "resources: {cpu: 1}\nstorage: {cache: {}}\n");
    for (const char* missing :
         {"job.name is missing; write, for example, name: llm-sft",
          "environment.image is missing; write, for example, image: registry.example.com",
          "resources.memory is missing; write, for example, memory: 32Gi",
          "storage.cache.size is missing; write, for example, size: 100Gi"}) {
        EXPECT_TRUE(holds(problems, missing)) << problems;
    }
}

TEST(JobKeys, a_key_in_a_wrong_section_is_reported_with_its_place) {
    EXPECT_TRUE(holds(
        warnings_of(Sections{.kind = "inference", .resources = "{cpu: 1, memory: 1Gi, replicas: 2}"}
                        .text()),
        "unknown key \"replicas\" here; its place is service.replicas"));
    EXPECT_TRUE(holds(warnings_of(of_kind("training", "gpu: 1\n")),
                      "unknown key \"gpu\" here; its place is resources.gpu"));
    EXPECT_TRUE(
        holds(warnings_of(of_kind("training", "healthCheck: /x\n")), "unknown key \"healthCheck\""))
        << "training has no such key anywhere";
}

TEST(JobKeys, a_section_of_another_kind_is_not_used_and_a_warning_names_its_kinds) {
    EXPECT_TRUE(holds(warnings_of(of_kind("training", "autoscaling: {enabled: true}\n")),
                      "autoscaling is not used: it is for kind inference"));
    EXPECT_TRUE(holds(warnings_of(of_kind("inference", "output: {resumeFromCheckpoint: true}\n")),
                      "output is not used: it is for kind training"));
}

TEST(JobKeys, the_old_header_metadata_is_read_as_job) {
    const std::string text =
        "kind: training\nmetadata: {name: old}\nenvironment: {image: i}\n"
        "resources: {cpu: 1, memory: 1Gi}\n";
    EXPECT_EQ(spec_of(text).key.name, "old");
    EXPECT_EQ(warnings_of(text), "");
}

TEST(ExplainYaml, shows_every_key_of_every_kind_in_any_spelling) {
    for (const JobKey& key : job_keys()) {
        for (const JobKind kind : kAllKinds) {
            const std::string name{to_string(kind)};
            const auto text = explained(name + "." + std::string{key.path});
            EXPECT_EQ(text.has_value(), key.kinds.has(kind)) << name << "." << key.path;
            if (!text) {
                EXPECT_TRUE(
                    holds(text.error().message, "is not a key of this kind; it is one of "));
                continue;
            }
            EXPECT_TRUE(holds(*text, std::string{key.type})) << *text;
            EXPECT_TRUE(holds(*text, std::string{key.standard})) << *text;
        }
    }
    EXPECT_TRUE(explained("Inference.resources.gpu_type").has_value());
    EXPECT_TRUE(explained("training.metadata").has_value());
    EXPECT_TRUE(explained("training.storage.data.size").has_value());
}

TEST(ExplainYaml, of_one_key_has_its_type_default_bounds_and_an_example) {
    EXPECT_EQ(explained("inference.service.port").value(),
              "inference.service.port\n\n"
              "  Port of the Service.\n\n"
              "Type:     whole number\n"
              "Required: no\n"
              "Default:  8000, notebook 8888\n"
              "Allowed:  1 to 65535\n"
              "Kinds:    inference, notebook, compute\n\n"
              "Example:\n"
              "  service: {port: 8000}\n");
}

TEST(ExplainYaml, of_a_wrong_word_names_the_nearest_key) {
    const auto message = [](const char* what) { return explained(what).error().message; };
    EXPECT_TRUE(holds(message("trainnig"), "did you mean training?"));
    EXPECT_TRUE(holds(message("pool"), "training, inference, notebook or compute"));
    EXPECT_TRUE(holds(message("training.resources.gpuTpye"), "training.resources.gpuType?"));
    EXPECT_TRUE(holds(message("training.gpu"), "did you mean training.resources.gpu?"));
    EXPECT_TRUE(holds(message("training.service"), "inference, notebook, compute"));
    EXPECT_TRUE(holds(message("training.zzz"), "`gpuctl explain-yaml training` lists the keys"));
}

TEST(JobKeys, the_page_is_docs_yaml) {
    if (std::getenv("GPUCTL_UPDATE_GOLDEN") != nullptr) {
        std::ofstream{source_path("docs/yaml.md")} << job_keys_page();
    }
    EXPECT_EQ(job_keys_page(), read_source("docs/yaml.md"));
}

}  // namespace
}  // namespace gpuctl::wire
