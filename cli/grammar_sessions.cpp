#include "cli/grammar_sessions.hpp"

#include "cli/usage_error.hpp"

namespace gpuctl::cli {
namespace {

constexpr const char* kSessionName = "job or pod name, also NAMESPACE/NAME";
constexpr const char* kSessionContainer =
    "this container [the pod's default container, else its first]";
constexpr const char* kSessionPod = "this pod of the job [the first one that runs]";

void add_session_scope(CLI::App& command, CommandLine& line, const char* meaning) {
    command.add_option("-n,--namespace", line.connection.namespace_name, meaning)->group("Scope");
}

void use_job(CommandLine& line, std::string& word) {
    Result<JobName> job = parse_job_name(word, line.connection.namespace_name);
    if (!job) throw CLI::ValidationError("NAME", job.error().message);
    word = std::move(job->name);
    line.connection.namespace_name = std::move(job->namespace_name);
}

void add_input(CLI::App& command, CommandLine& line) {
    command.add_flag("-i,--stdin", line.exec.has_input, "send standard input to it");
    command.add_flag("-t,--tty", line.exec.has_terminal, "it has a terminal");
    command.add_option("--pod", line.exec.pod, kSessionPod);
    command.add_option("-c,--container", line.exec.container, kSessionContainer);
    add_session_scope(command, line, "namespace of the job [all namespaces]");
}

void add_exec(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand("exec", "run a command in a container of a job or pod");
    command->footer(
        "Examples:\n"
        "  gpuctl exec llm-sft -- nvidia-smi\n"
        "  gpuctl exec llm-sft -it -- bash\n"
        "  gpuctl exec llm-sft -i -- sh -c 'cat > /tmp/note' < note.txt\n"
        "The exit code is that of the command. Needs the role admin.");
    command->add_option("NAME", line.exec.job, kSessionName)->required();
    command->add_option("COMMAND", line.exec.command, "the command and its words, after --")
        ->required();
    add_input(*command, line);
    command->callback([&line] {
        use_job(line, line.exec.job);
        line.verb = [&line](Connection& c) { return run_exec(c, line.exec); };
    });
}

void add_attach(CLI::App& app, CommandLine& line) {
    CLI::App* command =
        app.add_subcommand("attach", "see and control the process that a container runs");
    command->footer(
        "Examples:\n"
        "  gpuctl attach llm-sft\n"
        "  gpuctl attach notebook -it\n"
        "Only what is written from now on is shown; `gpuctl logs -f` shows the past, too. Needs\n"
        "the role admin.");
    command->add_option("NAME", line.exec.job, kSessionName)->required();
    add_input(*command, line);
    command->callback([&line] {
        use_job(line, line.exec.job);
        line.exec.command.clear();
        line.verb = [&line](Connection& c) { return run_exec(c, line.exec); };
    });
}

void add_cp(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand("cp", "copy files and folders to and from a pod");
    command->footer(
        "Examples:\n"
        "  gpuctl cp llm-sft:/workspace/model.pt .\n"
        "  gpuctl cp ./data.json llm-sft:/workspace/\n"
        "  gpuctl cp team-a/llm-sft:/workspace/logs logs-of-today\n"
        "The image needs tar, and sh to receive. Links that lead out of the destination are\n"
        "refused; a file has its name only when it is complete, also when ctrl-c ends the copy.\n"
        "Needs the role admin.");
    command->add_option("SRC", line.cp.source, "NAME:PATH in a pod, or a path here")->required();
    command->add_option("DST", line.cp.destination, "a path here, or NAME:PATH in a pod")
        ->required();
    command->add_option("-c,--container", line.cp.container, kSessionContainer);
    add_session_scope(*command, line, "namespace of the job [all namespaces]");
    command->callback(
        [&line] { line.verb = [&line](Connection& c) { return run_cp(c, line.cp); }; });
}

void add_port_forward(CLI::App& app, CommandLine& line) {
    CLI::App* command =
        app.add_subcommand("port-forward", "reach ports of a pod through ports of this machine");
    command->footer(
        "Examples:\n"
        "  gpuctl port-forward notebook 8888\n"
        "  gpuctl port-forward llm-serve 18000:8000 19090:9090\n"
        "  gpuctl port-forward llm-serve :8000        any free port here\n"
        "Runs until it is interrupted. Needs the role admin.");
    command->add_option("NAME", line.port_forward.job, kSessionName)->required();
    command->add_option("PORT", line.port_forward.ports, "LOCAL:REMOTE, PORT or :REMOTE")
        ->required();
    command
        ->add_option("--address", line.port_forward.address,
                     "listen here; any other than 127.0.0.1 lets other machines connect")
        ->capture_default_str();
    command->add_option("--pod", line.port_forward.pod, kSessionPod);
    add_session_scope(*command, line, "namespace of the job [all namespaces]");
    command->callback([&line] {
        use_job(line, line.port_forward.job);
        line.verb = [&line](Connection& c) { return run_port_forward(c, line.port_forward); };
    });
}

void add_run(CLI::App& app, CommandLine& line) {
    CLI::App* command = app.add_subcommand("run", "run one command as a job, and follow it");
    command->footer(
        "Examples:\n"
        "  gpuctl run smi --image nvidia/cuda:12.4.0-base --gpu 1 --pool training-pool -- "
        "nvidia-smi\n"
        "  gpuctl run prepare --image python:3.12 --rm -- python -c 'print(42)'\n"
        "Ctrl-c ends the following, not the job. Exit code 1: the job failed.");
    command->add_option("NAME", line.run.name, "name of the job")->required();
    command->add_option("COMMAND", line.run.command, "the command and its words, after --");
    command->add_option("--image", line.run.image, "image of the container")->required();
    command->add_option("--gpu", line.run.gpu, "GPUs, as in resources.gpu [0]");
    command->add_option("--cpu", line.run.cpu, "CPU cores")->capture_default_str();
    command->add_option("--memory", line.run.memory, "memory")->capture_default_str();
    command->add_option("--pool", line.run.pool, "pool [default]");
    command->add_option("--wait", line.run.wait_seconds, "seconds to wait for the start")
        ->check(whole_number(1, 7 * 24 * 3600))
        ->capture_default_str();
    command->add_flag("--rm", line.run.remove, "delete the job when it has ended");
    add_session_scope(*command, line, "namespace of the job [default]");
    command->callback([&line] {
        use_job(line, line.run.name);
        line.verb = [&line](Connection& c) { return run_run(c, line.run); };
    });
}

}  // namespace

void add_sessions(CLI::App& app, CommandLine& line) {
    add_exec(app, line);
    add_attach(app, line);
    add_cp(app, line);
    add_port_forward(app, line);
    add_run(app, line);
}

}  // namespace gpuctl::cli
