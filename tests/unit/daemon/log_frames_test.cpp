// The frames of a followed log on the wire: each has the form that docs/log-frames.md shows, and
// unfinished lines come no more often than stated there.

#include <fstream>

#include "net/websocket/websocket.hpp"
#include "unit/daemon/daemon_fixture.hpp"

namespace gpuctl {
namespace {

using Json = nlohmann::ordered_json;

struct Frame {
    Json json;
    std::chrono::steady_clock::time_point at;
};

std::vector<std::string> keys_of(const Json& frame) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : frame.items()) keys.push_back(key);
    return keys;
}

// The examples of the document, by type.
std::map<std::string, Json> documented() {
    std::ifstream file{GPUCTL_SOURCE_DIR "/docs/log-frames.md"};
    std::map<std::string, Json> frames;
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("    {")) continue;
        const Json frame = Json::parse(line);
        frames[frame["type"]] = frame;
    }
    return frames;
}

// Ranks that draw a bar for that long, redrawn each 20 ms, and run for half a second more.
std::string with_bar(int bar_ms, int ranks, const std::string& job = "llm") {
    return "kind: training\njob: {name: " + job +
           "}\nenvironment: {image: i, env: "
           "{GPUCTL_SIM_PROGRESS_BAR: " +
           std::to_string(bar_ms) + "ms, GPUCTL_SIM_LOG_INTERVAL: 20ms, GPUCTL_SIM_RUN_TIME: " +
           std::to_string(bar_ms + 500) +
           "ms}}\nresources: {pool: training, gpu: 1, cpu: 1, memory: " + "1Gi, nodeCount: " +
           std::to_string(ranks) + "}\n";
}

// A reader's rate: four a second, and one at each end of the span.
std::int64_t most_in(std::chrono::steady_clock::duration span) {
    return std::chrono::ceil<std::chrono::milliseconds>(span).count() / 250 + 2;
}

aio::Task<std::vector<Frame>> follow(Daemon& daemon, std::string query, std::size_t frames_max,
                                     std::string job = "llm") {
    net::HttpRequest upgrade;
    upgrade.target = "/api/v1/jobs/" + job + "/logs/ws" + query;
    const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{30});
    std::vector<Frame> frames;
    Result<std::unique_ptr<net::WebSocket>> socket =
        co_await net::connect_websocket(daemon.loop(), daemon.origin(), upgrade, {}, deadline);
    EXPECT_TRUE(socket) << (socket ? "" : socket.error().message);
    if (!socket) co_return frames;
    while (frames.size() < frames_max) {
        Result<std::optional<std::string>> text = co_await (*socket)->read_text(deadline);
        EXPECT_TRUE(text && *text) << "a log that ends says so";
        if (!text || !*text) break;
        frames.push_back({Json::parse(**text), std::chrono::steady_clock::now()});
        if (frames.back().json["type"] == "end") break;
    }
    co_await (*socket)->close(net::CloseCode::normal, "", deadline);
    co_return frames;
}

// Returns the number of frames that showed the bar before it was complete.
aio::Task<std::size_t> watch_a_bar(Daemon& daemon, std::string job, int bar_ms) {
    const std::string last = std::to_string(bar_ms / 20);
    net::HttpResponse created = co_await daemon.create(with_bar(bar_ms, 1, job));
    EXPECT_EQ(created.status, 201) << created.body;
    const std::vector<Frame> frames = co_await follow(daemon, "?tail=100", 1'000'000, job);
    const std::map<std::string, Json> examples = documented();
    std::vector<Frame> partials;
    std::size_t lines_with_bar = 0;
    for (const Frame& frame : frames) {
        const std::string type = frame.json["type"];
        EXPECT_TRUE(examples.contains(type)) << type << " is not in docs/log-frames.md";
        if (!examples.contains(type)) continue;
        if (type != "status") {  // which has a pod once there is one
            EXPECT_EQ(keys_of(frame.json), keys_of(examples.at(type))) << type;
        }
        if (type == "partial") {
            EXPECT_EQ(lines_with_bar, 0u) << "a line with its end is partial no more";
            partials.push_back(frame);
        }
        if (type == "log" &&
            frame.json["data"].get<std::string>().find("%|") != std::string::npos) {
            ++lines_with_bar;
            EXPECT_TRUE(frame.json["data"].get<std::string>().ends_with(last + "/" + last));
        }
    }
    EXPECT_EQ(lines_with_bar, 1u);
    EXPECT_EQ(frames.back().json["type"], "end");
    if (partials.empty()) co_return 0;
    EXPECT_LE(std::ssize(partials), most_in(partials.back().at - partials.front().at))
        << "of " << last << " states";
    for (std::size_t i = 1; i < partials.size(); ++i) {
        EXPECT_GT(partials[i].json["data"], partials[i - 1].json["data"]) << "it goes on";
        EXPECT_TRUE(partials[i].json["redrawn"].get<bool>());
    }
    co_return partials.size();
}

