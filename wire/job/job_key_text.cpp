// The table of job_keys.hpp as text: `gpuctl explain-yaml` and docs/yaml.md.

#include <algorithm>

#include "scheduler/base/ascii.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "wire/job/job_keys.hpp"

namespace gpuctl::wire {
namespace {

constexpr JobKind kKinds[] = {JobKind::training, JobKind::inference, JobKind::notebook,
                              JobKind::compute};

std::string listed(std::string_view words) {
    std::string text;
    for (const char c : words) text += c == ' ' ? std::string{", "} : std::string{c};
    return text;
}

std::string kinds_text(JobKinds kinds) {
    std::string text;
    for (const JobKind kind : kKinds) {
        if (kinds.has(kind)) text += (text.empty() ? "" : ", ") + std::string{to_string(kind)};
    }
    return text;
}

std::string allowed_text(const JobKey& key) {
    if (!key.choices.empty()) return listed(key.choices);
    if (key.low == 0 && key.high == 0) return "";
    return std::to_string(key.low) + " to " + std::to_string(key.high);
}

// Lines of at most 80 columns, indented.
std::string wrapped(std::string_view text) {
    constexpr std::size_t kWidth = 78;
    std::string lines;
    std::string line;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
            lines += "  " + line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : " ") + std::string{word};
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines + "  " + line + "\n";
}

void add_line(std::string& text, std::string_view label, std::string_view value) {
    if (value.empty()) return;
    std::string start{label};
    start.resize(10, ' ');
    text += start + std::string{value} + "\n";
}

// "port   whole number, default 8000 ..."
std::string member_line(const JobKey& key) {
    std::string name{last_part(key.path)};
    std::string about = std::string{key.type};
    if (key.is_required) about += ", required";
    if (!key.standard.empty()) about += ", default " + std::string{key.standard};
    name.resize(std::max<std::size_t>(name.size() + 1, 26), ' ');
    return "  " + name + about + "\n";
}

std::string members_text(std::string_view path, JobKind kind) {
    std::string text;
    for (const JobKey* member : members_of(path)) {
        if (member->kinds.has(kind)) text += member_line(*member);
    }
    return text.empty() ? "" : "\nKeys:\n" + text;
}

// The value inside of its sections: "resources: {gpu: 1}".
std::string example_text(const JobKey& key) {
    if (key.example.empty()) return "";
    std::string text{key.example};
    std::string_view path = key.path;
    bool is_inner = false;
    for (;;) {
        const std::size_t dot = path.rfind('.');
        std::string_view part = dot == std::string_view::npos ? path : path.substr(dot + 1);
        const bool is_element = part.ends_with("[]");
        if (is_element) part.remove_suffix(2);
        if (is_element) text = "[" + text + "]";
        text = (part == "NAME" ? "cache" : std::string{part}) + ": " + text;
        if (dot == std::string_view::npos) break;
        text = "{" + text + "}";
        path = path.substr(0, dot);
        is_inner = true;
    }
    (void)is_inner;
    return "\nExample:\n  " + text + "\n";
}

std::string about_key(const JobKey& key, JobKind kind) {
    std::string text = std::string{to_string(kind)} + "." + std::string{key.path} + "\n\n" +
                       wrapped(key.meaning) + "\n";
    add_line(text, "Type:", key.type);
    add_line(text, "Required:", key.is_required ? "yes" : "no");
    add_line(text, "Default:", key.standard);
    add_line(text, "Allowed:", allowed_text(key));
    add_line(text, "Also as:", listed(key.aliases));
    add_line(text, "Kinds:", kinds_text(key.kinds));
    return text + members_text(key.path, kind) + example_text(key);
}

std::string about_kind(JobKind kind) {
    const std::string name{to_string(kind)};
    return name + "\n\n" +
           wrapped("A job document of kind " + name +
                   ". Keys may also be written with hyphens or underscores (gpu-type, gpu_type).") +
           members_text("", kind) + "\nMore: gpuctl explain-yaml " + name + ".KEY\n";
}

// The row whose path has these parts, in any spelling; "storage.cache.size" is storage.NAME.size.
const JobKey* find_as_written(std::string_view written) {
    const auto folded = [](std::string_view path) {
        std::string text;
        for (const char c : folded_key(path)) {
            if (c != '[' && c != ']') text += c;
        }
        return text;
    };
    const std::string wanted = folded(written);
    for (const JobKey& key : job_keys()) {
        if (folded(key.path) == wanted) return &key;
    }
    for (const JobKey& key : job_keys()) {  // by an alias of its last part
        const std::size_t start = key.path.size() - last_part(key.path).size();
        std::string_view names = key.aliases;
        while (!names.empty()) {
            const std::size_t end = std::min(names.find(' '), names.size());
            const std::string path =
                std::string{key.path.substr(0, start)} + std::string{names.substr(0, end)};
            if (folded(path) == wanted) return &key;
            names.remove_prefix(std::min(end + 1, names.size()));
        }
    }
    if (!wanted.starts_with("storage.")) return nullptr;
    const std::size_t dot = wanted.find('.', 8);
    const std::string rest = dot == std::string::npos ? "" : wanted.substr(dot);
    for (const JobKey& key : job_keys()) {
        if (folded(key.path) == "storage.name" + rest) return &key;
    }
    return nullptr;
}

std::string nearest_key(std::string_view written, JobKind kind) {
    std::vector<std::string> paths;
    std::string home;
    for (const JobKey& key : job_keys()) {
        if (!key.kinds.has(kind)) continue;
        paths.emplace_back(key.path);
        if (folded_key(last_part(key.path)) == folded_key(last_part(written))) home = key.path;
    }
    const std::string nearest = nearest_name(written, paths);
    return nearest.empty() ? home : nearest;
}

}  // namespace

