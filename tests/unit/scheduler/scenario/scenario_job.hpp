#pragma once
// The `job` line of a scenario: the words that describe the job, and the pods that it makes.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "support/engine_world.hpp"
#include "unit/scheduler/scenario/scenario_parts.hpp"

namespace gpuctl::test {

class JobLine {
public:
    explicit JobLine(const std::vector<std::string>& part)
        : part_(part), like(pod("x", part[0], 0)) {
        like.queue = part[1] == "-" ? "" : part[1];
        for (at_ = 2; at_ < part_.size(); ++at_) {
            const std::string& word = part_[at_];
            const bool is_known =
                read_size(word) || read_amount(word) || read_rule(word) || read_flag(word);
            if (!is_known) ADD_FAILURE() << "unknown word " << word;
        }
        like.runs_to_end = !is_service;
        like.request = requested();
        name_slices(like.request, like.rules.gpu_model);
        like.rules.wants_whole_gpus = wants_whole_gpus(like.request);
    }

    [[nodiscard]] std::vector<PodFacts> pods() const {
        std::vector<PodFacts> out;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            PodFacts one = like;
            one.uid = one.key.name = part_[0] + "-" + std::to_string(rank);
            one.rank = static_cast<std::int32_t>(rank);
            one.gang = is_gang_;
            one.gang_min = is_gang_ ? static_cast<std::int32_t>(ranks) : 0;
            if (ranks_min > 0) one.gang_min = static_cast<std::int32_t>(ranks_min);
            out.push_back(one);
        }
        return out;
    }

private:
    const std::string& next() { return part_.at(++at_); }
    std::int64_t next_number() { return std::stoll(next()); }
    TopologyLevel next_level() {
        const std::string& name = next();
        const auto level = topology_level_of(name, "", TopologyKeys{});
        EXPECT_TRUE(level) << name;
        return level.value_or(TopologyLevel::none);
    }

    bool read_size(const std::string& word) {
        if (word == "gang" || word == "pods") {
            is_gang_ = word == "gang";
            const std::string& size = next();
            ranks = std::stoll(size.substr(0, size.find('x')));
            gpus_ = std::stoll(size.substr(size.find('x') + 1));
        } else if (word == "elastic") {
            is_gang_ = true;
            const std::string& size = next();
            ranks_min = std::stoll(size);
            ranks = std::stoll(size.substr(size.find('-') + 1));
            gpus_ = std::stoll(size.substr(size.find('x') + 1));
        } else if (word == "speedup") {
            speeds = speeds_from(next());
        } else if (word == "service") {
            is_service = true;
        } else {
            return false;
        }
        return true;
    }
    bool read_amount(const std::string& word) {
        if (word == "shared") {
            shared_ = static_cast<std::int32_t>(next_number());
        } else if (word == "cores") {
            cores_ = next_number();
        } else if (word == "memory") {
            gib_ = next_number();
        } else if (word == "part") {
            gpu_milli_ = next_number();
        } else if (word == "fpgas") {
            fpgas_ = next_number();
        } else if (word == "port") {
            ports_.push_back(next());
        } else {
            return false;
        }
        return true;
    }
    bool read_rule(const std::string& word) {
        if (word == "model") {
            name_models(next(), like.rules);
        } else if (word == "pool") {
            like.pool = next();
        } else if (word == "required") {
            like.rules.topology.required = next_level();
        } else if (word == "preferred") {
            like.rules.topology.preferred = next_level();
        } else if (word == "spread") {
            like.rules.topology.spread = next_level();
        } else if (word == "uses") {
            like.unsupported = {next()};
        } else if (word == "volume") {
            add_volume(next(), like.rules);
        } else if (word == "names") {
            name_node(next(), like);
        } else {
            return false;
        }
        return true;
    }
    bool read_flag(const std::string& word) {
        if (word == "prio") {
            like.priority = static_cast<std::int32_t>(next_number());
        } else if (word == "tenant") {
            like.key.namespace_name = next();
        } else if (word == "limit") {
            like.run_time_max = Duration::seconds(next_number());
        } else if (word == "expected") {
            like.run_time_expected = Duration::seconds(next_number());
        } else if (word == "preemptible") {
            like.preemptible = true;
        } else if (word == "unsaid") {
            like.preemptible_is_default = true;
        } else if (word == "never") {
            like.preempts = false;
        } else if (word == "bare") {
            like.has_controller = false;
        } else if (word == "checkpoint") {
            like.checkpoint_interval = Duration{next_number()};
        } else if (word == "restart") {
            like.restart_cost = Duration{next_number()};
        } else if (word == "grace") {
            like.stop_grace = Duration::seconds(next_number());
        } else if (word == "gated") {
            like.gated = true;
        } else {
            return false;
        }
        return true;
    }

    [[nodiscard]] Resources requested() const {
        Resources request = room(gpus_, cores_, 1, gib_);
        for (const std::string& port : ports_) add_port(port, request);
        if (fpgas_ > 0) request.extended = {{"example.com/fpga", fpgas_}};
        if (gpu_milli_ > 0) request.gpus = {{kGpu, GpuMilli{gpu_milli_}}};
        if (shared_ > 0) {
            request.gpus = {{"nvidia.com/gpu.shared", whole_gpus(gpus_), {1, shared_}}};
        }
        return request;
    }

    const std::vector<std::string>& part_;
    std::size_t at_ = 0;
    bool is_gang_ = false;
    std::int64_t gpus_ = 0;
    std::int64_t cores_ = 1;
    std::int64_t gib_ = 1;
    std::int64_t gpu_milli_ = 0;
    std::int64_t fpgas_ = 0;
    std::int32_t shared_ = 0;
    std::vector<std::string> ports_;

public:
    PodFacts like;
    std::int64_t ranks = 1;
    std::int64_t ranks_min = 0;  // of an elastic job
    std::vector<SizeSpeed> speeds;
    bool is_service = false;
};

}  // namespace gpuctl::test
