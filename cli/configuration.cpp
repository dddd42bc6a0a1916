#include "cli/configuration.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "text/characters.hpp"
#include "text/token.hpp"
#include "wire/job/document.hpp"

namespace gpuctl::cli {
namespace {

const std::vector<std::string> kTopKeys{"current-context", "contexts"};
const std::vector<std::string> kContextKeys{"server",           "token",    "token-file", "ca-file",
                                            "certificate-file", "key-file", "namespace"};

std::string configuration_path(const std::string& flag) {
    if (!flag.empty()) return flag;
    if (const std::string path = environment("GPUCTL_CONFIG"); !path.empty()) return path;
    if (const std::string base = environment("XDG_CONFIG_HOME"); !base.empty()) {
        return base + "/gpuctl/config.yaml";
    }
    return environment("HOME") + "/.config/gpuctl/config.yaml";
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : std::string{between}) + word;
    return text;
}

class ContextFile {
public:
    static Result<ContextFile> read(std::string path) {
        Result<std::string> text = read_configured(path);
        if (!text) return text.error();
        ContextFile file{std::move(path)};
        Result<std::vector<wire::Document>> documents = wire::parse_yaml(*text);
        if (!documents) return file.broken(documents.error());
        if (!documents->empty()) file.document_ = std::move(documents->front());
        if (Result<void> checked = file.check(); !checked) return checked.error();
        return file;
    }

    [[nodiscard]] std::string current() const { return text("/current-context"); }
    [[nodiscard]] nlohmann::json contexts() const {
        const nlohmann::json none = nlohmann::json::object();
        const nlohmann::json found =
            document_.root.is_object() ? document_.root.value("contexts", none) : none;
        return found.is_object() ? found : none;
    }
    [[nodiscard]] Error no_such(const std::string& name) const {
        std::vector<std::string> known;
        const nlohmann::json all = contexts();
        for (const auto& [key, value] : all.items()) known.push_back(key);
        const std::string near = wire::nearest_name(name, known);
        const bool is_current = current() == name;
        const int line = document_.place_of("/current-context").line;
        return make_error(ErrorCode::InvalidConfiguration,
                          "context " + name + " does not exist in " + path_ +
                              (is_current ? ":" + std::to_string(line) : "") + "; " +
                              (near.empty() ? "" : "did you mean " + near + "? ") +
                              "the file has: " + (known.empty() ? "none" : joined(known, " ")));
    }

    Result<void> apply(const std::string& name, ConnectionOptions& options) const {
        const std::string at = wire::pointer_to("/contexts", name);
        if (!contexts().contains(name)) return no_such(name);
        const auto read_member = [&](std::string& target, std::string_view key) {
            if (target.empty()) target = text(wire::pointer_to(at, key));
        };
        read_member(options.server, "server");
        read_member(options.ca_file, "ca-file");
        read_member(options.certificate_file, "certificate-file");
        read_member(options.key_file, "key-file");
        if (!options.is_every_namespace) read_member(options.namespace_name, "namespace");
        const bool is_token_here = options.token.empty();
        read_member(options.token, "token");
        if (is_token_here && !options.token.empty()) {
            const std::string problem = text::problem_with_token(options.token);
            if (!problem.empty()) {
                return wrong(wire::pointer_to(at, "token"),
                             "contexts." + name + ".token " + problem);
            }
        }
        const std::string token_file = text(wire::pointer_to(at, "token-file"));
        if (!options.token.empty() || token_file.empty()) return {};
        Result<std::string> content = read_configured(token_file);
        if (!content) return content.error();
        Result<std::string> token = text::token_of_file(*content);
        if (!token) {
            return wrong(wire::pointer_to(at, "token-file"),
                         "the token file " + token_file + " " + token.error().message);
        }
        options.token = std::move(*token);
        return {};
    }

private:
    explicit ContextFile(std::string path) : path_(std::move(path)) {}

