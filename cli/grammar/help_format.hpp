#pragma once
// The order of a help text: what the command does, its usage, examples, flags, remarks.

#include <CLI/CLI.hpp>

namespace gpuctl::cli {

class HelpFormat : public CLI::Formatter {
public:
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override;
};

}  // namespace gpuctl::cli
