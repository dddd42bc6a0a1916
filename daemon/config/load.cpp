#include "daemon/config/load.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "daemon/config/keys/tables.hpp"
#include "daemon/config/service_links.hpp"
#include "daemon/config/vendors/vendor_file.hpp"
#include "policy_document/refusal.hpp"

extern char** environ;

namespace gpuctl::config {
namespace {

constexpr std::string_view kEnvironmentPrefix = "GPUCTLD_";
// Names with the prefix that are not keys: the path of the file (for the command line).
constexpr std::string_view kConfigVariable = "GPUCTLD_CONFIG";

std::string pointer_of(const std::string& path) {
    std::string pointer = "/" + path;
    for (char& c : pointer) {
        if (c == '.') c = '/';
    }
    return pointer;
}

struct Overlay {
    std::map<std::string, std::string> origins;  // which variable each pointer came from
    std::vector<std::string> service_links;      // left out
    std::vector<std::string> warnings;
};

// Puts the environment's values into the document, as if they were in the file.
Result<Overlay> overlay(wire::Document& document,
                        const std::map<std::string, std::string>& environment) {
    std::map<std::string, std::string> paths;
    std::map<std::string, std::string> moved;
    std::vector<std::string> names;
    for (const KeyDescription& key : describe_moved_and_present_keys()) {
        if (key.environment.empty()) continue;
        if (key.has_moved) {
            moved[key.environment] = key.path + " " + key.meaning;
            continue;
        }
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
        // Every key of a section that has moved.
        const auto is_moved = [&name](const auto& one) {
            return name == one.first || name.starts_with(one.first + "_");
        };
        if (const auto it = std::find_if(moved.begin(), moved.end(), is_moved); it != moved.end()) {
            return invalid("environment variable " + name + ": " + it->second);
        }
        const auto it = paths.find(name);
        if (it == paths.end()) {
            const std::string nearest = wire::nearest_name(name, names);
            return invalid("environment variable " + name + " is not a key of gpuctld.yaml" +
                           (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
        }
        if (value.empty()) {  // often a value that got lost
            result.warnings.push_back(
                "environment variable " + name +
                " is set but empty, and is ignored: unset it, or write '\"\"' for an empty text");
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
                           ": the file has a value instead of a section on the path to " +
                           it->second);
        }
        document.written[pointer] = value;
        result.origins[pointer] = name;
    }
    return result;
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

// The table of vendors, which the checks of other keys use. The key itself is read later.
Result<void> use_vendors_of(const wire::Document& document) {
    const nlohmann::json::json_pointer key{"/names/vendorsFile"};
    const bool is_given = document.root.is_object() && document.root.contains(key) &&
                          document.root.at(key).is_string();
    return use_vendors_file_once(is_given ? document.root.at(key).get<std::string>() : "");
}

using Prepare = Result<void> (*)(const wire::Document&);

// `prepare` sees the document before it is read.
Result<Config> parse_prepared(std::string_view yaml, const std::string& file_name,
                              const std::map<std::string, std::string>& environment,
                              const Cluster& cluster, Prepare prepare) {
    Result<wire::Document> parsed = one_document(yaml, file_name);
    if (parsed.has_error()) return parsed.error();
    wire::Document document = std::move(*parsed);
    Result<Overlay> overlaid = overlay(document, environment);
    if (overlaid.has_error()) return overlaid.error();
    if (prepare != nullptr) {
        if (Result<void> done = prepare(document); !done) return done.error();
    }
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
        warnings.push_back(place_text(file_name, warning.place) + ": " + warning.message);
    }
    config.warnings = std::move(warnings);
    for (const auto& [pointer, place] : document.places) {
        config.places[path_of(pointer)] = place_text(file_name, place);
    }
    for (const auto& [pointer, variable] : origins) {
        config.places[path_of(pointer)] = "environment variable " + variable;
    }
    config.service_links = std::move(overlaid->service_links);
    return config;
}

}  // namespace

Result<Config> parse(std::string_view yaml, const std::string& file_name,
                     const std::map<std::string, std::string>& environment,
                     const Cluster& cluster) {
    return parse_prepared(yaml, file_name, environment, cluster, nullptr);
}

Result<Config> load_file(const std::string& path) {
    if (path.empty()) {
        return parse_prepared("", "(no file)", process_environment(), {}, use_vendors_of);
    }
    std::ifstream file{path, std::ios::binary};
    if (!file) return invalid(path + ": cannot be opened; check the path and its permissions");
    // One byte beyond the limit shows that there is more, without reading it.
    std::string text(wire::DocumentLimits{}.bytes_max + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || (file.fail() && !file.eof())) return invalid(path + ": cannot be read");
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > wire::DocumentLimits{}.bytes_max) {
        return invalid(path + ": is larger than the " +
                       std::to_string(wire::DocumentLimits{}.bytes_max) + " bytes allowed");
    }
    return parse_prepared(text, path, process_environment(), {}, use_vendors_of);
}

}  // namespace gpuctl::config