    // Numbers as written; "" when absent.
    [[nodiscard]] std::string text(const std::string& pointer) const {
        const nlohmann::json::json_pointer at{pointer};
        if (!document_.root.contains(at) || document_.root[at].is_null()) return "";
        return document_.text_of(pointer, document_.root[at]);
    }

    [[nodiscard]] Error wrong(const std::string& pointer, const std::string& what) const {
        const int line = document_.place_of(pointer).line;
        return make_error(
            ErrorCode::InvalidConfiguration,
            "read " + path_ + (line > 0 ? ":" + std::to_string(line) : "") + ": " + what);
    }

    [[nodiscard]] Error broken(const Error& error) const {
        std::string place;
        std::string what = error.message;
        if (!error.details.empty()) {
            const Detail& detail = error.details.front();
            if (detail.place.line > 0) {
                place = ":" + std::to_string(detail.place.line) + ":" +
                        std::to_string(detail.place.column);
            }
            what = detail.message;
        }
        return make_error(ErrorCode::InvalidConfiguration,
                          "read " + path_ + place + ": " + what +
                              "; fix it, or name the server with --server, which needs no file");
    }

    [[nodiscard]] Result<void> check_keys(const nlohmann::json& object, const std::string& pointer,
                                          const std::string& path,
                                          const std::vector<std::string>& known) const {
        for (const auto& [key, value] : object.items()) {
            if (std::find(known.begin(), known.end(), key) != known.end()) continue;
            const std::string near = wire::nearest_name(key, known);
            return wrong(wire::pointer_to(pointer, key),
                         "there is no key " + path + key + "; " +
                             (near.empty() ? "there are " + joined(known, ", ")
                                           : "did you mean " + near + "?"));
        }
        return {};
    }

    [[nodiscard]] Result<void> check_context(const std::string& name,
                                             const nlohmann::json& context) const {
        const std::string pointer = wire::pointer_to("/contexts", name);
        const std::string path = "contexts." + name;
        if (context.is_null()) {
            return wrong(pointer, path + " is empty; give it a server ({server: URL})");
        }
        if (!context.is_object()) {
            return wrong(pointer, path + " must be a mapping ({server: URL})");
        }
        if (Result<void> known = check_keys(context, pointer, path + ".", kContextKeys); !known) {
            return known;
        }
        for (const auto& [key, value] : context.items()) {
            const std::string at = wire::pointer_to(pointer, key);
            if (value.is_structured()) return wrong(at, path + "." + key + " must be text");
            const std::string written = text(at);
            if (written.empty()) {
                return wrong(at, path + "." + key + " is empty; give it a value or leave it out");
            }
            const bool is_path = key.ends_with("-file");
            const std::string problem = is_path ? "" : text::problem_with_invisible(written);
            if (!problem.empty()) return wrong(at, path + "." + key + " " + problem);
        }
        return {};
    }

    [[nodiscard]] Result<void> check() const {
        const nlohmann::json& root = document_.root;
        if (root.is_null()) return {};
        if (!root.is_object()) {
            return wrong("", "it must be a mapping with " + joined(kTopKeys, " and "));
        }
        if (Result<void> known = check_keys(root, "", "", kTopKeys); !known) return known;
        if (root.contains("current-context")) {
            if (root["current-context"].is_structured()) {
                return wrong("/current-context", "current-context must be the name of a context");
            }
            if (current().empty()) {
                return wrong("/current-context",
                             "current-context is empty; name a context or leave it out");
            }
            const std::string problem = text::problem_with_invisible(current());
            if (!problem.empty()) return wrong("/current-context", "current-context " + problem);
        }
        if (!root.contains("contexts")) return {};
        const nlohmann::json& contexts = root["contexts"];
        if (contexts.is_null()) {
            return wrong("/contexts", "contexts is empty; name a context in it or leave it out");
        }
        if (!contexts.is_object()) {
            return wrong(
                "/contexts",
                std::string{"contexts must be a mapping (contexts: {NAME: {server: URL}})"} +
                    (contexts.is_array() ? ", not a list" : ""));
        }
        for (const auto& [name, context] : contexts.items()) {
            if (Result<void> checked = check_context(name, context); !checked) return checked;
        }
        return {};
    }

