#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

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

}  // namespace

Result<std::vector<DocumentPart>> read_documents(const std::string& file) {
    std::string text;
    if (file == "-") {
        text.assign(std::istreambuf_iterator<char>{std::cin}, {});
    } else {
        std::ifstream stream{file, std::ios::binary};
        if (!stream) {
            return make_error(ErrorCode::NotFound,
                              "read " + file + ": cannot be opened; check the path");
        }
        text.assign(std::istreambuf_iterator<char>{stream}, {});
    }
    if (text.size() > kFileBytesMax) {
        return make_error(ErrorCode::BodyTooLarge,
                          "read " + file + ": " + std::to_string(text.size()) +
                              " bytes, more than the 16 MiB a file of jobs may have");
    }
    std::vector<DocumentPart> parts;
    std::string current;
    std::size_t line_number = 0;
    std::istringstream lines{text};
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
