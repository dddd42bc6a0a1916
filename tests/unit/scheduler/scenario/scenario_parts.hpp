#pragma once
// Scenario files, the parts of their lines, the controller of an elastic job in a scenario, and the
// jobs that a person could move.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scheduler/model/gpu/gpu_vendor.hpp"
#include "scheduler/plan/preempt/move_search.hpp"
#include "support/engine_world.hpp"

namespace gpuctl::test {

inline std::vector<std::string> words(const std::string& text) {
    std::istringstream in{text};
    std::vector<std::string> out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

inline std::vector<std::vector<std::string>> parts(const std::string& text) {
    std::vector<std::vector<std::string>> out;
    std::istringstream in{text};
    for (std::string part; std::getline(in, part, '|');) {
        if (auto found = words(part); !found.empty()) out.push_back(std::move(found));
    }
    return out;
}

inline NodeFacts node_from(const std::vector<std::string>& part) {
    const std::size_t x = part[1].find('x');
    NodeFacts facts = node(part[0], std::stoll(part[1].substr(0, x)));
    facts.gpu_model = part[1].substr(x + 1);
    name_slices(facts.allocatable, facts.gpu_model);
    for (std::size_t i = 2; i < part.size(); ++i) {
        if (part[i] == "cordoned") facts.unschedulable = true;
        if (part[i] == "silent") facts.ready = false;
        if (part[i] == "tainted") facts.taints = {{"dedicated", "x", TaintEffect::no_schedule}};
        if (part[i].starts_with("pool=")) facts.pool = part[i].substr(5);
        if (part[i].starts_with("rack=")) facts.topology.rack = part[i].substr(5);
        if (part[i].starts_with("block=")) facts.topology.block = part[i].substr(6);
        if (part[i].starts_with("zone=")) facts.labels["zone"] = part[i].substr(5);
        if (part[i].starts_with("cores=")) {
            facts.allocatable.cpu = CpuMilli{std::stoll(part[i].substr(6)) * 1000};
        }
        if (part[i].starts_with("shared=")) {
            const auto replicas = static_cast<std::int32_t>(std::stol(part[i].substr(7)));
            facts.allocatable.gpus = {
                {"nvidia.com/gpu.shared", facts.allocatable.gpus.front().amount, {1, replicas}}};
        }
        if (part[i].starts_with("slots=")) facts.allocatable.pods = std::stoll(part[i].substr(6));
        if (part[i].starts_with("fpgas=")) {
            facts.allocatable.extended = {{"example.com/fpga", std::stoll(part[i].substr(6))}};
        }
        if (part[i].starts_with("memory=")) {
            facts.allocatable.memory = Bytes{std::stoll(part[i].substr(7)) << 30};
        }
    }
    return facts;
}

inline Drain drain_named(const std::string& name) {
    if (name == "none") return Drain::none;
    if (name == "all") return Drain::all;
    EXPECT_EQ(name, "preemptible");
    return Drain::preemptible;
}

// "H100,A100": the preferred one first.
inline void name_models(const std::string& list, PlacementRules& rules) {
    std::istringstream in{list};
    for (std::string model; std::getline(in, model, ',');) {
        if (rules.gpu_model.empty()) {
            rules.gpu_model = model;
        } else {
            rules.gpu_models_next.push_back(model);
        }
    }
}

// "2222" on every address, or "10.0.0.1:2222".
inline void add_port(const std::string& text, Resources& request) {
    const std::size_t colon = text.find(':');
    const bool is_at_all = colon == std::string::npos;
    const std::string port = is_at_all ? text : text.substr(colon + 1);
    request.host_ports.push_back({"TCP", static_cast<std::int32_t>(std::stol(port)),
                                  is_at_all ? std::string{kEveryAddress} : text.substr(0, colon)});
    std::sort(request.host_ports.begin(), request.host_ports.end());
}

// "zone=b": the volume claim "data" of the pods can be accessed only from nodes with that label.
inline void add_volume(const std::string& text, PlacementRules& rules) {
    const std::size_t equals = text.find('=');
    SelectorTerm term;
    term.labels.push_back(
        {text.substr(0, equals), SelectorOperator::in, {text.substr(equals + 1)}});
    rules.volumes.push_back({"data", {term}});
}

// As the pods of a DaemonSet name their node.
inline void name_node(const std::string& node, PodFacts& pod) {
    SelectorTerm term;
    term.fields.push_back({"metadata.name", SelectorOperator::in, {node}});
    pod.rules.required_affinity = {term};
    pod.pin = {"", node};
}

// "firmware on a b in 60 for 30 drain all": seconds from `now`.
inline MaintenanceWindow window_from(const std::vector<std::string>& part, Instant now) {
    MaintenanceWindow window;
    window.name = part[0];
    for (std::size_t i = 1; i < part.size(); ++i) {
        const auto seconds = [&] { return Duration::seconds(std::stoll(part.at(++i))); };
        if (part[i] == "in") {
            window.begin = now + seconds();
        } else if (part[i] == "for") {
            window.length = seconds();
        } else if (part[i] == "every") {
            window.every = seconds();
        } else if (part[i] == "notice") {
            window.notice = seconds();
        } else if (part[i] == "ahead") {
            window.closes_ahead = seconds();
        } else if (part[i] == "drain") {
            window.drain = drain_named(part.at(++i));
        } else if (part[i] == "queue") {
            window.queues.push_back(part.at(++i));
        } else if (part[i] == "tenant") {
            window.tenants.push_back(part.at(++i));
        } else if (part[i] != "on") {
            window.nodes.push_back(part[i]);
        }
    }
    return window;
}

inline QueueOrder order_named(const std::string& name) {
    if (name == "FIFO") return QueueOrder::fifo;
    if (name == "PRIORITY") return QueueOrder::priority;
    if (name == "CAPACITY") return QueueOrder::capacity;
    if (name == "SHORTEST") return QueueOrder::shortest;
    EXPECT_EQ(name, "FAIR_SHARE");
    return QueueOrder::fair_share;
}

inline std::vector<SizeSpeed> speeds_from(const std::string& text) {
    std::vector<SizeSpeed> out;
    std::istringstream in{text};
    for (std::string part; std::getline(in, part, ',');) {
        const std::size_t colon = part.find(':');
        const double times = std::stod(part.substr(colon + 1));
        out.push_back({static_cast<std::int32_t>(std::stol(part)),
                       static_cast<std::int32_t>(times * kSpeedOfOne + 0.5)});
    }
    return out;
}

struct Scenario {
    std::string name;
    std::vector<std::pair<int, std::string>> lines;
};

inline std::vector<Scenario> read(const std::filesystem::path& path) {
    std::vector<Scenario> out;
    std::ifstream in{path};
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (const std::size_t comment = line.find('#'); comment != std::string::npos) {
            line.resize(comment);
        }
        const std::vector<std::string> found = words(line);
        if (found.empty()) continue;
        if (found[0] == "scenario") {
            out.push_back({found.size() > 1 ? found[1] : "", {}});
        } else if (!out.empty()) {
            out.back().lines.emplace_back(number, line);
        }
    }
    return out;
}

// Elastic jobs of a scenario: submitted to gpuctl, and resized as a Job's controller does.
class ElasticJobs {
public:
    using Pods = std::map<std::string, std::vector<PodFacts>>;  // by name of the job

