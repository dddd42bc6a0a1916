#include "cli/grammar_explain_yaml.hpp"

#include "cli/grammar/parts.hpp"

namespace gpuctl::cli {

void add_explain_yaml(CLI::App& app, CommandLine& line) {
    CLI::App* command =
        app.add_subcommand("explain-yaml", "say what can be written in a job's YAML");
    command->footer(
        "Examples:\n"
        "  gpuctl explain-yaml training                   the keys of a training job\n"
        "  gpuctl explain-yaml inference.service          a section with its keys\n"
        "  gpuctl explain-yaml inference.service.port     type, default, bounds, example");
    command
        ->add_option("KEY", line.explain_yaml.key,
                     "training, inference, notebook or compute, also with a key behind it")
        ->required();
    add_output(*command, line, kDocuments);
    command->callback([&line] {
        line.explain_yaml.format = format_of(line);
        line.verb = [&line](Connection& c) { return run_explain_yaml(c, line.explain_yaml); };
    });
}

}  // namespace gpuctl::cli
