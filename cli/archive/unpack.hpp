#pragma once
// Writes an archive below one folder and nowhere else: folders are opened one by one without
// following links, a file has its name only when it is complete, links and the modes of folders
// come last, links only where they stay inside.

#include <string>
#include <vector>

#include "cli/archive/tar.hpp"

namespace gpuctl::cli {

class Unpacker {
public:
    // What the archive calls `root` is written as `folder`/`name`; other names are refused.
    Unpacker(std::string folder, std::string root, std::string name);
    ~Unpacker();
    Unpacker(const Unpacker&) = delete;
    Unpacker& operator=(const Unpacker&) = delete;

    // `folder` must exist.
    Result<void> open();
    TarReader::Sink sink();
    // Makes the links, and gives the folders their modes.
    Result<void> finish();

    [[nodiscard]] std::uint64_t files() const { return files_; }
    // Devices and the like, which are left out.
    [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

private:
    // What is done when all files are there.
    struct Later {
        std::vector<std::string> parts;
        std::string target;      // of a link; empty: a folder
        std::uint32_t mode = 0;  // of a folder
    };

    Result<std::vector<std::string>> place_of(const std::string& name) const;
    // The folder that holds the last part, made if it is missing.
    Result<int> open_parent(const std::vector<std::string>& parts) const;
    Result<void> begin(const TarEntry& entry);
    Result<void> begin_file(const TarEntry& entry, std::vector<std::string> parts);
    Result<void> write(std::string_view bytes);
    Result<void> end_file();
    Result<void> link_again(const TarEntry& entry, const std::vector<std::string>& parts);
    [[nodiscard]] Result<void> make_link(const Later& link) const;
    [[nodiscard]] Result<void> set_mode(const Later& folder) const;
    void drop_file();

    std::string folder_;
    std::vector<std::string> root_;
    std::string name_;
    int top_ = -1;
    int parent_ = -1;  // of the file being written
    int file_ = -1;
    std::string temporary_;
    std::string final_;
    TarEntry entry_;
    std::vector<Later> later_;
    std::uint64_t files_ = 0;
    std::vector<std::string> left_out_;
};

}  // namespace gpuctl::cli
