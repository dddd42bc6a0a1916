// A person's first hour: typical mistakes, one at a time. Each message alone is enough to mend the
// file: where, what is wrong, what to write.

#include "unit/wire/job_document_support.hpp"

namespace gpuctl::wire {
namespace {

struct Mistake {
    const char* name;
    const char* text;
    int line;
    int column;
    std::vector<const char*> message;  // each part is in it
};

// What `gpuctl create` would print, as line:column message; of several documents the file's check
// first.
std::string printed_for(const std::string& text) {
    const auto line = [](const Error& error) {
        std::string all;
        for (const Detail& detail : error.details) {
            all += std::to_string(detail.place.line) + ":" + std::to_string(detail.place.column) +
                   " " + detail.message + "\n";
        }
        return all.empty() ? error.message : all;
    };
    const auto documents = parse_yaml(text);
    if (!documents) return line(documents.error());
    if (const auto checked = check_stream(*documents); !checked) return line(checked.error());
    std::string warnings;
    for (const Document& document : *documents) {
        const auto decoded = decode_job(document, {});
        if (!decoded) return line(decoded.error());
        for (const Detail& warning : decoded->warnings) {
            warnings += std::to_string(warning.place.line) + ":" +
                        std::to_string(warning.place.column) + " " + warning.message + "\n";
        }
    }
    return warnings;
}

const Mistake kTypicalMistakes[] = {
    {"a TAB", "kind: training\njob:\n\tname: a\n", 3, 1, {"a TAB cannot indent", "use spaces"}},
    {"a stray backtick",
     "kind: training\njob: {name: a}\nenvironment:\n  image: i\n  args: [a, b]`\n",
     5,
     15,
     {"stray backtick", "remove it"}},
    {"a wrong indent",
     "kind: training\njob:\n  name: a\n   priority: high\n",
     4,
     12,
     {"':' is not allowed here", "check the line before"}},
    {"an unknown kind",
     "kind: train\njob: {name: a}\n",
     1,
     1,
     {"unknown kind \"train\"", "training, inference, notebook or compute"}},
    {"a kind with a typing error",
     "kind: infrence\njob: {name: a}\n",
     1,
     1,
     {"unknown kind \"infrence\"", "did you mean inference?"}},
    {"gpu as a word",
     "kind: training\njob: {name: a}\nenvironment: {image: i}\n"
     "resources:\n  cpu: 1\n  memory: 1Gi\n  gpu: two\n",
     7,
     3,
     {"resources.gpu \"two\"", "a number of GPUs is expected, for example 2, 0.5"}},
    {"replicas in the wrong section",
     "kind: inference\njob: {name: a}\nenvironment: {image: i}\n"
     "resources:\n  cpu: 1\n  memory: 1Gi\n  replicas: 2\n",
     7,
     3,
     {"unknown key \"replicas\" here", "its place is service.replicas"}},
    {"memory in gb",
     "kind: training\njob: {name: a}\nenvironment: {image: i}\n"
     "resources:\n  cpu: 1\n  memory: 32gb\n",
     6,
     3,
     {"resources.memory must be a quantity", "\"32gb\"", "did you mean 32Gi?"}},
    {"no image",
     "kind: training\njob: {name: a}\nenvironment:\n  command: [python]\n"
     "resources: {cpu: 1, memory: 1Gi}\n",
     3,
     1,
     {"environment.image is missing", "write, for example, image: "}},
    {"a key twice",
     "kind: training\njob: {name: a}\nenvironment: {image: i}\n"
     "resources:\n  cpu: 1\n  memory: 1Gi\n  cpu: 2\n",
     7,
     3,
     {"the key \"cpu\" is already given at line 5"}},
    {"two jobs with one name",
     "kind: training\njob: {name: a}\nenvironment: {image: i}\n"
     "resources: {cpu: 1, memory: 1Gi}\n---\nkind: notebook\njob:\n  name: a\n",
     8,
     3,
     {"two jobs of this file are called a", "the first at line 2", "another name"}},
    {"a name in capitals",
     "kind: training\njob: {name: MyJob}\nenvironment: {image: i}\n"
     "resources: {cpu: 1, memory: 1Gi}\n",
     2,
     7,
     {"job.name \"MyJob\" has a 'M' in it", "use lower-case letters"}},
    {"a command as text",
     "kind: training\njob: {name: a}\nenvironment:\n  image: i\n  command: python x.py\n"
     "resources: {cpu: 1, memory: 1Gi}\n",
     5,
     3,
     {"environment.command must be a list, for example [\"python\", \"train.py\"]"}},
    {"a key with a typing error",
     "kind: training\njob: {name: a}\nenvironment: {image: i}\n"
     "resources:\n  cpu: 1\n  memory: 1Gi\n  gpuTyp: A100\n",
     7,
     3,
     {"unknown key \"gpuTyp\"", "did you mean gpuType?"}},
    {"a priority that does not exist",
     "kind: training\njob:\n  name: a\n  priority: urgent\nenvironment: {image: i}\n"
     "resources: {cpu: 1, memory: 1Gi}\n",
     4,
     3,
     {"job.priority must be high, medium or low", "\"urgent\""}},
    {"a bracket that is not closed",
     "kind: training\njob: {name: a}\nenvironment:\n  image: i\n  args: [a, b\n",
     6,
     1,
     {"a [ is not closed", "a comma or ] is missing"}},
    {"a port out of range",
     "kind: compute\njob: {name: a}\nenvironment: {image: i}\n"
     "resources: {cpu: 1, memory: 1Gi}\nservice:\n  port: 80000\n",
     6,
     3,
     {"service.port must be from 1 to 65535, not 80000"}},
    {"a document of Kubernetes",
     "apiVersion: batch/v1\nkind: Job\n",
     2,
     1,
     {"is a Kubernetes object, not a job document", "schedulerName gpuctl"}},
};

TEST(FirstHour, each_of_the_typical_mistakes_gets_a_message_that_says_where_what_and_what_instead) {
    for (const Mistake& mistake : kTypicalMistakes) {
        const std::string answer = printed_for(mistake.text);
        const std::string place =
            std::to_string(mistake.line) + ":" + std::to_string(mistake.column) + " ";
        EXPECT_TRUE(answer.starts_with(place)) << mistake.name << ": " << answer;
        for (const char* part : mistake.message) {
            EXPECT_TRUE(holds(answer, part)) << mistake.name << ": " << answer;
        }
    }
}

}  // namespace
}  // namespace gpuctl::wire
