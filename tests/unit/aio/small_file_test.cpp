#include "aio/small_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace gpuctl::aio {
namespace {

namespace fs = std::filesystem;

class SmallFile : public testing::Test {
protected:
    SmallFile() {
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    ~SmallFile() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string at(const std::string& name) const { return folder_ / name; }
    [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{at(name), std::ios::binary} << text;
        return at(name);
    }
    static std::string why_not(const std::string& path) {
        const Result<std::string> text = read_small_file(path);
        return text ? "it is read" : text.error().message;
    }

private:
    const fs::path folder_ = fs::path{testing::TempDir()} / "small_file_test";
};

TEST_F(SmallFile, is_read_whole_also_through_a_link) {
    const std::string text(10'000, 'x');
    const std::string file = write("file", text + '\0' + "end");
    fs::create_symlink(file, at("link"));
    for (const std::string& path : {file, at("link")}) {
        const Result<std::string> read = read_small_file(path);
        ASSERT_TRUE(read) << path;
        EXPECT_EQ(*read, text + '\0' + "end");
        EXPECT_FALSE(is_no_regular_file(path));
    }
}

TEST_F(SmallFile, that_cannot_be_read_is_an_error_with_its_cause) {
    EXPECT_EQ(why_not(at("nowhere")), "No such file or directory");
    EXPECT_EQ(why_not(at("")), "it is a directory");
    EXPECT_EQ(why_not(write("large", std::string(kSmallFileBytesMax + 1, 'x'))),
              "it is larger than 1 MiB");
    EXPECT_EQ(why_not(write("just", std::string(kSmallFileBytesMax, 'x'))), "it is read");
}

TEST_F(SmallFile, a_pipe_or_device_is_not_opened) {
    ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
    EXPECT_EQ(why_not(at("pipe")), "it is not a regular file");
    EXPECT_EQ(why_not("/dev/zero"), "it is not a regular file");
    EXPECT_TRUE(is_no_regular_file(at("pipe")));
    EXPECT_FALSE(is_no_regular_file(at("nowhere")));
}

}  // namespace
}  // namespace gpuctl::aio