// On a busy machine a short bar may be complete before a reader sees it.
aio::Task<void> watch_bars(Daemon& daemon) {
    std::size_t partials = co_await watch_a_bar(daemon, "llm", 1'500);
    if (partials < 2) partials = co_await watch_a_bar(daemon, "longer", 6'000);
    if (partials < 2) partials = co_await watch_a_bar(daemon, "long", 20'000);
    EXPECT_GE(partials, 2u);
}

TEST(LogFrames, of_a_progress_bar_show_it_while_it_is_drawn_in_the_documented_form) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(watch_bars);
}

// Three pods with a bar each: four frames a second in all, and each of the three in turn.
aio::Task<void> watch_three_bars(Daemon& daemon) {
    net::HttpResponse created = co_await daemon.create(with_bar(3'000, 3));
    EXPECT_EQ(created.status, 201) << created.body;
    const bool runs = co_await daemon.until_status("llm", "Running");
    EXPECT_TRUE(runs);
    const std::vector<Frame> frames = co_await follow(daemon, "?all=true&tail=100", 1'000'000);
    std::map<std::string, int> by_pod;
    std::vector<Frame> partials;
    for (const Frame& frame : frames) {
        if (frame.json["type"] != "partial") continue;
        ++by_pod[frame.json["pod"]];
        partials.push_back(frame);
    }
    EXPECT_EQ(by_pod.size(), 3u);
    EXPECT_LE(std::ssize(partials), most_in(partials.back().at - partials.front().at));
    // In turn, while all three draw.
    for (std::size_t i = 0; i + 2 < std::min<std::size_t>(partials.size(), 6); ++i) {
        EXPECT_NE(partials[i].json["pod"], partials[i + 1].json["pod"]);
        EXPECT_NE(partials[i].json["pod"], partials[i + 2].json["pod"]);
    }
}

TEST(LogFrames, of_several_pods_share_the_rate_in_turn) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(watch_three_bars);
}

// A reader that resumes in the middle of the bar gets the whole line once. Returns how many
// unfinished lines it saw: none, where the bar ended before the reader had caught up with it.
aio::Task<int> resume_in_a_bar(Daemon& daemon, std::string job, int bar_ms) {
    net::HttpResponse created = co_await daemon.create(with_bar(bar_ms, 1, job));
    EXPECT_EQ(created.status, 201) << created.body;
    std::string since;
    std::vector<std::string> lines;
    int partials = 0;
    for (bool ended = false; !ended;) {
        const std::string query = since.empty() ? "?tail=100" : "?since=" + since;
        // Two frames each time, so that it breaks off at lines and at unfinished ones.
        const std::size_t frames_max = lines.size() < 60 && partials < 20 ? 2 : 1'000'000;
        const std::vector<Frame> frames = co_await follow(daemon, query, frames_max, job);
        for (const Frame& frame : frames) {
            if (frame.json["type"] == "partial") ++partials;
            if (frame.json["type"] == "end") ended = true;
            if (frame.json["type"] != "log") continue;
            since = frame.json["position"];
            lines.push_back(frame.json["data"]);
        }
    }
    std::set<std::string> distinct{lines.begin(), lines.end()};
    EXPECT_EQ(distinct.size(), lines.size()) << "none twice";
    const net::HttpResponse whole = co_await daemon.get("/api/v1/jobs/" + job + "/logs?tail=1000");
    const std::vector<std::string> all = parsed(whole)["logs"];
    EXPECT_EQ(lines, all);
    co_return partials;
}

// On a slow machine the first bar may have ended before the reader gets there.
aio::Task<void> resume_in_longer_bars(Daemon& daemon) {
    int partials = co_await resume_in_a_bar(daemon, "short", 3'000);
    if (partials == 0) partials = co_await resume_in_a_bar(daemon, "longer", 12'000);
    if (partials == 0) partials = co_await resume_in_a_bar(daemon, "long", 25'000);
    EXPECT_GE(partials, 1);
}

TEST(LogFrames, a_reader_that_comes_back_during_a_bar_misses_and_repeats_no_line) {
    const TempDir directory;
    Daemon{quick_config(directory.path())}.run(resume_in_longer_bars);
}

}  // namespace
}  // namespace gpuctl