    std::string path_;
    wire::Document document_;
};

}  // namespace

std::optional<std::string> environment_or_nothing(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread, no setenv
    if (value == nullptr) return std::nullopt;
    return value;
}

std::string environment(const char* name) { return environment_or_nothing(name).value_or(""); }

Result<std::string> read_configured(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::ostringstream text;
    // An empty file has nothing to copy, which an ostream calls a failure.
    if (!file || (file.peek() != std::ifstream::traits_type::eof() && !(text << file.rdbuf())) ||
        file.bad()) {
        return make_error(
            ErrorCode::InvalidConfiguration,
            "read " + path + ": cannot be opened; check that it exists and that you may read it");
    }
    return text.str();
}

Result<void> apply_context(ConnectionOptions& options) {
    const std::string path = configuration_path(options.config_file);
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown)) {
        if (options.context.empty()) return {};
        return make_error(ErrorCode::InvalidConfiguration,
                          "context " + options.context + " does not exist: there is no file " +
                              path + "; README.md shows its format");
    }
    Result<ContextFile> file = ContextFile::read(path);
    if (!file) return file.error();
    const std::string wanted = options.context.empty() ? file->current() : options.context;
    if (wanted.empty()) return {};
    return file->apply(wanted, options);
}

Result<ConfigurationFile> read_configuration(const std::string& path) {
    ConfigurationFile out;
    out.path = configuration_path(path);
    std::error_code unknown;
    out.exists = std::filesystem::exists(out.path, unknown);
    if (!out.exists) return out;
    const Result<ContextFile> file = ContextFile::read(out.path);
    if (!file) return file.error();
    out.current = file->current();
    out.contexts = file->contexts();
    return out;
}

namespace {

// A new file under a temporary name, so that a stop in between leaves the old one.
Result<void> replace_file(const std::string& path, const std::string& text) {
    const std::string temporary = path + ".new";
    std::error_code problem;
    const std::filesystem::perms rights = std::filesystem::status(path, problem).permissions();
    {
        std::ofstream file{temporary, std::ios::binary | std::ios::trunc};
        if (!problem) std::filesystem::permissions(temporary, rights, problem);
        file << text;
        file.flush();
        if (!file || problem) {
            return make_error(ErrorCode::InvalidConfiguration,
                              "write " + temporary + ": check that you may write in its folder");
        }
    }
    std::filesystem::rename(temporary, path, problem);
    if (!problem) return {};
    return make_error(ErrorCode::InvalidConfiguration,
                      "replace " + path + ": " + problem.message());
}

}  // namespace

Result<void> use_context(const std::string& path, const std::string& context) {
    const std::string file_path = configuration_path(path);
    Result<std::string> text = read_configured(file_path);
    if (!text) return text.error();
    const Result<ContextFile> file = ContextFile::read(file_path);
    if (!file) return file.error();
    if (!file->contexts().contains(context)) return file->no_such(context);
    constexpr std::string_view key = "current-context:";
    // Quoted, as a name may look like another type; JSON's quoting is YAML's.
    const std::string line = std::string{key} + " " + nlohmann::json(context).dump();
    const bool is_first = text->starts_with(key);
    const std::size_t at = is_first ? 0 : text->find("\n" + std::string{key});
    if (at == std::string::npos) {
        text->insert(0, line + "\n");
    } else {
        const std::size_t begin = is_first ? 0 : at + 1;
        const std::size_t end = std::min(text->find('\n', begin), text->size());
        text->replace(begin, end - begin, line);
    }
    return replace_file(file_path, *text);
}

}  // namespace gpuctl::cli
