#include "cli/grammar_change.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/usage_error.hpp"

namespace gpuctl::cli {
namespace {

constexpr std::int64_t kReplicasMax = 1'000'000;
constexpr const char* kChangedJob = "exact name of the job, also NAMESPACE/NAME";

void add_apply(CLI::App& app, CommandLine& line, const SharedGrammar& shared) {
    CLI::App* command = app.add_subcommand(
        "apply", "create what YAML files say, or change it to that: jobs, pools, quotas, queues");
    command->footer(
        "Examples:\n"
        "  gpuctl apply -f chat.yaml\n"
        "  gpuctl apply -f pool.yaml -f quota.yaml    those of a file all together, or none\n"
        "  gpuctl apply -f chat.yaml --dry-run        created, updated, unchanged or recreated?\n"
        "  gpuctl apply -f train.yaml --recreate      for fields that cannot change in place\n"
        "What is the same already is not written. A change of a field that cannot change in place\n"
        "is refused without --recreate; everything is checked before anything is deleted.");
    command
        ->add_option("-f,--file", line.apply.files, "file, several files, or - for standard input")
        ->required();
    command->add_flag("--strict", line.apply.strict, "unknown keys are errors, not warnings");
    command->add_flag("--dry-run", line.apply.dry_run, "check everything, change nothing");
    command->add_flag("--recreate", line.apply.recreate,
                      "delete and create again what cannot change in place: its pods start again");
    shared.add_scope(*command, line, true);
    shared.add_output(*command, line);
    command->callback([&line] {
        line.apply.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_apply(c, line.apply); };
    });
}

void add_diff(CLI::App& app, CommandLine& line, const SharedGrammar& shared) {
    CLI::App* command = app.add_subcommand("diff", "show what apply would change");
    command->footer(
        "Examples:\n"
        "  gpuctl diff -f chat.yaml\n"
        "  gpuctl diff -f chat.yaml && echo \"nothing to apply\"\n"
        "Exit code 0: nothing differs, 1: something does.");
    command
        ->add_option("-f,--file", line.apply.files, "file, several files, or - for standard input")
        ->required();
    command->add_flag("--strict", line.apply.strict, "unknown keys are errors, not warnings");
    shared.add_scope(*command, line, true);
    shared.add_output(*command, line);
    command->callback([&line] {
        line.apply.is_diff = true;
        line.apply.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_apply(c, line.apply); };
    });
}

using Run = aio::Task<int> (*)(Connection&, ChangeOptions);

// Before the name, as in `scale notebook NAME`.
bool is_word_for_job(std::string word) {
    if (word.ends_with('s')) word.pop_back();
    constexpr std::array<std::string_view, 6> words{"job",      "training", "inference",
                                                    "notebook", "compute",  "service"};
    return std::find(words.begin(), words.end(), word) != words.end();
}

CLI::App* add_change(CLI::App& app, CommandLine& line, const SharedGrammar& shared,
                     const std::string& name, const std::string& meaning, Run run) {
    CLI::App* command = app.add_subcommand(name, meaning);
    // Also as kubectl writes it: `scale job NAME`, `scale notebook NAME`.
    command->add_option("NAME", line.change_words, kChangedJob)->required()->expected(1, 2);
    command->add_option("--resource-version", line.change.resource_version,
                        "only if the job is as it was then (resourceVersion of describe)");
    shared.add_scope(*command, line, false);
    shared.add_output(*command, line);
    command->callback([&line, set_job = shared.set_job, run, name] {
        const bool has_kind = line.change_words.size() == 2;
        if (has_kind && !is_word_for_job(line.change_words.front()))
            throw CLI::ValidationError(name,
                                       "one job is changed at a time: gpuctl " + name + " NAME");
        line.change.job = line.change_words.back();
        set_job(line, line.change.job);
        line.change.format = format_of(line);
        line.verb = [&line, run](Connection& c) { return run(c, line.change); };
    });
    return command;
}

void add_scale(CLI::App& app, CommandLine& line, const SharedGrammar& shared) {
    CLI::App* command = add_change(app, line, shared, "scale",
                                   "change the number of replicas of a service", run_scale);
    command->footer(
        "Examples:\n"
        "  gpuctl scale chat --replicas 4\n"
        "  gpuctl scale job team-a/chat --replicas 0");
    command->add_option("--replicas", line.change.replicas, "number of pods")
        ->required()
        ->check(whole_number(0, kReplicasMax));
    command->add_flag("--dry-run", line.change.dry_run, "check everything, change nothing");
}

void add_update(CLI::App& app, CommandLine& line, const SharedGrammar& shared) {
    CLI::App* command =
        add_change(app, line, shared, "update", "change single fields of a job", run_update);
    command->footer(
        "Examples:\n"
        "  gpuctl update chat --image registry/chat:v2\n"
        "  gpuctl update llm-sft --priority high --recreate    its pods start again\n"
        "Other fields are changed in the file of the job, with `gpuctl apply`.");
    command->add_option("--image", line.change.image, "container image");
    command->add_option("--priority", line.change.priority, "low, medium or high")
        ->check(one_of({"low", "medium", "high"}));
    command->add_option("--queue", line.change.queue, "queue of its pool");
    command->add_option("--description", line.change.description, "text for people");
    command->add_option("--replicas", line.change.replicas, "number of pods of a service")
        ->check(whole_number(0, kReplicasMax));
    command->add_flag("--recreate", line.change.recreate,
                      "delete and create again what cannot change in place: its pods start again");
    command->add_flag("--dry-run", line.change.dry_run, "check everything, change nothing");
}

}  // namespace

void add_change_commands(CLI::App& app, CommandLine& line, const SharedGrammar& shared) {
    add_apply(app, line, shared);
    add_diff(app, line, shared);
    add_scale(app, line, shared);
    add_update(app, line, shared);
    CLI::App* pause = add_change(app, line, shared, "pause",
                                 "stop the pods of a job and keep its GPUs", run_pause);
    pause->footer(
        "Examples:\n"
        "  gpuctl pause llm-sft                       its GPUs stay reserved for it\n"
        "  gpuctl pause llm-sft --release             its GPUs are free for other jobs\n"
        "  gpuctl resume llm-sft");
    pause->add_flag("--release", line.change.release, "free its GPUs for other jobs");
    CLI::App* resume =
        add_change(app, line, shared, "resume", "start the pods of a paused job again", run_resume);
    resume->footer(
        "Example:\n"
        "  gpuctl resume llm-sft                      at once, on the GPUs that it kept");
}

}  // namespace gpuctl::cli
