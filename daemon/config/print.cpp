// Configurations as text: the commented file, the list of keys, and the difference of two.

#include "daemon/config/keys/tables.hpp"
#include "daemon/config/load.hpp"
#include "daemon/config/sources.hpp"
#include "text/url.hpp"

namespace gpuctl::config {
namespace {

using Lines = std::vector<std::string>;

// Prints members as YAML; the meaning above each, the source after each value.
class Printer {
public:
    // `sources` may be null: none are printed. `is_example`: only values in force have a source.
    explicit Printer(const Sources* sources, bool is_example = false)
        : sources_(sources), is_example_(is_example) {}

    void print(const std::vector<Shown>& members, const std::string& prefix, bool meanings,
               Lines& lines) const {
        for (const Shown& shown : members) {
            if (shown.moved) continue;
            if (meanings) lines.push_back("# " + std::string{shown.meaning});
            print_one(shown, prefix + std::string{shown.name}, meanings, lines);
        }
    }

private:
    static void append(Lines& lines, const Lines& more, std::string_view indent) {
        for (const std::string& line : more) lines.push_back(std::string{indent} + line);
    }

    void print_items(const Shown& shown, const std::string& path, bool meanings,
                     Lines& lines) const {
        for (std::size_t i = 0; i < shown.items.size(); ++i) {
            Lines inner;
            // The meanings are printed above the first item's keys only.
            print(shown.items[i], path + "[" + std::to_string(i) + "].", meanings && i == 0, inner);
            // The dash goes in front of the first line that is not a comment.
            bool dashed = false;
            for (const std::string& line : inner) {
                const bool comment = line.substr(0, 1) == "#";
                lines.push_back((dashed || comment ? "    " : "  - ") + line);
                dashed = dashed || !comment;
            }
        }
    }

    void print_one(const Shown& shown, const std::string& path, bool meanings, Lines& lines) const {
        const Printer inside{sources_, !shown.in_force && (shown.absent || is_example_)};
        Lines own;
        switch (shown.form) {
            case Shown::Form::scalar:
                own.push_back(inside.scalar(shown, path));
                break;
            case Shown::Form::map: {
                own.push_back(std::string{shown.name} + ":");
                Lines inner;
                inside.print(shown.members, path + ".", meanings, inner);
                append(own, inner, "  ");
                break;
            }
            case Shown::Form::list:
                own.push_back(std::string{shown.name} + ":");
                inside.print_items(shown, path, meanings, own);
                break;
        }
        append(lines, own, shown.absent ? "#" : "");
    }

    // A value without effect is a comment, except in a file without sources.
    [[nodiscard]] std::string scalar(const Shown& shown, const std::string& path) const {
        std::string line = std::string{shown.name} + ": " + shown.value;
        if (sources_ == nullptr || is_example_) return line;
        line += "  # " + sources_->of(path, shown.value);
        if (shown.without_effect.empty()) return line;
        return "#" + line + "; no effect " + shown.without_effect;
    }

