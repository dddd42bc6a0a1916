// Whole replays of the small synthetic files in tests/golden/replay against golden results. A
// result changes only with the world, a planner or a metric: review it before accepting it.

#include "bench/replay/command_line.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace gpuctl::replay {
namespace {

const std::string kFolder = std::string{GPUCTL_SOURCE_DIR} + "/tests/golden/replay/";

struct Case {
    std::string golden;
    std::vector<std::string> arguments;  // "@x" is replaced by the path of file x in the folder
};

Answer answer(std::vector<std::string> arguments) {
    for (std::string& argument : arguments) {
        if (argument.starts_with("@")) argument = kFolder + argument.substr(1);
    }
    return answer_command(arguments);
}

std::string without_times(const std::string& json) {
    auto object = nlohmann::ordered_json::parse(json);
    EXPECT_TRUE(object.contains("wall_s"));
    EXPECT_TRUE(object.contains("decisions_per_second"));
    object.erase("wall_s");
    object.erase("engine_s");
    object.erase("decisions_per_second");
    return object.dump(2) + "\n";
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, replay_gives_the_golden_figures) {
    std::vector<std::string> arguments = GetParam().arguments;
    arguments.insert(arguments.end(), {"-o", "json"});
    const Answer given = answer(arguments);
    ASSERT_EQ(given.exit_code, 0) << given.complaint;
    std::ifstream stream(kFolder + GetParam().golden);
    std::ostringstream kept;
    kept << stream.rdbuf();
    EXPECT_EQ(without_times(given.output), kept.str()) << "in " << GetParam().golden;
}

INSTANTIATE_TEST_SUITE_P(
    Replay, Golden,
    testing::Values(
        Case{"philly64_fifo.json", {"philly64", "--jobs", "@philly64.csv", "--policy", "fifo"}},
        Case{"philly64_srsf.json",
             {"philly64", "--jobs", "@philly64.csv", "--policy", "srsf", "--clairvoyant"}},
        Case{"philly64_srtf_muri.json",
             {"philly64", "--jobs", "@philly64.csv", "--policy", "srtf", "--clairvoyant",
              "--overhead", "muri"}},
        Case{"backfill_easy.json", {"backfill", "--jobs", "@backfill.csv", "--policy", "easy"}},
        Case{"backfill_easy_sjbf.json",
             {"backfill", "--jobs", "@backfill.csv", "--policy", "easy_sjbf"}},
        Case{"backfill_engine.json", {"backfill", "--jobs", "@backfill.csv"}},
        Case{"backfill_engine_clairvoyant.json",
             {"backfill", "--jobs", "@backfill.csv", "--clairvoyant"}},
        Case{"philly64_engine.json", {"philly64", "--jobs", "@philly64.csv", "--clairvoyant"}},
        Case{"fairness_engine.json",
             {"fairness", "--jobs", "@fairness.csv", "--gpus", "4", "--policy", "engine"}},
        Case{"vc_engine.json",
             {"vc", "--jobs", "@vc.csv", "--quotas", "@vc_quotas.csv", "--nodes-count", "2"}},
        Case{"fairness_srtf.json",
             {"fairness", "--jobs", "@fairness.csv", "--gpus", "4", "--policy", "srtf",
              "--clairvoyant"}},
        Case{"elastic_tiresias.json",
             {"elastic", "--jobs", "@elastic.csv", "--epochs", "@elastic_epochs.csv", "--gpus", "4",
              "--policy", "tiresias"}},
        Case{"elastic_engine.json",
             {"elastic", "--jobs", "@elastic.csv", "--epochs", "@elastic_epochs.csv", "--gpus",
              "4"}},
        Case{"vc_fifo.json",
             {"vc", "--jobs", "@vc.csv", "--quotas", "@vc_quotas.csv", "--nodes-count", "2",
              "--policy", "fifo"}},
        Case{"openb_engine.json",
             {"openb", "--jobs", "@openb_tasks.csv", "--nodes", "@openb_nodes.csv"}},
        Case{"openb_random.json",
             {"openb", "--jobs", "@openb_tasks.csv", "--nodes", "@openb_nodes.csv", "--policy",
              "random", "--seed", "3"}},
        Case{"openb_best_fit.json",
             {"openb", "--jobs", "@openb_tasks.csv", "--nodes", "@openb_nodes.csv", "--policy",
              "best_fit"}},
        Case{"openb_fgd.json",
             {"openb", "--jobs", "@openb_tasks.csv", "--nodes", "@openb_nodes.csv", "--policy",
              "fgd", "--arrivals", "0.9"}}));

TEST(CommandLine, says_what_is_missing) {
    EXPECT_EQ(answer({"vc", "--jobs", "@vc.csv", "--policy", "fifo"}).complaint,
              "replay: suite vc needs --quotas FILE\n");
    EXPECT_EQ(answer({"nonsense"}).complaint, "replay: there is no suite `nonsense`\n");
    EXPECT_EQ(answer({"all"}).complaint, "replay: `all` needs --data DIR\n");
    EXPECT_EQ(answer({"all"}).exit_code, 2);
    EXPECT_EQ(answer({"philly64", "--jobs", "/nonexistent"}).complaint,
              "replay: read /nonexistent: No such file or directory\n");
}

TEST(CommandLine, arrivals_are_a_number) {
    for (const char* share : {"nan", "inf", "-1", "0", "1.3x", "101"}) {
        const Answer given = answer({"openb", "--jobs", "@openb_tasks.csv", "--nodes",
                                     "@openb_nodes.csv", "--arrivals", share});
        EXPECT_EQ(given.exit_code, 2) << share;
        EXPECT_EQ(given.complaint, "replay: --arrivals: `" + std::string{share} +
                                       "` is not a number between 0.01 and 100\n");
    }
}

TEST(CommandLine, whole_numbers_are_digits_in_their_range) {
    for (const char* seed : {"-1", "18446744073709551616", "1.5", "0x10", "+1"}) {
        const Answer given = answer(
            {"openb", "--jobs", "@openb_tasks.csv", "--nodes", "@openb_nodes.csv", "--seed", seed});
        EXPECT_EQ(given.exit_code, 2) << seed;
        EXPECT_EQ(given.complaint, "replay: --seed: `" + std::string{seed} +
                                       "` is not a whole number between 0 and "
                                       "18446744073709551615\n");
    }
    for (const char* gpus : {"-4", "0", "1000001", "4294967300", "99999999999999999999"}) {
        EXPECT_EQ(answer({"fairness", "--jobs", "@fairness.csv", "--gpus", gpus}).exit_code, 2);
    }
    const std::vector<std::string> fairness{"fairness", "--jobs", "@fairness.csv", "-o", "json"};
    std::vector<std::string> of_ten = fairness;
    of_ten.insert(of_ten.end(), {"--gpus", "010"});  // not in octal
    std::vector<std::string> same = fairness;
    same.insert(same.end(), {"--gpus", "10"});
    EXPECT_EQ(without_times(answer(of_ten).output), without_times(answer(same).output));
}

TEST(CommandLine, the_largest_seed_is_one_seed) {
    const Answer given =
        answer({"openb", "--jobs", "@openb_tasks.csv", "--nodes", "@openb_nodes.csv", "--seed",
                "18446744073709551615", "--policy", "best_fit", "-o", "json"});
    ASSERT_EQ(given.exit_code, 0) << given.complaint;
    EXPECT_EQ(nlohmann::json::parse(given.output).at("seeds"), 1);
}

TEST(CommandLine, a_file_without_jobs_has_no_figures) {
    const std::string path = testing::TempDir() + "no_jobs.csv";
    std::ofstream(path) << "workload,job,submit_s,app,rigid_gpus,rigid_batch,rigid_run_s\n";
    const Answer given = answer({"elastic", "--jobs", path, "--epochs", "@elastic_epochs.csv"});
    EXPECT_EQ(given.exit_code, 1);
    EXPECT_EQ(given.complaint, "replay: " + path + " has no jobs\n");
}

TEST(CommandLine, an_unused_flag_is_reported_and_ignored) {
    const Answer given = answer({"vc", "--jobs", "@vc.csv", "--quotas", "@vc_quotas.csv",
                                 "--arrivals", "2", "--seed", "4", "--epochs", "/nonexistent",
                                 "--nodes", "/nonexistent", "-o", "json"});
    EXPECT_EQ(given.exit_code, 0);
    EXPECT_TRUE(nlohmann::json::accept(given.output));
    EXPECT_EQ(given.complaint,
              "replay: --nodes means nothing for suite vc and is not used\n"
              "replay: --epochs means nothing for suite vc and is not used\n"
              "replay: --seed means nothing for suite vc and is not used\n"
              "replay: --arrivals means nothing for suite vc and is not used\n");
    EXPECT_EQ(answer({"openb", "--jobs", "@openb_tasks.csv", "--nodes", "@openb_nodes.csv",
                      "--seed", "1", "--gpus", "5", "--overhead", "muri"})
                  .complaint,
              "replay: --gpus means nothing for suite openb and is not used\n"
              "replay: --overhead means nothing for suite openb and is not used\n");
    EXPECT_EQ(answer({"all", "--data", "/nonexistent", "--gpus", "5"}).complaint.substr(0, 54),
              "replay: --gpus means nothing for suite all and is not ");
}

TEST(CommandLine, all_runs_what_is_there_and_names_what_is_not) {
    namespace fs = std::filesystem;
    const fs::path data = fs::path(::testing::TempDir()) / "replay_all";
    fs::create_directories(data / "fairness32");
    fs::copy_file(kFolder + "fairness.csv", data / "fairness32" / "jobs.csv",
                  fs::copy_options::overwrite_existing);
    const Answer given = answer({"all", "--data", data.string()});
    fs::remove_all(data);
    EXPECT_EQ(given.exit_code, 1);
    EXPECT_NE(given.output.find("| fairness | fairness32/jobs.csv | engine |"), std::string::npos);
    EXPECT_EQ(given.output.find("kth_sp2"), std::string::npos);
    EXPECT_NE(given.complaint.find("/kth_sp2/"), std::string::npos) << given.complaint;
}

TEST(CommandLine, policy_that_reads_the_future_must_be_allowed_to) {
    const Answer given = answer({"philly64", "--jobs", "@philly64.csv", "--policy", "srtf"});
    EXPECT_EQ(given.exit_code, 1);
    EXPECT_EQ(given.complaint, "replay: policy srtf reads true run times; say --clairvoyant\n");
}

}  // namespace
}  // namespace gpuctl::replay
