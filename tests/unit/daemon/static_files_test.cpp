#include "daemon/api/http/static_files.hpp"

#include <fstream>

#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl::api {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& content) {
    fs::create_directories(path.parent_path());
    std::ofstream{path} << content;
}

struct PageFolder {
    PageFolder() {
        write(root() / "index.html", "<p>front</p>");
        write(root() / "assets" / "app.js", "let x;");
        write(root() / "help" / "index.html", "<p>help</p>");
        write(root() / ".secret", "hidden");
        write(root() / ".git" / "config", "hidden");
        write(fs::path{dir.path()} / "outside.txt", "outside");
    }
    [[nodiscard]] fs::path root() const { return fs::path{dir.path()} / "page"; }
    [[nodiscard]] StaticFiles files() const { return StaticFiles::read(root().string()).value(); }
    TempDir dir;
};

Result<net::HttpResponse> get(const StaticFiles& files, const std::string& target,
                              std::string_view none_match = "") {
    const net::Target parsed = net::parse_target(target);
    EXPECT_FALSE(parsed.malformed) << target;
    const std::vector<std::string> below{parsed.segments.begin() + 1, parsed.segments.end()};
    return files.answer(below, target, none_match);
}

TEST(StaticFiles, a_file_is_answered_with_its_media_type_and_tag) {
    const PageFolder page;
    const auto answer = get(page.files(), "/ui/assets/app.js?v=2");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "let x;");
    EXPECT_EQ(answer->fields.get("Content-Type"), "text/javascript; charset=utf-8");
    EXPECT_EQ(answer->fields.get("ETag").size(), 18u);
    EXPECT_EQ(answer->fields.get("Cache-Control"), "no-cache");
}

TEST(StaticFiles, a_known_tag_is_answered_304_without_a_body) {
    const PageFolder page;
    const StaticFiles files = page.files();
    const std::string tag{get(files, "/ui/assets/app.js")->fields.get("ETag")};
    for (const std::string& known : {tag, "W/" + tag, "\"a\", " + tag, std::string{"*"}}) {
        const auto answer = get(files, "/ui/assets/app.js", known);
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->status, 304) << known;
        EXPECT_EQ(answer->body, "");
        EXPECT_EQ(answer->fields.get("ETag"), tag);
    }
    EXPECT_EQ(get(files, "/ui/assets/app.js", "\"other\"")->status, 200);
}

TEST(StaticFiles, index_html_is_served_for_its_directory) {
    const PageFolder page;
    const StaticFiles files = page.files();
    EXPECT_EQ(get(files, "/ui/")->body, "<p>front</p>");
    EXPECT_EQ(get(files, "/ui/help/")->body, "<p>help</p>");
    for (const char* without_slash : {"/ui", "/ui/help", "/ui/help?x=1"}) {
        const auto moved = get(files, without_slash);
        ASSERT_TRUE(moved) << without_slash;
        EXPECT_EQ(moved->status, 308);
        const std::string_view path = without_slash;
        EXPECT_EQ(moved->fields.get("Location"), std::string{path.substr(0, path.find('?'))} + "/");
    }
    EXPECT_FALSE(get(files, "/ui/assets/")) << "a directory without index.html is not listed";
}

TEST(StaticFiles, nothing_outside_the_directory_can_be_named) {
    const PageFolder page;
    const StaticFiles files = page.files();
    for (const char* target : {"/ui/..%2foutside.txt", "/ui/assets%2fapp.js", "/ui/.secret",
                               "/ui/.git/config", "/ui/..%5coutside.txt", "/ui/assets/app.js/",
                               "/ui/%252e%252e/outside.txt", "/ui/no-such-file"}) {
        const auto answer = get(files, target);
        ASSERT_FALSE(answer) << target;
        EXPECT_EQ(answer.error().code, ErrorCode::NotFound);
    }
    for (const char* target : {"/ui/../outside.txt", "/ui/%2e%2e/outside.txt", "/ui//etc/passwd",
                               "/ui/a%00.txt", "/ui/./index.html"}) {
        EXPECT_TRUE(net::parse_target(target).malformed) << target;
    }
}

TEST(StaticFiles, a_link_is_followed_within_the_directory_only) {
    const PageFolder page;
    fs::create_symlink("assets/app.js", page.root() / "linked.js");
    EXPECT_EQ(get(page.files(), "/ui/linked.js")->body, "let x;");
    fs::create_symlink("../outside.txt", page.root() / "leak.txt");
    const auto refused = StaticFiles::read(page.root().string());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("leads out of the directory"), std::string::npos);
}

TEST(StaticFiles, a_link_to_a_directory_is_followed) {
    const PageFolder page;
    // As the kubelet mounts a ConfigMap: names in front, contents behind a hidden directory.
    write(page.root() / "..2024_01_01" / "lib" / "deep" / "lib.js", "let y;");
    fs::create_directory_symlink("..2024_01_01", page.root() / "..data");
    fs::create_directory_symlink("..data/lib", page.root() / "lib");
    fs::create_directory_symlink("../assets", page.root() / "help" / "assets");
    const StaticFiles files = page.files();
    EXPECT_EQ(get(files, "/ui/lib/deep/lib.js")->body, "let y;");
    EXPECT_EQ(get(files, "/ui/help/assets/app.js")->body, "let x;");
    EXPECT_FALSE(get(files, "/ui/..data/lib/deep/lib.js"));
    EXPECT_EQ(files.size(), 5u);
}

