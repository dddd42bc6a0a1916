#pragma once
// A loop that the test runs, a fast virtual cluster, and a sink that records.

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "aio/loop.hpp"
#include "aio/task_group.hpp"
#include "daemon/embedded/embedded_cluster.hpp"

namespace gpuctl::embedded {

inline EmbeddedSettings quick_settings() {
    EmbeddedSettings settings;
    settings.nodes.push_back(
        {"train", 2, "training", "nvidia.com/gpu", "A100-80G", 8, 64, 512, {}});
    settings.nodes.push_back({"plain", 1, "default", "nvidia.com/gpu", "", 4, 64, 512, {}});
    settings.cluster.image_pull = Duration{6};
    settings.cluster.container_start = Duration{4};
    settings.cluster.container_stop_max = Duration{10};
    settings.cluster.training_run_time = Duration{200};
    settings.cluster.job_retry_delay = Duration{40};
    settings.cluster.crash_backoff = Duration{60'000};
    settings.cluster.log_interval = Duration{10};
    settings.cluster_id = "the cluster of this test";
    return settings;
}

inline JobRecord make_job(const std::string& name, JobKind kind, std::int32_t replicas,
                          std::int64_t gpus, const std::string& pool = "") {
    JobRecord job;
    job.uid = "uid-of-" + name;
    job.spec.kind = kind;
    job.spec.key = {"team-a", name};
    job.spec.image = "repo/image:1";
    job.spec.pool = pool;
    job.spec.replicas_min = job.spec.replicas_max = replicas;
    job.spec.service.replicas = replicas;
    job.spec.cpu = CpuMilli{1'000};
    job.spec.memory = Bytes{1 << 30};
    job.spec.gpu.mode = GpuMode::exclusive;
    job.spec.gpu.count = gpus;
    job.spec.gpu.resource = "nvidia.com/gpu";
    job.spec.gpu.amount = whole_gpus(gpus);
    job.submitted_at = Instant{aio::Loop::wall_ms()};
    return job;
}

class MemorySink final : public ports::EventSink {
public:
    [[nodiscard]] bool offer(Event event) override {
        if (room == 0) return false;
        --room;
        if (const auto* pod = std::get_if<PodObserved>(&event)) pods[pod->pod.key] = pod->pod;
        events.push_back(std::move(event));
        return true;
    }
    std::size_t room = 1'000'000;
    std::vector<Event> events;
    std::map<ObjectKey, PodFacts> pods;
};

class EmbeddedTest : public testing::Test {
protected:
    ~EmbeddedTest() override {
        tasks.cancel();
        EXPECT_TRUE(turn_until([&] { return tasks.size() == 0; }));
    }
    template <typename Condition>
    bool turn_until(Condition condition) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (!condition() && std::chrono::steady_clock::now() < give_up) {
            loop.context().run_one_for(std::chrono::milliseconds{20});
        }
        return condition();
    }
    static aio::Task<void> await_stop(ports::Cluster& cluster, bool& stopped) {
        const aio::Deadline deadline = aio::Deadline::in(std::chrono::seconds{30});
        const bool ended = co_await cluster.stop(deadline);
        EXPECT_TRUE(ended);
        stopped = true;
    }
    void stop(ports::Cluster& cluster) {
        bool stopped = false;
        tasks.spawn("stop", await_stop(cluster, stopped));
        EXPECT_TRUE(turn_until([&] { return stopped; }));
    }

    aio::Loop loop;
    aio::TaskGroup tasks{loop};
};

}  // namespace gpuctl::embedded
