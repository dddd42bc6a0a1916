#include "wire/job/job_rules.hpp"

#include <algorithm>

#include "text/characters.hpp"

namespace gpuctl::wire {
namespace {

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

std::string too_long(std::size_t length, std::size_t length_max) {
    return "has " + std::to_string(length) + " characters; at most " + std::to_string(length_max) +
           " are allowed";
}

std::string problem_with_parts(std::string_view label, bool letter_first) {
    constexpr const char* rule = "use lower-case letters, digits and hyphens";
    if (label.empty()) return "is empty";
    if (std::string invisible = text::problem_with_invisible(label); !invisible.empty())
        return invisible;
    for (const char c : label) {
        if (is_lower(c) || is_digit(c) || c == '-') continue;
        const bool printable = c > ' ' && c < 0x7f;
        return printable ? std::string{"has a '"} + c + "' in it; " + rule
                         : std::string{"has a character that is not allowed; "} + rule;
    }
    if (letter_first && !is_lower(label.front())) return "must start with a lower-case letter";
    if (label.front() == '-' || label.back() == '-') {
        return "must start and end with a letter or a digit";
    }
    return "";
}

}  // namespace

std::string problem_with_name(std::string_view name, std::size_t length_max) {
    if (name.size() > length_max) return too_long(name.size(), length_max);
    return problem_with_parts(name, true);
}

std::string problem_with_label(std::string_view label) {
    if (label.size() > 63) return too_long(label.size(), 63);
    return problem_with_parts(label, false);
}

std::string problem_with_subdomain(std::string_view name) {
    if (name.size() > 253) return too_long(name.size(), 253);
    for (;;) {
        const std::size_t dot = std::min(name.find('.'), name.size());
        if (std::string problem = problem_with_parts(name.substr(0, dot), false);
            !problem.empty()) {
            return problem;
        }
        if (dot == name.size()) return "";
        name.remove_prefix(dot + 1);
    }
}

std::string problem_with_label_value(std::string_view value) {
    if (value.empty()) return "is empty";
    if (value.size() > 63) return too_long(value.size(), 63);
    if (std::string invisible = text::problem_with_invisible(value); !invisible.empty())
        return invisible;
    const auto edge = [](char c) { return is_letter(c) || is_digit(c); };
    const bool inside = std::all_of(value.begin(), value.end(), [&](char c) {
        return edge(c) || c == '-' || c == '_' || c == '.';
    });
    if (!inside) return "may only hold letters, digits, '-', '_' and '.'";
    if (!edge(value.front()) || !edge(value.back())) {
        return "must start and end with a letter or a digit";
    }
    return "";
}

std::string problem_with_variable_name(std::string_view name) {
    if (name.empty()) return "is empty";
    if (name.size() > 253) return too_long(name.size(), 253);
    if (std::string invisible = text::problem_with_invisible(name); !invisible.empty())
        return invisible;
    const bool inside = std::all_of(name.begin(), name.end(), [](char c) {
        return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
    });
    if (!inside || is_digit(name.front())) {
        return "must be letters, digits, '_', '-' and '.', and not start with a digit";
    }
    return "";
}

std::string problem_with_path(std::string_view path) {
    if (path.empty()) return "is empty";
    if (path.size() > kPathBytesMax) return too_long(path.size(), kPathBytesMax);
    if (std::string invisible = text::problem_with_invisible(path); !invisible.empty())
        return invisible;
    if (path.front() != '/') return "must be absolute (start with /)";
    if (path.find(':') != std::string_view::npos) return "may not hold a ':'";
    if (path.find_first_not_of("/.") == std::string_view::npos) {
        return "is the root of the file system";
    }
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        if (path.substr(at, end - at) == "..") return "may not hold \"..\"";
        at = end + 1;
    }
    return "";
}

std::string clean_path(std::string_view path) {
    std::string result;
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        const std::string_view part = path.substr(at, end - at);
        if (!part.empty() && part != ".") result.append("/").append(part);
        at = end + 1;
    }
    return result.empty() ? "/" : result;
}

bool is_below(std::string_view path, const std::vector<std::string>& roots) {
    return std::any_of(roots.begin(), roots.end(), [&](const std::string& written) {
        const std::string root = clean_path(written);
        if (root == "/" || path == root) return true;
        return path.size() > root.size() && path.substr(0, root.size()) == root &&
               path[root.size()] == '/';
    });
}

namespace {

constexpr std::string_view kHostDirectories[] = {"/etc", "/var/run", "/run",  "/proc",
                                                 "/sys", "/dev",     "/root", "/boot"};

bool is_within(std::string_view path, std::string_view directory) {
    return path == directory || (path.size() > directory.size() && path.starts_with(directory) &&
                                 path[directory.size()] == '/');
}

// A root inside the directory, such as /etc/nginx, names it on purpose; for a path around it, such
// as /var, only this path itself does.
bool is_named(std::string_view path, std::string_view directory,
              const std::vector<std::string>& roots) {
    return std::any_of(roots.begin(), roots.end(), [&](const std::string& written) {
        const std::string root = clean_path(written);
        if (root == path) return true;
        return is_within(root, directory) && is_within(path, root);
    });
}

}  // namespace

std::string problem_with_host_path(std::string_view path, const std::vector<std::string>& roots) {
    if (roots.empty()) {
        return "cannot be mounted: hostPathRoots in gpuctld.yaml allows no path of a host; use a "
               "volume, storage: {data: {mountPath: " +
               std::string{path} + ", size: 100Gi}}";
    }
    if (!is_below(path, roots)) {
        std::string allowed;
        for (const std::string& root : roots) allowed += (allowed.empty() ? "" : ", ") + root;
        return "is not below an allowed one (" + allowed +
               "); hostPathRoots in gpuctld.yaml lists them";
    }
    for (const std::string_view directory : kHostDirectories) {
        if (!is_within(path, directory) && !is_within(directory, path)) continue;
        if (is_named(path, directory, roots)) continue;
        return "gives control over the host (" + std::string{directory} +
               "), so hostPathRoots in gpuctld.yaml must name it itself";
    }
    return "";
}

}  // namespace gpuctl::wire
