#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include "cli/commands/commands.hpp"
#include "wire/job/document.hpp"
#include "wire/job/job_document.hpp"

namespace gpuctl::cli {
namespace {

constexpr std::size_t kFileBytesMax = 16u << 20;

// `---` and `...`, followed by nothing or by a space and any text.
bool is_marker(std::string_view line, std::string_view marker) {
    return line.starts_with(marker) &&
           (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
}

// Splits a YAML stream. Comments, blank lines and directives alone are no document.
//
//     prologue --"---" or content--> body --"..."--> prologue
//                                    body --"---"--> body of the next
class Cutter {
public:
    explicit Cutter(std::string file) : file_(std::move(file)) {}

    void add_line(const std::string& line) {
        ++lines_;
        if (is_marker(line, "...")) return begin_next(true);
        if (is_marker(line, "---")) return separate(line);
        const std::size_t first = line.find_first_not_of(" \t\r");
        const bool is_content = first != std::string::npos && line[first] != '#';
        if (is_content && in_prologue_ && line[0] == '%') {
            has_directives_ = true;
        } else if (is_content) {
            has_content_ = true;
            in_prologue_ = false;
        }
        text_ += line + "\n";
    }
    std::vector<DocumentPart> finish() {
        begin_next(true);
        return std::move(parts_);
    }

private:
    void separate(const std::string& line) {
        const bool keeps_directives = in_prologue_ && has_directives_;
        // Directives without a following `---` are no document.
        if (!keeps_directives) begin_next(false);
        in_prologue_ = false;
        const std::string rest = line.substr(3);
        const std::size_t first = rest.find_first_not_of(" \t\r");
        has_content_ = first != std::string::npos && rest[first] != '#';
        if (keeps_directives) {
            text_ += line + "\n";
        } else if (has_content_) {
            text_.pop_back();
            text_ += "   " + rest + "\n";  // in the same column as before
        }
    }
    void begin_next(bool in_prologue) {
        if (has_content_) parts_.push_back({file_, text_});
        text_.assign(lines_, '\n');
        has_content_ = false;
        has_directives_ = false;
        in_prologue_ = in_prologue;
    }

    std::string file_;
    std::string text_;
    std::size_t lines_ = 0;
    bool in_prologue_ = true;
    bool has_directives_ = false;
    bool has_content_ = false;
    std::vector<DocumentPart> parts_;
};

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
    return make_error(code, "read " + file + ": cannot be read (" +
                                std::generic_category().message(problem) + "); check the path");
}

}  // namespace

// Never stores more than the limit: a device or a pipe may have no end.
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
            return make_error(ErrorCode::BodyTooLarge,
                              "read " + file + ": larger than the 16 MiB allowed for a file");
        }
    }
}

Result<std::vector<DocumentPart>> read_documents(const std::string& file) {
    Result<std::string> text = read_text(file);
    if (!text) return text.error();
    Cutter cutter{file};
    std::istringstream lines{wire::without_byte_order_marks(*text)};
    for (std::string line; std::getline(lines, line);) cutter.add_line(line);
    std::vector<DocumentPart> parts = cutter.finish();
    if (parts.empty()) {
        return make_error(ErrorCode::InvalidYaml, "read " + file + ": contains no document");
    }
    return parts;
}

Result<void> check_whole(const std::vector<DocumentPart>& parts) {
    std::vector<wire::Document> documents;
    for (const DocumentPart& part : parts) {
        Result<std::vector<wire::Document>> parsed = wire::parse_yaml(part.text);
        if (!parsed) return {};  // the server reports it, with all other errors
        for (wire::Document& document : *parsed) documents.push_back(std::move(document));
    }
    return wire::check_stream(documents);
}

}  // namespace gpuctl::cli
