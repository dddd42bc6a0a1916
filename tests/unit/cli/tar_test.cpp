// Archives between gpuctl and the tar of an image, and what is written of them.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/archive/unpack.hpp"
#include "cli/sessions/commands.hpp"

namespace gpuctl::cli {
namespace {

namespace fs = std::filesystem;

TarEntry tar_entry(TarKind kind, std::string name, std::uint64_t size = 0, std::string link = "") {
    TarEntry entry;
    entry.kind = kind;
    entry.name = std::move(name);
    entry.size = size;
    entry.link = std::move(link);
    return entry;
}

std::string tar_file(const std::string& name, const std::string& text) {
    return tar_header(tar_entry(TarKind::file, name, text.size())) + text +
           tar_padding(text.size());
}

struct Unpacked {
    Result<void> outcome{};
    std::string message;
};

// A new folder `out` inside another, so that what leaves it is seen.
class Unpacking : public testing::Test {
protected:
    Unpacking() {
        std::string name = (fs::temp_directory_path() / "gpuctl-cp-XXXXXX").string();
        outside_ = ::mkdtemp(name.data());
        out_ = outside_ / "out";
        fs::create_directory(out_);
    }
    ~Unpacking() override { fs::remove_all(outside_); }

    Unpacked unpack(const std::string& archive, const std::string& root = "data",
                    const std::string& name = "data", std::size_t piece = 7) {
        Unpacker unpacker{out_.string(), root, name};
        Result<void> outcome = unpacker.open();
        TarReader reader{unpacker.sink()};
        for (std::size_t at = 0; outcome && at < archive.size(); at += piece) {
            outcome = reader.feed(std::string_view{archive}.substr(at, piece));
        }
        if (outcome) outcome = reader.finish();
        if (outcome) outcome = unpacker.finish();
        return {outcome, outcome ? "" : outcome.error().message};
    }
    std::string text_of_file(const fs::path& path) {
        std::ifstream file{path};
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }
    std::size_t files_outside() {
        std::size_t count = 0;
        for (const auto& file : fs::directory_iterator{outside_}) count += file.path() != out_;
        return count;
    }

