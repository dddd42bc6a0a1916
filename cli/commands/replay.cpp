#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cli/commands/commands.hpp"

namespace gpuctl::cli {

// The offline runner needs the engine and therefore is a separate program, installed next to this
// one.
int exec_replay(const ReplayOptions& options) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    std::string program = (self.parent_path() / "gpuctl-replay").string();
    if (error || !std::filesystem::exists(program)) {
        const std::string candidate = self.parent_path().string() + "/../lib/gpuctl/gpuctl-replay";
        if (std::filesystem::exists(candidate)) program = candidate;
    }
    std::vector<std::string> words{program, options.directory};
    if (options.events) words.emplace_back("--events");
    if (options.verify) words.emplace_back("--verify");
    if (options.format == Format::json) words.emplace_back("--json");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    const std::string cause = std::generic_category().message(errno);
    return report(make_error(ErrorCode::Internal,
                             "run " + program + ": " + cause +
                                 "; install it next to gpuctl (build target gpuctl-replay)"),
                  options.format);
}

}  // namespace gpuctl::cli
