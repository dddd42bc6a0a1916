#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <sstream>
#include <system_error>

#include "cli/commands.hpp"

namespace gpuctl::cli {
namespace {

constexpr std::size_t kFileBytesMax = 16u << 20;

bool is_separator(std::string_view line) {
    return line.starts_with("---") && (line.size() == 3 || line[3] == ' ' || line[3] == '\r');
}

// Comments and blank lines alone are no document.
bool has_content(std::string_view text) {
    std::istringstream lines{std::string{text}};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first != std::string::npos && line[first] != '#') return true;
    }
    return false;
}

// Closes a descriptor that it opened; standard input stays open.
class Source {
public:
    explicit Source(const std::string& file)
        : fd_(file == "-" ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~Source() {
        if (fd_ > STDIN_FILENO) close(fd_);
    }
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    // As read(2): -1 with errno, also when the file could not be opened.
    ssize_t read_some(std::span<char> into) const {
        for (;;) {
            const ssize_t count = read(fd_, into.data(), into.size());
            if (count >= 0 || errno != EINTR) return count;
        }
    }
    [[nodiscard]] bool opened() const { return fd_ >= 0; }

private:
    int fd_;
};

Error unreadable(const std::string& file, int problem) {
    if (problem == EISDIR) {
        return make_error(ErrorCode::BadRequest,
                          "read " + file + ": is a directory; name the files in it");
    }
    const ErrorCode code = problem == ENOENT ? ErrorCode::NotFound : ErrorCode::BadRequest;
    return make_error(code, "read " + file + ": cannot be opened or read (" +
                                std::generic_category().message(problem) + "); check the path");
}

}  // namespace

// Never holds more than the limit: a device or a pipe may have no end.
Result<std::string> read_text(const std::string& file) {
    const Source source{file};
    if (!source.opened()) return unreadable(file, errno);
    std::string text;
    std::array<char, 1 << 16> chunk{};
    for (;;) {
        const ssize_t count = source.read_some(chunk);
        if (count < 0) return unreadable(file, errno);
        if (count == 0) return text;
        text.append(chunk.data(), static_cast<std::size_t>(count));
        if (text.size() > kFileBytesMax) {
            return make_error(
                ErrorCode::BodyTooLarge,
                "read " + file + ": has more than the 16 MiB that such a file may have");
        }
    }
}

Result<std::vector<DocumentPart>> read_documents(const std::string& file) {
    Result<std::string> text = read_text(file);
    if (!text) return text.error();
    std::vector<DocumentPart> parts;
    std::string current;
    std::size_t line_number = 0;
    std::istringstream lines{*text};
    for (std::string line; std::getline(lines, line); ++line_number) {
        if (is_separator(line)) {
            if (has_content(current)) parts.push_back({file, current});
            current.assign(line_number + 1, '\n');
            if (line.size() > 4) current.back() = ' ', current += line.substr(3) + "\n";
            continue;
        }
        current += line + "\n";
    }
    if (has_content(current)) parts.push_back({file, current});
    if (parts.empty()) {
        return make_error(ErrorCode::InvalidYaml, "read " + file + ": there is no document in it");
    }
    return parts;
}

}  // namespace gpuctl::cli
