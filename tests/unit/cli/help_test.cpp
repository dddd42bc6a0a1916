// The help texts are part of the interface: each is a golden file under tests/golden/help. To
// accept a change, run with GPUCTL_UPDATE_GOLDEN=1 and read the diff.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/application.hpp"
#include "cli/grammar.hpp"

namespace gpuctl::cli {
namespace {

struct HelpCase {
    std::string file;
    std::vector<std::string> path;
};

class Help : public testing::TestWithParam<HelpCase> {};

TEST_P(Help, is_what_the_golden_file_says) {
    const std::string golden =
        std::string{GPUCTL_SOURCE_DIR} + "/tests/golden/help/" + GetParam().file + ".txt";
    const std::string text = help_text(GetParam().path);
    if (std::getenv("GPUCTL_UPDATE_GOLDEN") != nullptr) std::ofstream{golden} << text;
    std::ifstream file{golden};
    ASSERT_TRUE(file) << golden << " is missing";
    std::ostringstream expected;
    expected << file.rdbuf();
    EXPECT_EQ(text, expected.str());
}

INSTANTIATE_TEST_SUITE_P(
    Every, Help,
    testing::Values(
        HelpCase{"gpuctl", {}}, HelpCase{"create", {"create"}}, HelpCase{"get", {"get"}},
        HelpCase{"get-jobs", {"get", "jobs"}}, HelpCase{"get-pools", {"get", "pools"}},
        HelpCase{"get-nodes", {"get", "nodes"}}, HelpCase{"get-queues", {"get", "queues"}},
        HelpCase{"describe", {"describe"}}, HelpCase{"describe-job", {"describe", "job"}},
        HelpCase{"explain-job", {"explain", "job"}}, HelpCase{"delete", {"delete"}},
        HelpCase{"delete-job", {"delete", "job"}}, HelpCase{"logs", {"logs"}},
        HelpCase{"what-if", {"what-if"}}, HelpCase{"preview", {"preview"}},
        HelpCase{"apply", {"apply"}}, HelpCase{"diff", {"diff"}}, HelpCase{"scale", {"scale"}},
        HelpCase{"update", {"update"}}, HelpCase{"pause", {"pause"}},
        HelpCase{"resume", {"resume"}}, HelpCase{"label", {"label"}},
        HelpCase{"get-labels", {"get", "labels"}}, HelpCase{"add", {"add"}},
        HelpCase{"remove", {"remove"}}, HelpCase{"cordon", {"cordon"}},
        HelpCase{"uncordon", {"uncordon"}}, HelpCase{"drain", {"drain"}},
        HelpCase{"version", {"version"}}, HelpCase{"replay", {"replay"}},
        HelpCase{"get-events", {"get", "events"}}, HelpCase{"get-notebook", {"get", "notebook"}},
        HelpCase{"describe-pool", {"describe", "pool"}},
        HelpCase{"describe-node", {"describe", "node"}}, HelpCase{"cancel", {"cancel"}},
        HelpCase{"wait", {"wait"}}, HelpCase{"top", {"top"}}, HelpCase{"doctor", {"doctor"}},
        HelpCase{"config", {"config"}}, HelpCase{"config-get-contexts", {"config", "get-contexts"}},
        HelpCase{"config-use-context", {"config", "use-context"}},
        HelpCase{"config-current-context", {"config", "current-context"}},
        HelpCase{"config-view", {"config", "view"}}, HelpCase{"completion", {"completion"}},
        HelpCase{"exec", {"exec"}}, HelpCase{"attach", {"attach"}}, HelpCase{"cp", {"cp"}},
        HelpCase{"port-forward", {"port-forward"}}, HelpCase{"run", {"run"}},
        HelpCase{"explain-yaml", {"explain-yaml"}}, HelpCase{"migrate", {"migrate"}},
        HelpCase{"get-quotas", {"get", "quotas"}},
        HelpCase{"get-namespaces", {"get", "namespaces"}},
        HelpCase{"get-node-labels", {"get", "node-labels"}},
        HelpCase{"get-gpu-type", {"get", "gpu-type"}}, HelpCase{"query", {"query"}},
        HelpCase{"query-pools", {"query", "pools"}},
        HelpCase{"describe-quota", {"describe", "quota"}},
        HelpCase{"describe-namespace", {"describe", "namespace"}},
        HelpCase{"describe-queue", {"describe", "queue"}},
        HelpCase{"delete-pool", {"delete", "pool"}}, HelpCase{"delete-quota", {"delete", "quota"}},
        HelpCase{"delete-queue", {"delete", "queue"}},
        HelpCase{"delete-namespace", {"delete", "namespace"}}, HelpCase{"explain", {"explain"}}),
    [](const auto& info) {
        std::string name = info.param.file;
        for (char& c : name) {
            if (c == '-') c = '_';
        }
        return name;
    });

// All commands, also those that a golden file forgets.
void expect_examples_first(const CLI::App& command, const std::string& path) {
    const std::string text = command.help();
    const std::size_t usage = text.find("Usage: ");
    const std::size_t examples = text.find("\nExample");
    const std::size_t flags = std::min(text.find("\nOptions:"), text.find("\nPositionals:"));
    EXPECT_NE(examples, std::string::npos) << path << " --help has no example";
    EXPECT_LT(usage, examples) << path;
    EXPECT_LT(examples, flags) << path << ": examples come before flags";
    EXPECT_NE(text.find("\n  gpuctl "), std::string::npos) << path;
    for (const CLI::App* child : command.get_subcommands([](const CLI::App*) { return true; })) {
        expect_examples_first(*child, path + " " + child->get_name());
    }
}

TEST(HelpOrder, of_every_command_starts_with_examples) {
    CommandLine line;
    expect_examples_first(*build(line), "gpuctl");
}

}  // namespace
}  // namespace gpuctl::cli
