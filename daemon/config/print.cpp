// Configurations as text: the commented file, the list of keys, and what differs between two.

#include "daemon/config/load.hpp"
#include "daemon/config/tables.hpp"
#include "daemon/text/url.hpp"

namespace gpuctl::config {
namespace {

using Lines = std::vector<std::string>;

void print_members(const std::vector<Shown>& members, bool meanings, Lines& lines);

void append(Lines& lines, const Lines& more, std::string_view first, std::string_view rest) {
    for (std::size_t i = 0; i < more.size(); ++i) {
        lines.push_back(std::string{i == 0 ? first : rest} + more[i]);
    }
}

void print_items(const Shown& shown, bool meanings, Lines& lines) {
    bool explain = meanings;
    for (const auto& item : shown.items) {
        Lines inner;
        print_members(item, explain, inner);
        explain = false;  // the meanings stand above the first item's keys only
        // The dash goes in front of the first line that is not a comment.
        bool dashed = false;
        for (const std::string& line : inner) {
            const bool comment = line.substr(0, 1) == "#";
            lines.push_back((dashed || comment ? "    " : "  - ") + line);
            dashed = dashed || !comment;
        }
    }
}

void print_one(const Shown& shown, bool meanings, Lines& lines) {
    Lines own;
    switch (shown.form) {
        case Shown::Form::scalar:
            own.push_back(std::string{shown.name} + ": " + shown.value);
            break;
        case Shown::Form::map: {
            own.push_back(std::string{shown.name} + ":");
            Lines inner;
            print_members(shown.members, meanings, inner);
            append(own, inner, "  ", "  ");
            break;
        }
        case Shown::Form::list:
            own.push_back(std::string{shown.name} + ":");
            print_items(shown, meanings, own);
            break;
    }
    append(lines, own, shown.absent ? "#" : "", shown.absent ? "#" : "");
}

void print_members(const std::vector<Shown>& members, bool meanings, Lines& lines) {
    for (const Shown& shown : members) {
        if (meanings) lines.push_back("# " + std::string{shown.meaning});
        print_one(shown, meanings, lines);
    }
}

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
        keys.push_back(
            {path, scalar && !in_list ? environment_name(path) : "", std::string{shown.meaning}});
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
        if (shown.absent) continue;
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
    for (const std::string_view free :
         {"policy.", "server.tls.", "server.tokensFile", "logging.level"}) {
        if (path.substr(0, free.size()) == free) return true;
    }
    return false;
}

}  // namespace

std::string print_config(const Config& config) {
    std::string text =
        "# gpuctld.yaml: every key with its meaning. What is commented out is an example of a key\n"
        "# that has no value by default. Unknown keys are errors. `gpuctld --check-config` checks "
        "a\n"
        "# file; SIGHUP loads it anew. GPUCTLD_<SECTION>_<KEY> in the environment wins, for "
        "example\n"
        "# GPUCTLD_SERVER_PORT=9000.\n";
    for (const Shown& section : show_struct(config)) {
        Lines lines;
        print_members({section}, true, lines);
        text += "\n";
        for (const std::string& line : lines) text += line + "\n";
    }
    return text;
}

std::vector<KeyDescription> describe_keys() {
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
                          " is not loopback: anybody who reaches it could run jobs. Give " +
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
