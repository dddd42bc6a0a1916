// clang-format off
// Scenario tables (tests/scenario/*.txt). A file holds scenarios separated by `scenario <name>`:
//
//   nodes   a 8xA100 | b 8xA100 cordoned | c 4xT4 pool=other tainted | d 8xA100 cores=4 memory=16
//           e 8xA100 rack=r1 block=b1 | f 8xA100 silent    (does not answer) | g 8xA100 slots=2
//   queues  prod prio 10 weight 2 quota 8 guaranteed 4 | dev | llm in prod borrow 2 lend 0
//           jobs 1 perjob 4 order FIFO of A100:4:2    (at most 4 A100, 2 guaranteed)
//           budget 100 per 24 carry 10    GPU-hours per 24 hours from now on; also of tenants
//   policy  evictions 2 (per job and hour) | protect 60000 (ms after the start)
//   policy  reserve 25 (percent) | repair 60000 (ms that a gang may lack ranks)
//   policy  order CAPACITY | halflife 16000 | ageing 10 every 1000 upto 50
//   policy  pause 1000 (ms without growth after a resize or start) | pays 0 (ms; ADR 0017)
//   policy  victims lowerPriority | guarantees whenDemandFits | drain-unhealthy preemptible
//   policy  window w on a b in 100 for 60 every 200 notice 10 ahead 50 drain none queue lab
//           tenant team-b    seconds; `queue` and `tenant` may use it; `no-windows` removes all
//   tenant  team-b quota 4 here 2 weight 2 queue lab | ...    (here: in pool default)
//   line    steps-aside patience 100 short 25 60 keep 100    of the pool "default": the head of
//           the line, when waiting decides alone, 25 % for work of up to 60 s only, when nodes
//           are kept without a start time; `shortest`: long work is preempted for short
//           wait-target 100: the longest time, in s, that a job should wait
//           due, makespan 100, guarantees-when-demand-fits: as in PreemptionPolicy
//   job     llm prod gang 2x4 prio 5 tenant team-b model A100 pool other   (ranks x GPUs each)
//           cores 2 memory 64          of each rank, in Gi
//           pods 2x4                   likewise, but no gang; without either one pod without GPUs
//           elastic 2-6x1              like gang, of 2 to 6 ranks; submitted to gpuctl
//           speedup 1:1,2:1.9,4:3.5    its speed by ranks
//           service                    submitted to gpuctl, as inference
//           part 500                   a fraction: thousandths of one GPU for each rank
//           shared 4                   replicas of GPUs, four to one; of a node: 32xT4 shared=4
//           model H100,A100            the first that has room; -MIG-1g.10gb after a model, also of
//                                      a node: slices that it calls GPUs
//           required rack preferred rack spread host    topology rules of its ranks
//           limit 60 expected 20       seconds that it may run, that its user says it will
//           preemptible                its pods may be preempted; `never`: it does not preempt
//           unsaid                     not stated; the pool decides: policy victims
//           fpgas 2                    of another resource for each rank; of a node: fpgas=4
//           checkpoint 1000 restart 500    its pods lose no more than this by a preemption
//           grace 600                  grace period of its pods in seconds; else 30
//           port 80 port 10.0.0.1:81   host ports of each rank
//           volume zone=b              a volume of each rank, only for nodes with that label
//           names a                    the one node that its ranks may use
//           bare | gated               its pods have no controller; have a scheduling gate
//           uses x                     its pods use feature x, which is not supported
//   foreign a 6 port 80      a pod of another scheduler on a node, its GPUs, and its host ports
//   when    submit llm | ungate llm | withdraw llm    its user deletes it, with its workload
//   when    plan (cycles while the engine wants one) | run (and answers binds) | wait 100 (ms)
//   when    start llm | finish llm | terminate llm | delete llm    its pods run, succeed, begin to
//           terminate, are gone; or one pod: llm-0
//   when    stop             all pods whose eviction was asked for: accepted, gone, and created
//                            again; or one: stop llm-0. budget llm-0, forbid llm-0: a disruption
//                            budget, or a right that is missing, refuses the eviction
//   when    lose llm-0 | vanish llm-0    gone without an eviction, and created again or not
//   when    refuse llm-0 | fail llm-0    the answer to its bind
//   when    resize           the controllers apply all sizes that were asked for. Or the answer
//                            for one job: resize-accepted e, resize-fails e, resize-refused e,
//                            has-size e 4 (another user set it to 4)
//   when    cordon a | uncordon a | unhealthy a | healthy a | leave a | node a 8xA100 (new facts)
//   then    llm a a          nodes of its pods by rank; `-` waits, `*` any node; a/1: on its
//                            second shared GPU
//   evicts  llm-0 dev-1 | none    exactly the pods whose eviction is asked for and not answered
//   why     llm gpu_insufficient needs 8 GPUs        reason and a part of its sentence
//   also    llm queue_limit holds 3    likewise among all its blockers
//   sizes   e 6-4 | none     sizes requested of controllers and not answered yet
//   moves   wide a:n1>n2 b:n1>n3   or none; jobs that a person could move, and where to
//   quiet   5                this many further cycles change nothing
// clang-format on