    const Sources* sources_;
    bool is_example_;
};

std::string environment_name(const std::string& path) {
    std::string name = "GPUCTLD_";
    for (const char c : path) {
        if (c == '.') {
            name += '_';
        } else if (c >= 'A' && c <= 'Z') {
            name.append("_").push_back(c);
        } else {
            name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        }
    }
    return name;
}

void describe(const std::vector<Shown>& members, const std::string& prefix, bool in_list,
              std::vector<KeyDescription>& keys) {
    for (const Shown& shown : members) {
        const std::string path = prefix + std::string{shown.name};
        const bool scalar = shown.form == Shown::Form::scalar;
        keys.push_back({path, scalar && !in_list ? environment_name(path) : "",
                        std::string{shown.meaning}, shown.moved});
        if (shown.form == Shown::Form::map) describe(shown.members, path + ".", in_list, keys);
        if (shown.form == Shown::Form::list && !shown.items.empty()) {
            describe(shown.items.front(), path + "[].", true, keys);
        }
    }
}

// Path -> printed value of everything that has one.
void flatten(const std::vector<Shown>& members, const std::string& prefix,
             std::map<std::string, std::string>& values) {
    for (const Shown& shown : members) {
        if (shown.absent || shown.moved) continue;
        const std::string path = prefix + std::string{shown.name};
        if (shown.form == Shown::Form::scalar) values[path] = shown.value;
        if (shown.form == Shown::Form::map) flatten(shown.members, path + ".", values);
        for (std::size_t i = 0; i < shown.items.size(); ++i) {
            flatten(shown.items[i], path + "[" + std::to_string(i) + "].", values);
        }
    }
}

std::map<std::string, std::string> flat(const Config& config) {
    std::map<std::string, std::string> values;
    flatten(show_struct(config), "", values);
    return values;
}

bool may_change(const std::string& path) {
    for (const std::string_view free : {"policy.", "expert.scheduling.", "expert.pools[",
                                        "server.tls.", "server.tokensFile", "logging.level"}) {
        if (path.substr(0, free.size()) == free) return true;
    }
    return false;
}

}  // namespace

namespace {

constexpr const char* kTitle =
    "# gpuctld.yaml: every key with its meaning. A commented line is an example of a key\n"
    "# that has no value by default. Unknown keys are errors. `gpuctld --check-config` checks a\n"
    "# file; SIGHUP loads it again. GPUCTLD_<SECTION>_<KEY> in the environment wins, for example\n"
    "# GPUCTLD_SERVER_PORT=9000.\n";

constexpr const char* kSources =
    "# After each value is its source: default, policy NAME, file:line:column,\n"
    "# environment variable NAME or flag NAME. A commented value with a source is in force, "
    "unless\n"
    "# it says that it has no effect.\n";

std::string print_sections(const Config& config, const Sources* sources) {
    std::string text = kTitle;
    if (sources != nullptr) text += kSources;
    for (const Shown& section : show_struct(config)) {
        if (section.moved) continue;
        Lines lines;
        Printer{sources}.print({section}, "", true, lines);
        text += "\n";
        for (const std::string& line : lines) text += line + "\n";
    }
    return text;
}

}  // namespace

std::string print_config(const Config& config) { return print_sections(config, nullptr); }

std::string print_config_with_sources(const Config& config) {
    const Sources sources{config};
    return print_sections(config, &sources);
}

std::vector<KeyDescription> describe_keys() {
    std::vector<KeyDescription> keys = describe_moved_and_present_keys();
    std::erase_if(keys, [](const KeyDescription& key) { return key.has_moved; });
    return keys;
}

std::vector<KeyDescription> describe_moved_and_present_keys() {
    std::vector<KeyDescription> keys;
    describe(show_struct(Config{}), "", false, keys);
    return keys;
}

Result<void> check_safe(const Config& config) {
    const Server& server = config.server;
    const auto loopback = text::is_loopback(server.address);
    if (!loopback) {
        return make_error(ErrorCode::InvalidConfiguration,
                          config.at("server.address") + "server.address \"" + server.address +
                              "\" is not an IP address");
    }
    if (*loopback) return {};
    std::string missing;
    if (!server.tls) missing = "server.tls (certificateFile and keyFile)";
    if (server.tokens_file.empty())
        missing += (missing.empty() ? "" : " and ") + std::string{"server.tokensFile"};
    if (missing.empty()) return {};
    return make_error(ErrorCode::InvalidConfiguration,
                      config.at("server.address") + "server.address " + server.address +
                          " is not loopback: any client that reaches it could run jobs. Give " +
                          missing + ", or listen on 127.0.0.1");
}

Result<void> check_reloadable(const Config& running, const Config& wanted) {
    const auto before = flat(running);
    const auto after = flat(wanted);
    std::vector<Detail> details;
    const auto differs = [&](const std::string& path, const std::string& from,
                             const std::string& to) {
        if (may_change(path)) return;
        details.push_back({{"/" + path, 0, 0}, path + " cannot change from " + from + " to " + to});
    };
    for (const auto& [path, value] : before) {
        const auto it = after.find(path);
        if (it == after.end()) {
            differs(path, value, "nothing");
        } else if (it->second != value) {
            differs(path, value, it->second);
        }
    }
    for (const auto& [path, value] : after) {
        if (before.find(path) == before.end()) differs(path, "nothing", value);
    }
    if (details.empty()) return {};
    std::string message = "the new configuration needs a restart: " + details.front().message;
    if (details.size() > 1) {
        message += " (and " + std::to_string(details.size() - 1) + " more)";
    }
    return Error{ErrorCode::InvalidConfiguration, std::move(message), std::move(details)};
}

}  // namespace gpuctl::config
