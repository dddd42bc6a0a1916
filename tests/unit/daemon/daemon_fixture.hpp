#pragma once
// A whole gpuctld on the embedded cluster, on a free port, with a client, inside the test's own
// loop thread.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "aio/loop.hpp"
#include "aio/task_group.hpp"
#include "daemon/app/app.hpp"
#include "net/http/http_client.hpp"

namespace gpuctl {

class TempDir {
public:
    TempDir() {
        std::string pattern = testing::TempDir() + "gpuctld-XXXXXX";
        path_ = ::mkdtemp(pattern.data());
    }
    ~TempDir() { std::filesystem::remove_all(path_); }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

inline config::Config quick_config(const std::string& directory) {
    config::Config config;
    config.server.port = 0;
    config.server.shutdown_timeout = std::chrono::seconds{20};
    config.journal.directory = directory;
    config.cluster.embedded.nodes = {
        {"train", 2, "training", "nvidia.com/gpu", "A100-80G", 8, {}, 1, 64, 512, {}},
        {"plain", 1, "default", "nvidia.com/gpu", "", 4, {}, 1, 64, 512, {}}};
    config.cluster.embedded.image_pull = std::chrono::milliseconds{6};
    config.cluster.embedded.container_start = std::chrono::milliseconds{4};
    config.cluster.embedded.training_run_time = std::chrono::seconds{3600};
    return config;
}

inline std::string training_yaml(const std::string& name, int gpus, int replicas = 1,
                                 const std::string& pool = "training") {
    return "kind: training\nversion: v0.1\njob: {name: " + name +
           "}\nenvironment: {image: repo/image:1}\nresources: {pool: " + pool +
           ", gpu: " + std::to_string(gpus) +
           ", cpu: 1, memory: 1Gi, nodeCount: " + std::to_string(replicas) + "}\n";
}

class Daemon {
public:
    using Body = aio::Task<void> (*)(Daemon&);

    explicit Daemon(config::Config config, journal::Disk& disk = journal::real_disk())
        : config_(std::move(config)), disk_(disk) {}

    // Starts, runs the body, stops; a stop that is not clean is a failure.
    void run(Body body) {
        tasks_.spawn("test body", whole(body));
        const std::function<void()> quit_when_idle = [&] {
            if (tasks_.size() == 0) return loop_.stop();
            loop_.post(quit_when_idle);
        };
        tasks_left_ = quit_when_idle;
        loop_.run();
    }

    aio::Task<net::HttpResponse> send(net::HttpRequest request) {
        const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{30});
        Result<net::HttpResponse> response =
            co_await client_->request(std::move(request), deadline);
        if (!response) {
            ADD_FAILURE() << response.error().message;
            co_return net::HttpResponse{0, {}, {}};
        }
        co_return std::move(*response);
    }

    aio::Task<net::HttpResponse> get(std::string target, std::string token = "") {
        net::HttpResponse response = co_await call("GET", std::move(target), "", "", token);
        co_return response;
    }

    aio::Task<net::HttpResponse> call(std::string method, std::string target, std::string body,
                                      std::string type, std::string token = "") {
        net::HttpRequest request;
        request.method = std::move(method);
        request.target = std::move(target);
        request.body = std::move(body);
        if (!type.empty()) request.fields.set("Content-Type", type);
        if (!token.empty()) request.fields.set("Authorization", "Bearer " + token);
        net::HttpResponse response = co_await send(std::move(request));
        co_return response;
    }

    aio::Task<net::HttpResponse> create(std::string yaml, std::string query = "") {
        net::HttpResponse response =
            co_await call("POST", "/api/v1/jobs" + query, std::move(yaml), "application/yaml");
        co_return response;
    }

    // Waits until the engine's state satisfies `condition`; false after 30 s.
    aio::Task<bool> until(std::function<bool(const ClusterState&)> condition) {
        const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{30});
        while (!condition(app->engine().state())) {
            if (deadline.passed()) co_return false;
            co_await app->engine().changed().wait(deadline);
        }
        co_return true;
    }

    aio::Task<bool> until_status(std::string name, std::string status) {
        // Named: a capturing lambda inside a co_await expression is freed twice (g++ 12).
        std::function<bool(const ClusterState&)> has_status = [name,
                                                               status](const ClusterState& state) {
            const Result<JobView> job = find_job(state, "", name);
            return job && job->status == status &&
                   (status != "Running" || job->pods_running == job->pods_wanted);
        };
        const bool reached = co_await until(std::move(has_status));
        co_return reached;
    }

    [[nodiscard]] const config::Config& configured() const { return config_; }
    [[nodiscard]] aio::Loop& loop() { return loop_; }
    [[nodiscard]] aio::TaskGroup& tasks() { return tasks_; }

    [[nodiscard]] net::HttpClientSettings origin() const {
        net::HttpClientSettings settings;
        settings.host = "127.0.0.1";
        settings.port = app->port();
        return settings;
    }

    std::unique_ptr<app::App> app;

private:
    aio::Task<void> whole(Body body) {
        app = std::make_unique<app::App>(loop_, config_, disk_);
        Result<void> started = co_await app->start();
        if (started) {
            const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{30});
            while (!app->engine().synced() && !deadline.passed()) {
                co_await app->engine().changed().wait(deadline);
            }
            client_ = std::make_unique<net::HttpClient>(loop_, origin());
            co_await body(*this);
            client_.reset();
        } else {
            ADD_FAILURE() << started.error().message;
        }
        const bool clean = co_await app->stop();
        EXPECT_TRUE(clean);
        app.reset();
        loop_.post(tasks_left_);
    }

    aio::Loop loop_;
    config::Config config_;
    journal::Disk& disk_;
    aio::TaskGroup tasks_{loop_};
    std::function<void()> tasks_left_;
    std::unique_ptr<net::HttpClient> client_;
};

inline nlohmann::json parsed(const net::HttpResponse& response) {
    nlohmann::json body = nlohmann::json::parse(response.body, nullptr, false);
    EXPECT_FALSE(body.is_discarded()) << response.status << " " << response.body;
    return body;
}

inline std::string error_code(const net::HttpResponse& response) {
    EXPECT_EQ(response.fields.get("Content-Type"), "application/problem+json") << response.body;
    const nlohmann::json body = parsed(response);
    return body.is_object() ? body.value("error", "") : "";
}

}  // namespace gpuctl
