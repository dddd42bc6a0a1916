#include "daemon/config/load.hpp"

#include <fstream>
#include <iterator>

#include "daemon/config/service_links.hpp"
#include "daemon/config/tables.hpp"

extern char** environ;

namespace gpuctl::config {
namespace {

constexpr std::string_view kEnvironmentPrefix = "GPUCTLD_";
// Names with the prefix that are not keys: which file to read (the command line's business).
constexpr std::string_view kConfigVariable = "GPUCTLD_CONFIG";

std::string pointer_of(const std::string& path) {
    std::string pointer = "/" + path;
    for (char& c : pointer) {
        if (c == '.') c = '/';
    }
    return pointer;
}

std::string path_of(const std::string& pointer) {
    std::string path = pointer.substr(pointer.empty() ? 0 : 1);
    for (char& c : path) {
        if (c == '/') c = '.';
    }
    return path;
}

std::string told(const std::string& file, const Place& place) {
    if (place.line == 0) return file;
    return file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

Error invalid(const std::string& message) {
    return make_error(ErrorCode::InvalidConfiguration, message);
}

struct Overlay {
    std::map<std::string, std::string> origins;  // which variable each pointer came from
    std::vector<std::string> service_links;      // left out
    std::vector<std::string> warnings;
};

// Puts the environment's values into the document, as if they stood in the file.
Result<Overlay> overlay(wire::Document& document,
                        const std::map<std::string, std::string>& environment) {
    std::map<std::string, std::string> paths;
    std::vector<std::string> names;
    for (const KeyDescription& key : describe_keys()) {
        if (key.environment.empty()) continue;
        paths[key.environment] = key.path;
        names.push_back(key.environment);
    }
    Overlay result;
    for (const auto& [name, value] : environment) {
        if (name.substr(0, kEnvironmentPrefix.size()) != kEnvironmentPrefix) continue;
        if (name == kConfigVariable) continue;
        if (is_service_link(name, value, environment)) {
            result.service_links.push_back(name);
            continue;
        }
        const auto it = paths.find(name);
        if (it == paths.end()) {
            const std::string nearest = wire::nearest_name(name, names);
            return invalid("environment variable " + name + " is not a key of gpuctld.yaml" +
                           (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
        }
        if (value.empty()) {  // as likely a value that got lost as one
            result.warnings.push_back(
                "environment variable " + name +
                " is set and empty; it is not used: unset it, or write '\"\"' for "
                "an empty text");
            continue;
        }
        const std::string pointer = pointer_of(it->second);
        const auto parsed = wire::parse_yaml(value);
        nlohmann::json read = value;
        if (parsed.has_value() && parsed->size() == 1 && !parsed->front().root.is_object()) {
            read = parsed->front().root;
        }
        try {
            document.root[nlohmann::json::json_pointer{pointer}] = std::move(read);
        } catch (const nlohmann::json::exception&) {
            return invalid("environment variable " + name +
                           ": the file has something else than a "
                           "section on the way to " +
                           it->second);
        }
        document.written[pointer] = value;
        result.origins[pointer] = name;
    }
    return result;
}

Error refused(const std::string& file, std::vector<Detail> details,
              const std::map<std::string, std::string>& origins) {
    const Detail& first = details.front();
    std::string message = told(file, first.place);
    if (const auto it = origins.find(first.place.pointer); it != origins.end()) {
        message = "environment variable " + it->second;
    }
    message += ": " + first.message;
    if (details.size() > 1) {
        message += " (and " + std::to_string(details.size() - 1) + " more)";
    }
    return Error{ErrorCode::InvalidConfiguration, std::move(message), std::move(details)};
}

// "must be ...", "\"x\" has ..." -> "server.port must be ...": the readers of values and the rules
// of names do not know their key.
void name_keys(std::vector<Detail>& details) {
    for (Detail& detail : details) {
        if (detail.message.substr(0, 5) != "must " && detail.message[0] != '"') continue;
        detail.message = path_of(detail.place.pointer) + " " + detail.message;
    }
}

std::map<std::string, std::string> process_environment() {
    std::map<std::string, std::string> result;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text{*entry};
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        result.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return result;
}

}  // namespace

Result<Config> parse(std::string_view yaml, const std::string& file_name,
                     const std::map<std::string, std::string>& environment,
                     const Cluster& cluster) {
    auto documents = wire::parse_yaml(yaml);
    if (documents.has_error()) {
        std::vector<Detail> details = documents.error().details;
        if (details.empty()) details.push_back({{}, documents.error().message});
        return refused(file_name, std::move(details), {});
    }
    if (documents->size() > 1) {
        return invalid(file_name + ": holds " + std::to_string(documents->size()) +
                       " documents; a configuration is one");
    }
    wire::Document document;
    document.root = nlohmann::json::object();
    if (!documents->empty()) document = std::move(documents->front());
    if (!document.root.is_object()) {
        return invalid(told(file_name, document.place_of("")) +
                       ": a configuration is a map of sections, not " +
                       wire::kind_of(document.root));
    }
    Result<Overlay> overlaid = overlay(document, environment);
    if (overlaid.has_error()) return overlaid.error();
    const std::map<std::string, std::string>& origins = overlaid->origins;
    std::vector<std::string> warnings = std::move(overlaid->warnings);

    wire::Problems problems;
    Config config;
    config.cluster = cluster;
    read_struct(wire::Field{document, &document.root, "", problems}, config);
    problems.sort();
    name_keys(problems.errors);
    if (!problems.errors.empty()) return refused(file_name, std::move(problems.errors), origins);
    for (const Detail& warning : problems.warnings) {
        warnings.push_back(told(file_name, warning.place) + ": " + warning.message);
    }
    config.warnings = std::move(warnings);
    for (const auto& [pointer, place] : document.places) {
        config.places[path_of(pointer)] = told(file_name, place);
    }
    for (const auto& [pointer, variable] : origins) {
        config.places[path_of(pointer)] = "environment variable " + variable;
    }
    config.service_links = std::move(overlaid->service_links);
    return config;
}

Result<Config> load_file(const std::string& path) {
    if (path.empty()) return parse("", "(no file)", process_environment());
    std::ifstream file{path, std::ios::binary};
    if (!file) return invalid(path + ": cannot be opened; check the path and its permissions");
    // One byte beyond the limit shows that there is more, without reading it.
    std::string text(wire::DocumentLimits{}.bytes_max + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || (file.fail() && !file.eof())) return invalid(path + ": cannot be read");
    text.resize(static_cast<std::size_t>(file.gcount()));
    return parse(text, path, process_environment());
}

}  // namespace gpuctl::config