std::string refusal_of(const PageFolder& page) {
    const auto read = StaticFiles::read(page.root().string());
    return read ? "accepted" : read.error().message;
}

TEST(StaticFiles, a_link_that_leads_out_or_to_nothing_is_an_error) {
    const auto refusal_with = [](const char* target) {
        const PageFolder page;
        write(fs::path{page.dir.path()} / "page-2" / "leak.txt", "outside");
        fs::create_symlink(target, page.root() / "help" / "link");
        return refusal_of(page);
    };
    EXPECT_TRUE(refusal_with("../../page-2")
                    .ends_with("page/help/link: it is a link that leads out of the directory"));
    EXPECT_TRUE(refusal_with("../..").ends_with("leads out of the directory"));
    EXPECT_TRUE(refusal_with("/etc").ends_with("leads out of the directory"));
    EXPECT_TRUE(refusal_with("gone").ends_with("help/link: No such file or directory"));
    EXPECT_EQ(refusal_with("../assets"), "accepted");
}

TEST(StaticFiles, links_to_directories_end) {
    const PageFolder parent;
    fs::create_directory_symlink("..", parent.root() / "help" / "up");
    EXPECT_TRUE(refusal_of(parent).ends_with("help/up: it is a link to a directory that it is in"));
    const PageFolder ring;
    fs::create_directory_symlink("../help", ring.root() / "assets" / "help");
    EXPECT_EQ(refusal_of(ring), "accepted");
    fs::create_directory_symlink("../assets", ring.root() / "help" / "assets");
    EXPECT_TRUE(refusal_of(ring).ends_with("it is a link to a directory that it is in"));
    // No file, and 2^40 ways to the last directory.
    const PageFolder ways;
    for (int i = 0; i < 40; ++i) {
        const fs::path folder = ways.root() / std::to_string(i);
        fs::create_directories(folder);
        for (const char* way : {"a", "b"}) {
            if (i > 0) fs::create_directory_symlink("../" + std::to_string(i - 1), folder / way);
        }
    }
    EXPECT_NE(refusal_of(ways).find("more than 4096 files or directories"), std::string::npos);
}

TEST(StaticFiles, files_and_directories_are_bounded) {
    const PageFolder deep;
    fs::path folder = deep.root();
    for (int i = 0; i < 63; ++i) folder /= "d";
    fs::create_directories(folder);
    EXPECT_EQ(refusal_of(deep), "accepted");
    fs::create_directories(folder / "d");
    EXPECT_NE(refusal_of(deep).find("it is more than 64 directories deep"), std::string::npos);
    const PageFolder large;
    write(large.root() / "large.bin", "");
    fs::resize_file(large.root() / "large.bin", kStaticBytesMax + 1);
    EXPECT_NE(refusal_of(large).find("or 64 MiB"), std::string::npos);
}

TEST(StaticFiles, a_missing_directory_is_an_error_that_names_the_key) {
    const auto refused = StaticFiles::read("/no/such/directory");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("server.uiDirectory: /no/such/directory"),
              std::string::npos);
}

aio::Task<void> ask_without_page(Daemon& daemon) {
    net::HttpResponse answer = co_await daemon.get("/ui/");
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(error_code(answer), "NotFound");
}

aio::Task<void> ask_for_page(Daemon& daemon) {
    net::HttpResponse page = co_await daemon.get("/ui/");
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.body, "<p>front</p>");
    EXPECT_EQ(page.fields.get("X-Content-Type-Options"), "nosniff");
    // A page may keep its own state in the query.
    net::HttpResponse reloaded = co_await daemon.get("/ui/?job=a&tab&x=");
    EXPECT_EQ(reloaded.status, 200) << reloaded.body;
    net::HttpResponse head = co_await daemon.call("HEAD", "/ui/", "", "");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.body, "");
    EXPECT_EQ(head.fields.get("ETag"), page.fields.get("ETag"));
    net::HttpRequest again;
    again.target = "/ui/";
    again.fields.set("If-None-Match", std::string{page.fields.get("ETag")});
    net::HttpResponse unchanged = co_await daemon.send(std::move(again));
    EXPECT_EQ(unchanged.status, 304);
    EXPECT_EQ(unchanged.body, "");
    net::HttpResponse posted = co_await daemon.call("POST", "/ui/", "x", "text/plain");
    EXPECT_EQ(posted.status, 405);
    EXPECT_EQ(posted.fields.get("Allow"), "GET, HEAD");
}

TEST(StaticFiles, a_browser_gets_the_page_and_revalidates_by_its_tag) {
    const PageFolder page;
    config::Config config = quick_config(page.dir.path() + "/journal");
    config.server.ui_directory = page.root().string();
    Daemon{std::move(config)}.run(ask_for_page);
}

TEST(StaticFiles, without_a_directory_there_is_no_page) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(ask_without_page);
}

}  // namespace
}  // namespace gpuctl::api
