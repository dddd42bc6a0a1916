#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "cli/commands.hpp"

namespace gpuctl::cli {

// The offline runner needs the engine and therefore is a program of its own, installed beside us.
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
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    std::cerr << "error: run " << program
              << ": not found; it belongs beside gpuctl (build target gpuctl-replay)\n";
    return 1;
}

}  // namespace gpuctl::cli