    ElasticJobs(EngineWorld& world, Pods& jobs) : world_(world), jobs_(jobs) {}

    void add(const PodFacts& like, std::int64_t ranks_min, std::int64_t ranks_max,
             const std::vector<SizeSpeed>& speeds = {}, JobKind kind = JobKind::training) {
        JobRecord record;
        record.spec.kind = kind;
        record.uid = "uid-of-" + like.job;
        record.spec.key = {like.key.namespace_name, like.job};
        record.spec.queue = like.queue;
        record.spec.replicas_min = static_cast<std::int32_t>(ranks_min);
        record.spec.replicas_max = static_cast<std::int32_t>(ranks_max);
        record.spec.speeds = speeds;
        record.spec.run_time_expected = like.run_time_expected;
        record.spec.checkpoint_interval = like.checkpoint_interval;
        record.spec.restart_cost = like.restart_cost;
        records_[like.job] = record;
    }
    void submit(const std::string& name) {
        if (!records_.contains(name)) return;
        world_.send(JobSubmitted{records_.at(name)});
        for (const CreateWorkload& creation : world_.sent<CreateWorkload>()) {
            world_.send(WorkloadOutcome{creation.id, creation.job->spec.key, true, false, "", {}});
        }
    }
    // All controllers apply the requested sizes: the highest ranks terminate, missing ranks are
    // created.
    void resize_all() {
        while (!world_.resizes.empty()) resize(world_.resizes.begin()->first);
    }
    void expect_sizes(const std::vector<std::string>& part) {
        std::vector<std::string> requested;
        for (const auto& [name, one] : world_.resizes) {
            requested.push_back(name);
            requested.push_back(std::to_string(one.from) + "-" + std::to_string(one.to));
        }
        std::vector<std::string> expected = part;
        if (expected == std::vector<std::string>{"none"}) expected.clear();
        EXPECT_EQ(requested, expected);
    }

private:
    void resize(std::string name) {
        const auto to = static_cast<std::size_t>(world_.resizes.at(name).to);
        std::vector<PodFacts>& pods = jobs_.at(name);
        EXPECT_GE(static_cast<int>(to), records_.at(name).spec.replicas_min);
        EXPECT_LE(static_cast<int>(to), records_.at(name).spec.replicas_max);
        world_.answer_resize(name);
        while (pods.size() > to) {
            if (world_.pods.contains(pods.back().uid)) {
                PodFacts facts = world_.pods.at(pods.back().uid);
                facts.terminating = true;
                world_.add(facts);
                world_.remove_pod(facts.uid);
            }
            pods.pop_back();
        }
        while (pods.size() < to) {
            PodFacts one = pods.back();
            one.rank = static_cast<std::int32_t>(pods.size());
            one.uid = one.key.name =
                name + "-" + std::to_string(one.rank) + "+" + std::to_string(++recreated_);
            one.created_at = world_.now;
            one.node.clear();
            pods.push_back(one);
            world_.add(one);
        }
    }

    EngineWorld& world_;
    Pods& jobs_;
    std::map<std::string, JobRecord> records_;
    int recreated_ = 0;
};

// "young:b>a": the jobs that a person could move so that the job starts, and their new nodes.
inline void expect_moves(const ClusterState& state, const PodFacts& first,
                         const std::vector<std::string>& part) {
    const JobId job = state.jobs.find_job({first.key.namespace_name, part[0]});
    Readiness ready;
    state.waiting.read_readiness(job, ready);
    if (ready.all_or_nothing) ready.pods.resize(static_cast<std::size_t>(ready.ranks_needed));
    std::vector<std::string> found;
    MoveSearch{state, job, ready.pods}.find([&](const MovePlan& plan) {
        for (const Placement& one : plan.places) {
            const PodRow& pod = state.pod(one.pod);
            found.push_back(state.job(pod.job).key.name + ":" + state.node(pod.node).facts.name +
                            ">" + state.node(one.node).facts.name);
        }
        return true;
    });
    if (found.empty()) found.push_back("none");
    EXPECT_EQ(found, (std::vector<std::string>{part.begin() + 1, part.end()}));
}

}  // namespace gpuctl::test
