#include "aio/small_file.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "aio/process_user.hpp"

namespace gpuctl::aio {

namespace fs = std::filesystem;

bool is_no_regular_file(const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
}

Result<std::string> read_small_file(const std::string& path) {
    const auto fail = [](std::string why) {
        return make_error(ErrorCode::InvalidConfiguration, std::move(why));
    };
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return fail("it is a directory");
    if (is_no_regular_file(path)) return fail("it is not a regular file");
    std::ifstream in{path, std::ios::binary};
    if (!in) {
        const int number = errno;
        return fail(std::generic_category().message(number) + permission_advice(number));
    }
    std::string text;
    std::array<char, 4096> piece{};
    while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
        text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
        if (text.size() > kSmallFileBytesMax) return fail("it is larger than 1 MiB");
    }
    if (in.bad()) return fail("reading failed");
    return text;
}

}  // namespace gpuctl::aio
