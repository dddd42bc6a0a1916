#include <iostream>

#include "cli/client/client.hpp"
#include "cli/commands/commands.hpp"
#include "cli/configuration.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kHidden = "REDACTED";

// The file as JSON, without tokens.
Json shown_file(const ConfigurationFile& file) {
    Json contexts = file.contexts;
    for (auto& [name, context] : contexts.items()) {
        if (context.is_object() && context.contains("token")) context["token"] = kHidden;
    }
    Json shown = Json::object();
    if (!file.current.empty()) shown["current-context"] = file.current;
    shown["contexts"] = std::move(contexts);
    return shown;
}

void print_contexts(const ConfigurationFile& file, const ConfigOptions& options) {
    if (is_document(options.format)) {
        Json rows = Json::array();
        for (const auto& [name, context] : file.contexts.items()) {
            rows.push_back({{"name", name},
                            {"current", name == file.current},
                            {"server", text_of(context, "server")},
                            {"namespace", text_of(context, "namespace")}});
        }
        return print_document(std::cout, rows, options.format);
    }
    if (options.format == Format::name) {
        for (const auto& [name, context] : file.contexts.items()) {
            std::cout << printable(name) << '\n';
        }
        return;
    }
    Table table{{"CURRENT", "NAME", "SERVER", "NAMESPACE"}};
    for (const auto& [name, context] : file.contexts.items()) {
        table.add_row({name == file.current ? "*" : "", name, text_of(context, "server"),
                       text_of(context, "namespace", "-")});
    }
    table.print(std::cout, {options.has_header, false, nullptr});
}

int print_current(const ConfigurationFile& file, const ConfigOptions& options) {
    if (file.current.empty()) {
        return report(make_error(ErrorCode::NotFound,
                                 "no context is current: " + file.path +
                                     " names none; `gpuctl config use-context NAME` sets it"),
                      options.format);
    }
    if (is_document(options.format)) {
        print_document(std::cout, {{"current-context", file.current}}, options.format);
    } else {
        std::cout << printable(file.current) << '\n';
    }
    return 0;
}

int use(const ConfigOptions& options) {
    const Result<void> used = use_context(options.file, options.context);
    if (!used) return report(used.error(), options.format);
    if (is_document(options.format)) {
        print_document(std::cout, {{"current-context", options.context}}, options.format);
    } else {
        std::cout << "context " << printable(options.context) << " is current now\n";
    }
    return 0;
}

}  // namespace

int run_config(const ConfigOptions& options) {
    if (options.action == "use-context") return use(options);
    const Result<ConfigurationFile> file = read_configuration(options.file);
    if (!file) return report(file.error(), options.format);
    if (options.action == "current-context") return print_current(*file, options);
    if (options.action == "get-contexts") {
        print_contexts(*file, options);
    } else if (options.format == Format::json) {
        print_json(std::cout, shown_file(*file));
    } else {
        print_yaml(std::cout, shown_file(*file));
    }
    return 0;
}

}  // namespace gpuctl::cli