Result<KeyOfKind> find_key_of_kind(std::string_view what) {
    const std::size_t dot = std::min(what.find('.'), what.size());
    const std::string name = lower_case(std::string{what.substr(0, dot)});
    const auto kind = job_kind_of(name);
    if (!kind) {
        const std::string nearest =
            nearest_name(name, {"training", "inference", "notebook", "compute"});
        return make_error(
            ErrorCode::BadRequest,
            "explain the YAML of \"" + name.substr(0, 60) + "\": there is no such kind of job; " +
                (nearest.empty() ? "write training, inference, notebook or compute, and a key "
                                   "behind it, such as training.resources.gpu"
                                 : "did you mean " + nearest + "?"));
    }
    if (dot == what.size()) return KeyOfKind{*kind, nullptr};
    const std::string_view path = what.substr(dot + 1);
    const JobKey* key = find_as_written(path);
    if (key != nullptr && key->kinds.has(*kind)) return KeyOfKind{*kind, key};
    std::string message = "explain the YAML of " + name + ": ";
    if (key != nullptr) {
        return make_error(ErrorCode::BadRequest, message + std::string{key->path} +
                                                     " is not a key of this kind; it is one of " +
                                                     kinds_text(key->kinds));
    }
    const std::string nearest = nearest_key(path, *kind);
    message += "there is no key \"" + std::string{path.substr(0, 60)} + "\"; ";
    message += nearest.empty() ? "`gpuctl explain-yaml " + name + "` lists the keys"
                               : "did you mean " + name + "." + nearest + "?";
    return make_error(ErrorCode::BadRequest, std::move(message));
}

std::string explain_job_key(KeyOfKind what) {
    return what.key == nullptr ? about_kind(what.kind) : about_key(*what.key, what.kind);
}

std::string job_keys_page() {
    std::string page =
        "# Keys of job documents\n\n"
        "One table of the program (`wire/job/job_key_rows.cpp`) drives the checks of documents, "
        "`gpuctl explain-yaml`\nand this page, which `wire_tests` compares with it: "
        "`GPUCTL_UPDATE_GOLDEN=1` writes it. A key may also be written\nwith hyphens or "
        "underscores: `gpuType`, `gpu-type` and `gpu_type` are one key. An unknown key is a "
        "warning with the\nnearest name, and an error with `--strict`. `NAME` is a name of your "
        "choice, `[]` an element of a list.\n";
    for (const JobKey* section : members_of("")) {
        const std::string title{section->path};
        page += "\n## " + title + "\n\n" + std::string{section->meaning} +
                "\nKinds: " + kinds_text(section->kinds) + "." +
                (section->is_required ? " Required." : "") + "\n";
        std::string rows;
        for (const JobKey& key : job_keys()) {
            if (!key.path.starts_with(title + ".")) continue;
            std::string about{key.meaning};
            if (const std::string allowed = allowed_text(key); !allowed.empty()) {
                about += " " + allowed + ".";
            }
            if (key.kinds.bits != section->kinds.bits)
                about += " Only " + kinds_text(key.kinds) + ".";
            if (!key.aliases.empty()) about += " Also `" + listed(key.aliases) + "`.";
            const std::string needed = key.is_required ? "required" : std::string{key.standard};
            rows += "| `" + std::string{key.path} + "` | " + std::string{key.type} + " | " +
                    needed + " | " + about + " | " +
                    (key.example.empty() ? "" : "`" + std::string{key.example} + "`") + " |\n";
        }
        if (!rows.empty()) {
            page +=
                "\n| key | type | default | meaning | example |\n"
                "| --- | --- | --- | --- | --- |\n" +
                rows;
        }
    }
    return page;
}

}  // namespace gpuctl::wire