    fs::path outside_;
    fs::path out_;
};

TEST_F(Unpacking, files_folders_and_links_arrive_whatever_the_pieces) {
    const std::string long_name = "data/" + std::string(90, 'd') + "/" + std::string(120, 'f');
    const std::string archive =
        tar_header(tar_entry(TarKind::folder, "./data/")) + tar_file("./data/a.txt", "alpha") +
        tar_file(long_name, std::string(1000, 'x')) +
        tar_header(tar_entry(TarKind::symbolic_link, "data/sub/up", 0, "../a.txt")) +
        tar_header(tar_entry(TarKind::hard_link, "data/again", 0, "./data/a.txt")) + tar_end();
    for (const std::size_t piece : {1UL, 511UL, 512UL, 100'000UL}) {
        fs::remove_all(out_ / "data");
        const Unpacked unpacked = unpack(archive, "data", "data", piece);
        ASSERT_TRUE(unpacked.outcome) << unpacked.message;
        EXPECT_EQ(text_of_file(out_ / "data/a.txt"), "alpha");
        EXPECT_EQ(text_of_file(out_ / "data/again"), "alpha");
        EXPECT_EQ(text_of_file(out_ / "data/sub/up"), "alpha");
        EXPECT_EQ(text_of_file(out_ / long_name), std::string(1000, 'x'));
    }
}

TEST_F(Unpacking, a_file_may_get_another_name) {
    EXPECT_TRUE(unpack(tar_file("./data", "alpha") + tar_end(), "data", "copy").outcome);
    EXPECT_EQ(text_of_file(out_ / "copy"), "alpha");
}

TEST_F(Unpacking, names_that_lead_out_are_refused) {
    for (const char* name : {"../x", "data/../../x", "/etc/x", "data/sub/../../../x", "other/x"}) {
        const Unpacked unpacked = unpack(tar_file(name, "evil") + tar_end());
        EXPECT_FALSE(unpacked.outcome) << name;
        EXPECT_NE(unpacked.message.find(name), std::string::npos) << unpacked.message;
        EXPECT_EQ(files_outside(), 0U) << name;
    }
}

TEST_F(Unpacking, links_that_lead_out_are_refused) {
    for (const char* target : {"/etc/passwd", "../../x", "../..", "sub/../../x", "./../../x"}) {
        const Unpacked unpacked = unpack(
            tar_header(tar_entry(TarKind::symbolic_link, "data/link", 0, target)) + tar_end());
        EXPECT_FALSE(unpacked.outcome) << target;
        EXPECT_FALSE(fs::is_symlink(out_ / "data/link")) << target;
    }
}

TEST_F(Unpacking, nothing_is_written_through_a_link) {
    fs::create_directory(out_ / "data");
    fs::create_directory_symlink(outside_, out_ / "data/old");
    EXPECT_FALSE(unpack(tar_file("data/old/x", "evil") + tar_end()).outcome);
    // A link of the archive itself comes after all its files.
    const Unpacked unpacked =
        unpack(tar_header(tar_entry(TarKind::symbolic_link, "data/new", 0, "sub")) +
               tar_file("data/new/x", "text") + tar_end());
    EXPECT_FALSE(unpacked.outcome);
    EXPECT_EQ(files_outside(), 0U);
}

TEST_F(Unpacking, an_archive_that_breaks_off_leaves_no_half_file) {
    const std::string whole = tar_file("data", std::string(3000, 'x')) + tar_end();
    const Unpacked unpacked = unpack(whole.substr(0, 2000));
    EXPECT_FALSE(unpacked.outcome);
    EXPECT_NE(unpacked.message.find("middle of an entry"), std::string::npos) << unpacked.message;
    EXPECT_TRUE(fs::is_empty(out_));
    EXPECT_FALSE(unpack(tar_file("data", "x")).outcome) << "its end is missing";
}

TEST_F(Unpacking, an_existing_file_is_replaced_only_by_a_whole_one) {
    std::ofstream{out_ / "data"} << "old";
    const std::string whole = tar_file("data", std::string(3000, 'x')) + tar_end();
    EXPECT_FALSE(unpack(whole.substr(0, 1500)).outcome);
    EXPECT_EQ(text_of_file(out_ / "data"), "old");
    EXPECT_TRUE(unpack(whole).outcome);
    EXPECT_EQ(text_of_file(out_ / "data").size(), 3000U);
}

TEST_F(Unpacking, what_is_no_archive_is_an_error) {
    EXPECT_FALSE(unpack(std::string(2048, 'x')).outcome);
}

TEST_F(Unpacking, modes_arrive_without_the_set_user_bit) {
    TarEntry entry = tar_entry(TarKind::file, "data", 1);
    entry.mode = 04750;
    EXPECT_TRUE(unpack(tar_header(entry) + "x" + tar_padding(1) + tar_end()).outcome);
    struct stat facts{};
    ASSERT_EQ(::stat((out_ / "data").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0750U);
}

TEST_F(Unpacking, folders_get_their_modes_when_all_is_in_them) {
    TarEntry closed = tar_entry(TarKind::folder, "data");
    closed.mode = 0555;
    const Unpacked done =
        unpack(tar_header(closed) + tar_file("data/one", "1") +
               tar_header(tar_entry(TarKind::symbolic_link, "data/two", 0, "one")) + tar_end());
    ASSERT_TRUE(done.outcome) << done.message;
    struct stat facts{};
    ASSERT_EQ(::stat((out_ / "data").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0555U);
    EXPECT_TRUE(fs::is_symlink(out_ / "data/two"));
    ::chmod((out_ / "data").c_str(), 0700);
}

TEST(Tar, sizes_beyond_the_octal_field_are_read_back) {
    std::uint64_t seen = 0;
    TarReader reader{{[&seen](const TarEntry& entry) -> Result<void> {
                          seen = entry.size;
                          return {};
                      },
                      [](std::string_view) -> Result<void> { return {}; },
                      []() -> Result<void> { return {}; }}};
    const std::uint64_t huge = 10ULL << 30U;
    EXPECT_TRUE(reader.feed(tar_header(tar_entry(TarKind::file, "big", huge))));
    EXPECT_EQ(seen, huge);
}

TEST(Tar, pax_names_and_sizes_win_over_the_header) {
    std::string name;
    TarReader reader{{[&name](const TarEntry& entry) -> Result<void> {
                          name = entry.name;
                          return {};
                      },
                      [](std::string_view) -> Result<void> { return {}; },
                      []() -> Result<void> { return {}; }}};
    const std::string line = "19 path=data/other\n";
    std::string extension = tar_header(tar_entry(TarKind::file, "pax", line.size()));
    extension[156] = 'x';
    // The type is part of the checksum.
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) {
        sum += static_cast<unsigned char>(i >= 148 && i < 156 ? ' ' : extension[i]);
    }
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum);
    extension.replace(148, 7, std::string(text) + '\0');
    EXPECT_TRUE(reader.feed(extension + line + tar_padding(line.size())));
    EXPECT_TRUE(reader.feed(tar_header(tar_entry(TarKind::file, "short"))));
    EXPECT_EQ(name, "data/other");
}

TEST(Cp, a_word_with_a_colon_names_a_file_in_a_pod) {
    EXPECT_EQ(cp_end("llm:/data/x").job, "llm");
    EXPECT_EQ(cp_end("llm:/data/x").path, "/data/x");
    EXPECT_EQ(cp_end("team-a/llm:x:y").job, "team-a/llm");
    EXPECT_EQ(cp_end("team-a/llm:x:y").path, "x:y");
    for (const char* here : {"x", "./a:b", "/a:b", "../a:b", "~/a:b", ":x"}) {
        EXPECT_EQ(cp_end(here).job, "") << here;
        EXPECT_EQ(cp_end(here).path, here);
    }
}

TEST(PortForward, ports_are_read_as_kubectl_reads_them) {
    EXPECT_EQ(port_pair("8080:80")->local, 8080);
    EXPECT_EQ(port_pair("8080:80")->remote, 80);
    EXPECT_EQ(port_pair("80")->local, 80);
    EXPECT_EQ(port_pair(":80")->local, 0);
    for (const char* bad : {"", ":", "x", "0", "65536", "80:", "80:x", "1:2:3", "-1", " 80"}) {
        EXPECT_FALSE(port_pair(bad)) << bad;
    }
}

TEST(Run, the_document_holds_what_was_given) {
    RunOptions options;
    options.name = "smi";
    options.image = "cuda";
    options.gpu = "1";
    options.pool = "training-pool";
    options.command = {"sh", "-c", "echo \"a b\""};
    const auto document = nlohmann::json::parse(run_document(options));
    EXPECT_EQ(document["job"]["name"], "smi");
    EXPECT_EQ(document["environment"]["command"][2], "echo \"a b\"");
    EXPECT_EQ(document["resources"]["gpu"], "1");
    EXPECT_EQ(document["resources"]["pool"], "training-pool");
}

}  // namespace
}  // namespace gpuctl::cli