#include <gtest/gtest.h>

#include <filesystem>

#include "support/engine_world.hpp"
#include "unit/scheduler/scenario/scenario_job.hpp"
#include "unit/scheduler/scenario/scenario_parts.hpp"
#include "unit/scheduler/scenario/scenario_policy.hpp"
#include "wording/wording.hpp"

namespace gpuctl::test {
namespace {

class Player {
public:
    void play(const Scenario& scenario, const std::string& file) {
        for (const auto& [number, line] : scenario.lines) {
            SCOPED_TRACE(file + ":" + std::to_string(number) + " " + scenario.name + ": " + line);
            const std::string verb = words(line).front();
            const std::string rest = line.substr(line.find(verb) + verb.size());
            if (verb == "nodes") {
                for (const auto& part : parts(rest)) add_node(part);
            } else if (verb == "queues") {
                for (const auto& part : parts(rest)) policy_.add_queue(part);
            } else if (verb == "line") {
                policy_.set_line(words(rest));
            } else if (verb == "policy") {
                for (const auto& part : parts(rest)) policy_.change(part);
            } else if (verb == "tenant") {
                for (const auto& part : parts(rest)) policy_.add_tenant(part);
            } else if (verb == "job") {
                add_job(words(rest));
            } else if (verb == "foreign") {
                add_foreign(words(rest));
            } else if (verb == "when") {
                for (const auto& part : parts(rest)) act(part);
            } else if (verb == "then") {
                expect_nodes(words(rest));
            } else if (verb == "why") {
                expect_reason(words(rest), rest);
            } else if (verb == "also") {
                expect_among_reasons(words(rest), rest);
            } else if (verb == "evicts") {
                expect_evictions(words(rest));
            } else if (verb == "sizes") {
                elastic_.expect_sizes(words(rest));
            } else if (verb == "moves") {
                const std::string name = words(rest).front();
                expect_moves(world_.engine.state(), jobs_.at(name).front(), words(rest));
            } else if (verb == "quiet") {
                expect_quiet(std::stoi(rest));
            } else {
                ADD_FAILURE() << "unknown verb";
            }
        }
    }

private:
    void add_node(const std::vector<std::string>& part) { world_.add(node_from(part)); }
    void add_job(const std::vector<std::string>& part) {
        const JobLine line{part};
        for (PodFacts& one : line.pods()) jobs_[part[0]].push_back(std::move(one));
        if (line.ranks_min > 0) elastic_.add(line.like, line.ranks_min, line.ranks, line.speeds);
        if (line.is_service) {
            elastic_.add(line.like, line.ranks, line.ranks, {}, JobKind::inference);
        }
    }
    void add_foreign(const std::vector<std::string>& part) {
        PodFacts one = pod("foreign-" + std::to_string(next_foreign_++), "", std::stoll(part[1]));
        one.ours = false;
        one.node = part[0];
        for (std::size_t i = 3; i < part.size(); ++i) add_port(part[i], one.request);
        world_.add(one);
    }
    void start(const std::string& uid) {
        PodFacts& pod = world_.pods.at(uid);
        if (pod.phase == PodPhase::running) return;
        pod.started_at = world_.now;
        pod.phase = PodPhase::running;
        world_.show(uid);
    }
    void act(const std::vector<std::string>& part) {
        const bool is_known = act_on_job(part) || act_on_pods(part) || answer(part) ||
                              act_on_node(part) || pass_time(part);
        if (!is_known) ADD_FAILURE() << "unknown action " << part[0];
    }
    bool act_on_job(const std::vector<std::string>& part) {
        const std::string& verb = part[0];
        if (verb == "submit") {
            world_.now = world_.now + Duration{1};
            elastic_.submit(part[1]);
            for (PodFacts& one : jobs_.at(part[1])) {
                one.created_at = world_.now;
                world_.add(one);
            }
        } else if (verb == "withdraw") {  // its user deletes it, and its workload is deleted
            world_.send(
                JobDeleteRequested{{jobs_.at(part[1]).front().key.namespace_name, part[1]}});
            for (const DeleteWorkload& removal : world_.sent<DeleteWorkload>()) {
                world_.send(WorkloadOutcome{removal.id, removal.key, true, false, "", {}});
            }
        } else if (verb == "ungate") {
            for (const PodFacts& one : jobs_.at(part[1])) {
                world_.pods.at(one.uid).gated = false;
                world_.show(one.uid);
            }
        } else {
            return false;
        }
        return true;
    }
    bool act_on_pods(const std::vector<std::string>& part) {
        const std::string& verb = part[0];
        if (verb == "finish" || verb == "delete" || verb == "terminate") {
            end_pods(verb, part[1]);
        } else if (verb == "start") {  // the containers of a job run, or those of one of its pods
            const auto job = jobs_.find(part[1]);
            if (job == jobs_.end()) {
                start(part[1]);
            } else {
                for (const PodFacts& one : job->second) start(one.uid);
            }
        } else if (verb == "stop") {  // all evicted pods terminate, or one; created again
            if (part.size() > 1) {
                stop(part[1]);
            } else {
                while (!world_.evictions.empty()) stop(world_.evictions.begin()->first);
            }
        } else if (verb == "lose") {  // a pod goes with its node, and is created again
            lose(part[1]);
        } else if (verb == "vanish") {  // and is not created again
            world_.remove_pod(part[1]);
        } else {
            return false;
        }
        return true;
    }
    // All pods of a job, or one.
    void end_pods(const std::string& verb, const std::string& name) {
        const std::string of = jobs_.contains(name) ? name : name.substr(0, name.rfind('-'));
        for (const PodFacts& one : jobs_.at(of)) {
            if (of != name && one.key.name != name) continue;
            if (verb == "delete") {
                world_.remove_pod(one.uid);
                continue;
            }
            PodFacts& facts = world_.pods.at(one.uid);
            if (verb == "finish") {
                facts.phase = PodPhase::succeeded;
                facts.finished_at = world_.now;
            }
            if (verb == "terminate") facts.terminating = true;
            world_.show(one.uid);
        }
    }
    // Answers of the API server and of controllers.
    bool answer(const std::vector<std::string>& part) {
        const std::string& verb = part[0];
        if (verb == "budget" || verb == "forbid") {  // answers to the eviction of a pod
            world_.answer_eviction(
                part[1], verb == "budget" ? EvictResult::disruption_budget : EvictResult::refused);
        } else if (verb == "resize") {  // the controllers apply the requested sizes
            elastic_.resize_all();
        } else if (verb == "resize-accepted") {  // they answer, and have not applied it yet
            world_.answer_resize(part[1]);
        } else if (verb == "resize-fails" || verb == "resize-refused") {
            world_.answer_resize(
                part[1], verb == "resize-fails" ? ResizeResult::failed : ResizeResult::refused);
        } else if (verb == "has-size") {  // another user changed it before
            world_.answer_resize(part[1], ResizeResult::other_size, std::stoi(part[2]));
        } else if (verb == "refuse" || verb == "fail") {
            world_.answer(part[1], verb == "refuse" ? BindResult::refused : BindResult::failed);
        } else {
            return false;
        }
        return true;
    }
    bool act_on_node(const std::vector<std::string>& part) {
        const std::string& verb = part[0];
        if (verb == "cordon" || verb == "uncordon") {
            NodeFacts facts = world_.nodes.at(part[1]);
            facts.unschedulable = verb == "cordon";
            world_.add(facts);
        } else if (verb == "unhealthy" || verb == "healthy") {
            NodeFacts facts = world_.nodes.at(part[1]);
            facts.unhealthy = verb == "unhealthy" ? "GpuUnhealthy" : "";
            world_.add(facts);
        } else if (verb == "node") {
            world_.add(node_from({part.begin() + 1, part.end()}));
        } else if (verb == "leave") {
            world_.remove_node(part[1]);
        } else {
            return false;
        }
        return true;
    }
    bool pass_time(const std::vector<std::string>& part) {
        const std::string& verb = part[0];
        if (verb == "plan") {
            world_.plan();
        } else if (verb == "run") {
            world_.run();
        } else if (verb == "wait") {
            world_.now = world_.now + Duration{std::stoll(part[1])};
            world_.send(WokeUp{});
        } else {
            return false;
        }
        return true;
    }
    // The API server accepts its eviction, it terminates, and its controller creates a replacement.
    // By value: the name may be owned by what the answer removes.
    void stop(std::string uid) {
        world_.answer_eviction(uid);
        PodFacts facts = world_.pods.at(uid);
        facts.terminating = true;
        world_.add(facts);
        lose(std::move(uid));
    }
    void lose(std::string uid) {
        world_.remove_pod(uid);
        for (auto& [name, pods] : jobs_) {
            for (PodFacts& one : pods) {
                if (one.uid != uid) continue;
                one.uid += "+";
                one.key.name = one.uid;
                one.created_at = world_.now;
                world_.add(one);
            }
        }
    }
    void expect_evictions(const std::vector<std::string>& part) {
        std::vector<std::string> asked;
        for (const auto& [uid, eviction] : world_.evictions) asked.push_back(uid);
        std::vector<std::string> expected = part;
        if (expected == std::vector<std::string>{"none"}) expected.clear();
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(asked, expected);
    }
    void expect_nodes(const std::vector<std::string>& part) {
        const std::vector<PodFacts>& pods = jobs_.at(part[0]);
        ASSERT_EQ(part.size() - 1, pods.size());
        for (std::size_t i = 0; i < pods.size(); ++i) {
            std::string on = world_.node_of(pods[i].uid);
            if (part[i + 1].find('/') != std::string::npos) {
                on += "/" + std::to_string(world_.device_of(pods[i].uid));
            }
            if (part[i + 1] == "*") {
                EXPECT_FALSE(on.empty()) << pods[i].uid;
            } else {
                EXPECT_EQ(on, part[i + 1] == "-" ? "" : part[i + 1]) << pods[i].uid;
            }
        }
    }
    void expect_reason(const std::vector<std::string>& part, const std::string& rest) {
        const PodFacts& first = jobs_.at(part[0]).front();
        const std::vector<Explanation> reasons =
            explain_job(world_.engine.state(), {first.key.namespace_name, part[0]});
        ASSERT_FALSE(reasons.empty());
        EXPECT_EQ(to_string(reasons.front().reason), part[1]) << wording::sentence(reasons.front());
        const std::size_t after = rest.find(part[1]) + part[1].size();
        if (part.size() > 2) {
            const std::string text = rest.substr(rest.find_first_not_of(' ', after));
            const std::string message =
                wording::kubernetes_message(reasons.front());  // including nodes by reason
            EXPECT_NE(message.find(text), std::string::npos) << "it says: " << message;
        }
    }
    void expect_among_reasons(const std::vector<std::string>& part, const std::string& rest) {
        const PodFacts& first = jobs_.at(part[0]).front();
        const std::size_t after = rest.find(part[1]) + part[1].size();
        const std::string text = rest.substr(rest.find_first_not_of(' ', after));
        std::string messages;
        for (const Explanation& one :
             explain_job(world_.engine.state(), {first.key.namespace_name, part[0]})) {
            if (to_string(one.reason) == part[1] &&
                wording::sentence(one).find(text) != std::string::npos) {
                return;
            }
            messages += "\n" + std::string{to_string(one.reason)} + " " + wording::sentence(one);
        }
        ADD_FAILURE() << "it says:" << messages;
    }
    void expect_quiet(int cycles) {
        const std::uint64_t before = world_.engine.state_hash();
        const std::size_t sent = world_.effects.size();
        for (int i = 0; i < cycles; ++i) {
            EXPECT_FALSE(world_.engine.wants_plan());
            world_.send(Plan{});
        }
        EXPECT_EQ(world_.effects.size(), sent) << "something was sent without need";
        EXPECT_EQ(world_.engine.state_hash(), before);
    }

    EngineWorld world_;
    ScenarioPolicy policy_{world_};
    ElasticJobs::Pods jobs_;
    ElasticJobs elastic_{world_, jobs_};
    int next_foreign_ = 0;
};

TEST(Scenario, every_table_holds) {
    int played = 0;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path{GPUCTL_SOURCE_DIR} / "tests/scenario")) {
        for (const Scenario& scenario : read(entry.path())) {
            EXPECT_NO_THROW(Player{}.play(scenario, entry.path().filename().string()))
                << scenario.name;  // a `why` line without a question
            ++played;
        }
    }
    EXPECT_GE(played, 25);
}

}  // namespace
}  // namespace gpuctl::test
