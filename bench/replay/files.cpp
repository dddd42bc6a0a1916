#include "bench/replay/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gpuctl::replay {
namespace {

Result<NamedText> read_file(const std::string& path) {
    if (path.empty()) return NamedText{};
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return make_error(ErrorCode::BadRequest, "read " + path + ": it is a folder");
    }
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream content;
    if (!stream) {
        return make_error(ErrorCode::BadRequest, "read " + path + ": " + std::strerror(errno));
    }
    content << stream.rdbuf();
    return NamedText{path, content.str()};
}

}  // namespace

Result<SuiteInput> read_input(const InputPaths& paths) {
    SuiteInput input;
    const std::pair<const std::string*, NamedText*> parts[] = {{&paths.jobs, &input.jobs},
                                                               {&paths.nodes, &input.nodes},
                                                               {&paths.quotas, &input.quotas},
                                                               {&paths.epochs, &input.epochs}};
    for (const auto& [path, text] : parts) {
        auto read = read_file(*path);
        if (!read) return read.error();
        *text = std::move(*read);
    }
    return input;
}

}  // namespace gpuctl::replay
