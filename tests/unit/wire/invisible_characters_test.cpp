// Invisible characters are named by code point and place wherever they would change a value's
// meaning, and byte order marks are ignored where a document may begin.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "daemon/config/load.hpp"
#include "unit/wire/job_document_support.hpp"
#include "wire/job/job_rules.hpp"

namespace gpuctl::wire {
namespace {

const std::string kBom = "\xef\xbb\xbf";
const std::string kJob =
    "kind: training\njob: {name: a}\nenvironment: {image: i}\nresources: {cpu: 1, memory: 1Gi}\n";

std::string unreadable(const std::string& text) {
    const auto documents = parse_yaml(text);
    return documents ? "readable" : documents.error().message;
}

TEST(ByteOrderMarks, begin_any_document_of_a_stream) {
    for (const std::string& stream :
         {kBom + kJob, kBom + kJob + "---\n" + kBom + kJob, kJob + kBom + "---\n" + kJob,
          kBom + "# one\n" + kJob + "---\n# two\n" + kBom + kJob,
          kJob + "...\n" + kBom + "%YAML 1.2\n---\n" + kBom + kJob, kBom + kBom + kJob,
          kBom + "---\r\n" + kBom + kJob}) {
        const auto documents = parse_yaml(stream);
        ASSERT_TRUE(documents) << documents.error().message;
        for (const Document& document : *documents) {
            const auto job = decode_job(document, {});
            EXPECT_TRUE(job) << job.error().message;
        }
    }
    EXPECT_EQ(parse_yaml(kJob + "---\n" + kBom + kJob)->size(), 2u);
    EXPECT_EQ(parse_yaml(kJob + "---\n" + kBom + kJob)->at(1).place_of("/kind").line, 6);
    EXPECT_TRUE(parse_json(kBom + "{}"));
}

TEST(ByteOrderMarks, in_the_middle_of_a_document_are_named) {
    const std::string message = unreadable(kJob + kBom + "kind: training\n");
    EXPECT_TRUE(holds(message, "line 5, column 1")) << message;
    EXPECT_TRUE(holds(message, "U+FEFF ZERO WIDTH NO-BREAK SPACE (byte order mark)")) << message;
    EXPECT_TRUE(holds(unreadable(std::string{"\xff\xfek\0i\0", 6}), "UTF-16"));
    EXPECT_EQ(without_byte_order_marks(kJob), kJob);
    EXPECT_EQ(without_byte_order_marks("a: |\n  " + kBom + "x\n"), "a: |\n  " + kBom + "x\n");
}

TEST(InvisibleCharacters, in_keys_are_refused_with_their_place) {
    const std::pair<std::string, std::string> table[] = {
        {"kind: training\njo\u200bb: {name: a}\n", "line 2, column 3: this key contains U+200B"},
        {"job:\n\u00a0\u00a0name: x\n", "line 2, column 1"},
        {"{\"jo\\u200bb\": 1}", "this key contains U+200B ZERO WIDTH SPACE"},
        {"a: {b: 1, c\u2028: 2}\n", "line 1, column 12: this key contains U+2028 LINE SEPARATOR"},
    };
    for (const auto& [text, expected] : table) {
        EXPECT_TRUE(holds(unreadable(text), expected)) << unreadable(text);
    }
    const auto json = parse_json("{\"job\": {\"na\u00adme\": 1}}");
    ASSERT_FALSE(json);
    EXPECT_TRUE(holds(json.error().message, "column 13: this key contains U+00AD SOFT HYPHEN"))
        << json.error().message;
}

TEST(InvisibleCharacters, that_yaml_takes_for_letters_are_named_in_its_errors) {
    for (const std::string& text :
         {std::string{"kind: training\njob:\u00a0{name: a}\n"},
          std::string{"kind: training\njob:\n  name:\u00a0x\n  queue: y\n"}}) {
        const std::string message = unreadable(text);
        EXPECT_TRUE(holds(message, "U+00A0 NO-BREAK SPACE")) << message;
    }
    const auto job = decode("kind:\u00a0training\n");
    ASSERT_FALSE(job);
    EXPECT_TRUE(holds(job.error().message, "it contains U+00A0 NO-BREAK SPACE"))
        << job.error().message;
}

struct InvisibleRow {
    std::string text;
    const char* problem;
};

TEST(InvisibleCharacters, in_names_quantities_and_choices_are_errors_at_their_place) {
    const InvisibleRow table[] = {
        {"kind: trai\u200bning\n",
         "1:11 /kind kind contains U+200B ZERO WIDTH SPACE at line 1, "
         "column 11; remove it"},
        {with_job("{name: a\u200bb}"), "2:14 /job/name job.name contains U+200B"},
        {with_job("{name: a, priority: 'high\u00a0'}"), "2:31 /job/priority"},
        {with_job("{name: a, queue: q\u202e}"), "U+202E RIGHT-TO-LEFT OVERRIDE"},
        {with_job("{name: a, maxRunTime: 4\u00a0h}"), "job.maxRunTime contains U+00A0"},
        {with_job("{name: a, preemptible: tru\u200be}"), "job.preemptible contains U+200B"},
        {with_resources("{cpu: 1, memory: 1Gi\u200b}"), "resources.memory contains U+200B"},
        {with_resources("{cpu: \u20031, memory: 1Gi}"), "resources.cpu contains U+2003 EM SPACE"},
        {with_resources("{cpu: 1, memory: 1Gi, gpu: 2\u00a0}"), "resources.gpu contains U+00A0"},
        {with_resources("{cpu: 1, memory: 1Gi, nodeCount: 2\u00a0}"), "nodeCount contains U+00A0"},
        {with_resources("{cpu: 1, memory: 1Gi, gpuType: [A100, T4\u200b]}"), "gpuType.1 contains"},
        {with_environment("{image: \"a:b\u00ad\"}"), "environment.image contains U+00AD"},
        {with_environment("{image: \"a:b\\u00ad\"}"), "environment.image contains U+00AD"},
        {with_environment("{image: i, env: [{name: \"A\u200b\", value: x}]}"), "U+200B"},
        {with_environment("{image: i, env: {\"A\u3000\": x}}"), "U+3000 IDEOGRAPHIC SPACE"},
        {of_kind("training", "storage: {workdirs: [/da\u200bta]}"), "workdirs.0 contains U+200B"},
        {of_kind("inference", "service: {healthCheck: \"/h\u2029\"}"), "U+2029"},
    };
    for (const InvisibleRow& row : table) {
        const auto job = decode(row.text);
        const std::string said =
            job ? "accepted" : job.error().message + "\n" + joined(job.error().details);
        EXPECT_TRUE(holds(said, row.problem)) << row.text << "\n -> " << said;
        EXPECT_FALSE(holds(said, "nodeCount must be")) << "one problem, reported once: " << said;
    }
}

TEST(InvisibleCharacters, in_commands_and_variables_are_passed_on_with_a_warning) {
    const std::string text = with_environment(
        "{image: i, command: [\"python\u00a0train.py\"], args: [\"a\u200bb\"], env: {A: "
        "\"x\u2028\"}}");
    const JobSpec spec = spec_of(text);
    EXPECT_EQ(spec.command.at(0), "python\u00a0train.py");
    EXPECT_EQ(spec.args.at(0), "a\u200bb");
    EXPECT_EQ(spec.environment.at(0).value, "x\u2028");
    const std::string warnings = warnings_of(text);
    EXPECT_TRUE(holds(warnings,
                      "3:42 /environment/command/0 environment.command.0 contains U+00A0 "
                      "NO-BREAK SPACE at line 3, column 42; it is passed on unchanged"))
        << warnings;
    EXPECT_TRUE(holds(warnings, "environment.args.0 contains U+200B")) << warnings;
    EXPECT_TRUE(holds(warnings, "environment.env.A contains U+2028")) << warnings;
}

TEST(InvisibleCharacters, in_scripts_and_descriptions_are_accepted) {
    EXPECT_EQ(warnings_of("kind: training\njob:\n  name: a\n  description: \"\u00e0\u00a0la "
                          "\U0001f469\u200d\U0001f4bb\ufe0f\"\n"
                          "environment:\n  image: i\n  command:\n  - sh\n  - -c\n  - |\n    for i\n"
                          "    \tdo\nresources: {cpu: 1, memory: 1Gi}\n"),
              "");
}

TEST(InvisibleCharacters, in_the_daemons_file_and_environment_are_named) {
    using config::parse;
    const std::pair<const char*, const char*> table[] = {
        {"server: {port: 80\u00a0}", "test.yaml:1:18: server.port contains U+00A0 NO-BREAK SPACE"},
        {"server: {address: \"127.0.0.1\u200b\"}", "server.address contains U+200B"},
        {"policy: {pools: [{name: \"a\u200b\"}]}", "policy.pools.0.name contains U+200B"},
        {"cluster: {embedded: {nodes: [{name: a, labels: {x: \"y\u00ad\"}}]}}",
         "labels.x contains U+00AD"},
        {"logging: {level: \"info\u00a0\"}", "logging.level contains U+00A0"},
        {"names: {unhealthyConditions: [\"A\u200b\"]}", "unhealthyConditions.0 contains U+200B"},
        {"ser\u200bver: {port: 1}", "this key contains U+200B"},
    };
    for (const auto& [yaml, expected] : table) {
        const auto config = parse(yaml, "test.yaml");
        ASSERT_FALSE(config) << yaml;
        EXPECT_TRUE(holds(config.error().message, expected)) << config.error().message;
    }
    const auto config = parse("", "test.yaml", {{"GPUCTLD_SERVER_PORT", "80\u00a0"}});
    ASSERT_FALSE(config);
    EXPECT_TRUE(holds(config.error().message,
                      "environment variable GPUCTLD_SERVER_PORT: server.port contains U+00A0"))
        << config.error().message;
}

TEST(InvisibleCharacters, are_named_by_the_rules_of_names) {
    EXPECT_EQ(problem_with_label("team\u200b"),
              "contains U+200B ZERO WIDTH SPACE (character 5); remove it");
    EXPECT_TRUE(holds(problem_with_label_value("A100\u00a0"), "U+00A0"));
    EXPECT_TRUE(holds(problem_with_variable_name("A\u200b"), "U+200B"));
    EXPECT_TRUE(holds(problem_with_path("/a\u200b"), "U+200B"));
}

// The processor time of this process: other processes of a busy machine do not count.
std::clock_t cost_of_reading(std::size_t bytes) {
    std::string escaped = "{\"a\": [";
    while (escaped.size() < bytes) escaped += "\"\\u200b\",";
    escaped += "1]}";
    std::string args = "[";
    while (args.size() < bytes) args += "\"\u200b\",";
    args += "a]";
    const std::clock_t begin = std::clock();
    EXPECT_TRUE(parse_json(escaped));
    const auto job = decode(with_environment("{image: i, args: " + args + "}"));
    EXPECT_FALSE(job) << "more entries than there may be";
    return std::clock() - begin;
}

// A body of one MiB is read on the event loop: a search for each character through the whole body
// would cost 64 times as much for eight times the bytes.
TEST(InvisibleCharacters, cost_grows_with_the_size_of_the_document) {
    const std::clock_t of_an_eighth = cost_of_reading(80'000);
    EXPECT_LT(cost_of_reading(640'000), 32 * std::max<std::clock_t>(of_an_eighth, 1));
}

}  // namespace
}  // namespace gpuctl::wire
