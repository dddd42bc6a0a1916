// wait, cancel, top, and the commands about gpuctl itself.

#include "cli/grammar/parts.hpp"
#include "cli/usage_error.hpp"
#include "text/duration.hpp"

namespace gpuctl::cli {
namespace {

CLI::Validator duration_of_time() {
    return CLI::Validator{[](std::string& word) -> std::string {
                              if (text::parse_duration(word)) return "";
                              return "`" + word + "` is not a duration such as 90s, 15m or 2h";
                          },
                          "DURATION"};
}

void add_config_action(CLI::App& config, CommandLine& line, const std::string& action,
                       const std::string& meaning) {
    CLI::App* command = config.add_subcommand(action, meaning);
    command->footer("Example:\n  gpuctl config " + action +
                    (action == "use-context" ? " lab" : ""));
    if (action == "use-context") {
        command->add_option("CONTEXT", line.config.context, "a context of the file")->required();
    }
    if (action == "get-contexts") {
        command->add_flag("--no-headers", line.no_headers, "no header above the rows")
            ->group("Output");
    }
    add_output(*command, line, action == "get-contexts" ? kDocumentsAndNames : kDocuments);
    command->callback([&line, action] {
        line.config.action = action;
        line.config.file = line.connection.config_file;
        line.config.format = format_of(line);
        line.config.has_header = !line.no_headers;
        line.local = [&line] { return run_config(line.config); };
    });
}

}  // namespace

Duration duration_of(const std::string& word) {
    return text::parse_duration(word).value_or(Duration{});
}

CLI::Validator a_duration() { return duration_of_time(); }

void add_wait(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand("wait", "wait until jobs run, end or are deleted");
    command->footer(
        "Examples:\n"
        "  gpuctl wait llm-sft --for=running --timeout 30m\n"
        "  gpuctl wait team-a/llm-sft --for=succeeded && ./evaluate\n"
        "  gpuctl wait a b c --for=deleted\n"
        "Asks every second. Exit code 6: the time is over, or the condition cannot hold any more.");
    command->add_option("NAME", line.job_words, "job names, also NAMESPACE/NAME")->required();
    command
        ->add_option("--for", line.wait.condition,
                     "running; ready: all pods are; succeeded, failed, finished: either; deleted")
        ->check(one_of({"running", "ready", "succeeded", "failed", "finished", "deleted"}))
        ->required();
    command->add_option("--timeout", line.timeout, "give up after this time [1h]")
        ->check(a_duration());
    add_scope(*command, line);
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        for (const std::string& word : line.job_words) line.wait.jobs.push_back(job_of(word, line));
        if (!line.timeout.empty()) line.wait.timeout = duration_of(line.timeout);
        line.wait.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_wait(c, line.wait); };
    });
}

void add_cancel(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand(
        "cancel", "stop jobs that wait or run; jobs that have ended are not changed");
    command->footer(
        "Examples:\n"
        "  gpuctl cancel llm-sft\n"
        "  gpuctl cancel team-a/llm-sft team-a/llm-eval --force\n"
        "Unlike `delete job`, it never removes the record of a job that has ended.");
    command->add_option("NAME", line.job_words, "exact names, also NAMESPACE/NAME")->required();
    command->add_flag("--force", line.cancel.force, "do not wait for the grace period");
    add_scope(*command, line);
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        for (const std::string& word : line.job_words) {
            line.cancel.jobs.push_back(job_of(word, line));
        }
        line.cancel.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_cancel(c, line.cancel); };
    });
}

void add_top(CLI::App& app, CommandLine& line) {
    CLI::App* command =
        app.add_subcommand("top", "pools, nodes and jobs by the GPUs that they use, once");
    command->footer(
        "Examples:\n"
        "  gpuctl top\n"
        "  gpuctl top --jobs 50\n"
        "  watch gpuctl top\n"
        "Shows what is allocated, not how busy the GPUs are.");
    command->add_option("--jobs", line.top.jobs, "show this many running jobs [10]")
        ->check(whole_number(1, 10'000));
    add_scope(*command, line, "only jobs of this namespace [all namespaces]");
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        line.top.format = format_of(line);
        line.top.is_colored = is_colored(line.color);
        line.verb = [&line](Connection& c) { return run_top(c, line.top); };
    });
}

void add_doctor(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand(
        "doctor", "check configuration, connection, versions, clock, token and readiness");
    command->footer(
        "Examples:\n"
        "  gpuctl doctor\n"
        "  gpuctl doctor --context lab --json\n"
        "Each line is OK, or says what is wrong and what to do. Exit code 7: gpuctld does not "
        "answer;\n"
        "1: another problem.");
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        line.doctor.format = format_of(line);
        line.doctor.is_colored = is_colored(line.color);
        line.is_doctor = true;
        line.verb = [&line](Connection& c) { return run_doctor(c, line.doctor); };
    });
}

void add_config(CLI::App& app, CommandLine& line) {
    CLI::App* config =
        app.add_subcommand("config", "show and choose the contexts of the configuration file");
    config->footer(
        "Examples:\n"
        "  gpuctl config get-contexts\n"
        "  gpuctl config use-context lab\n"
        "  gpuctl config view\n"
        "The file is ~/.config/gpuctl/config.yaml, GPUCTL_CONFIG or --config. Tokens are not "
        "shown.");
    config->require_subcommand(1);
    add_config_action(*config, line, "get-contexts", "list the contexts");
    add_config_action(*config, line, "use-context", "make a context the current one");
    add_config_action(*config, line, "current-context", "print the name of the current context");
    add_config_action(*config, line, "view", "print the file, without tokens");
}

void add_completion(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand("completion", "print the completion script of a shell");
    command->footer(
        "Examples:\n"
        "  source <(gpuctl completion bash)\n"
        "  gpuctl completion zsh > ~/.zsh/completions/_gpuctl\n"
        "  gpuctl completion fish > ~/.config/fish/completions/gpuctl.fish");
    command->add_option("SHELL", line.completion.shell, "bash, zsh or fish")
        ->check(one_of({"bash", "zsh", "fish"}))
        ->required();
    command->callback(
        [&line] { line.local = [&line] { return run_completion(line.completion); }; });
}

void add_get_notebook(CLI::App& get, CommandLine& line) {
    CLI::App* command = get.add_subcommand("notebook", "print the address of a notebook");
    command->alias("notebooks");
    command->footer(
        "Examples:\n  gpuctl get notebook lab\n  gpuctl get notebook team-a/lab --json");
    command->add_option("NAME", line.notebook.name, kJobNameMeaning)->required();
    add_scope(*command, line);
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        set_job(line, line.notebook.name);
        line.notebook.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_get_notebook(c, line.notebook); };
    });
}

}  // namespace gpuctl::cli
