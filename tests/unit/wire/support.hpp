#pragma once
// Helpers of the wire and configuration tests.

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::wire {

inline std::string source_path(const std::string& path) {
    return std::string{GPUCTL_SOURCE_DIR} + "/" + path;
}

inline std::string read_source(const std::string& path) {
    std::ifstream file{source_path(path), std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

inline std::string joined(const std::vector<Detail>& details) {
    std::string text;
    for (const Detail& detail : details) {
        text += std::to_string(detail.place.line) + ":" + std::to_string(detail.place.column) +
                " " + detail.place.pointer + " " + detail.message + "\n";
    }
    return text;
}

}  // namespace gpuctl::wire
