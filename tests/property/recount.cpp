#include "property/recount.hpp"
#include "wording/wording.hpp"

#include <algorithm>

namespace gpuctl::test {
namespace {

struct Amounts {
    std::int64_t gpus = 0;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::int64_t slots = 0;
};

Amounts amounts_of(const Resources& of) {
    return {of.gpus.empty() ? 0 : of.gpus[0].amount.value(), of.cpu.value(), of.memory.value(),
            of.pods};
}

std::int64_t fits(const Amounts& has, const Amounts& each, std::int64_t ranks) {
    const auto limit = [&ranks](std::int64_t room, std::int64_t need) {
        if (need > 0) ranks = std::min(ranks, std::max<std::int64_t>(room, 0) / need);
    };
    limit(has.gpus, each.gpus);
    limit(has.cpu, each.cpu);
    limit(has.memory, each.memory);
    limit(has.slots, each.slots);
    return ranks;
}

Amounts left_on(const EngineWorld& world, const std::string& name, Amounts left) {
    left.slots -= world.policy.pods_reserved_per_node;
    for (const auto& [uid, other] : world.pods) {
        if (is_terminal(other.phase) || world.node_of(uid) != name) continue;
        const Amounts used = amounts_of(other.request);
        left.gpus -= used.gpus;
        left.cpu -= used.cpu;
        left.memory -= used.memory;
        left.slots -= 1;
    }
    return left;
}

// The true figures of `ranks` pods like this one, by the engine's names.
struct Truth {
    std::map<std::string, std::int64_t> figures;
    std::map<std::string, std::int64_t> tallies;
};

void add_node(const Amounts& left, const Amounts& all, const Amounts& each, std::int64_t ranks,
              Truth& out) {
    auto& figures = out.figures;
    const auto most = [&figures](const char* name, std::int64_t value) {
        figures[name] = std::max({figures[name], value, std::int64_t{0}});
    };
    ++figures["nodes_matching"];
    const std::int64_t here = fits(left, each, ranks);
    figures["ranks_fitting"] = std::min(figures["ranks_fitting"] + here, ranks);
    figures["ranks_fitting_empty"] =
        std::min(figures["ranks_fitting_empty"] + fits(all, each, ranks), ranks);
    if (here > 0)
        ++out.tallies["room for " + std::to_string(here) + (here == 1 ? " rank" : " ranks")];
    figures["gpus_total"] += all.gpus;
    figures["gpus_free"] += std::max<std::int64_t>(left.gpus, 0);
    most("gpus_free_on_one_node", left.gpus);
    most("gpus_largest_node", all.gpus);
    const bool has_gpus = each.gpus == 0 || left.gpus >= each.gpus;
    if (has_gpus) most("cpu_free_on_one_node", left.cpu);
    if (has_gpus && left.cpu >= each.cpu) most("memory_free_on_one_node", left.memory);
    if (each.gpus > 0 && left.gpus < each.gpus) ++out.tallies["Insufficient nvidia.com/gpu"];
    if (left.cpu < each.cpu) ++out.tallies["Insufficient cpu"];
    if (left.memory < each.memory) ++out.tallies["Insufficient memory"];
    if (left.slots < each.slots) ++out.tallies["Too many pods"];
}

Truth truth_of(const EngineWorld& world, const std::string& pool, const PodFacts& asking,
               std::int64_t ranks) {
    Truth out;
    Amounts each = amounts_of(asking.request);
    each.slots = 1;
    for (const char* name :
         {"nodes_pool", "nodes_matching", "ranks_fitting", "ranks_fitting_empty", "gpus_free",
          "gpus_total", "gpus_free_on_one_node", "gpus_largest_node", "cpu_free_on_one_node",
          "memory_free_on_one_node"}) {
        out.figures[name] = 0;
    }
    out.figures["ranks_needed"] = ranks;
    out.figures["gpus_per_rank"] = each.gpus;
    out.figures["gpus_needed"] = each.gpus * ranks;
    out.figures["cpu_needed"] = each.cpu;
    out.figures["memory_needed"] = each.memory;
    for (const auto& [name, facts] : world.nodes) {
        if (facts.pool != pool) continue;
        ++out.figures["nodes_pool"];
        if (facts.unschedulable) {
            ++out.tallies["node(s) were unschedulable"];
        } else if (!asking.rules.node_selector.empty() && !facts.labels.contains("zone")) {
            ++out.tallies["node(s) didn't match Pod's node affinity/selector"];
        } else {
            Amounts all = amounts_of(facts.allocatable);
            const Amounts left = left_on(world, name, all);
            all.slots -= world.policy.pods_reserved_per_node;
            add_node(left, all, each, ranks, out);
        }
    }
    return out;
}

// Wrong figures of the explanation; empty when it is right.
std::string differences(const Explanation& explanation, const Truth& truth) {
    std::string out;
    for (const Figure& one : explanation.figures) {
        const auto known = truth.figures.find(one.name);
        if (known == truth.figures.end() || known->second == one.value) continue;
        out += one.name + " is " + std::to_string(known->second) + ", not " +
               std::to_string(one.value) + "; ";
    }
    std::map<std::string, std::int64_t> tallies;
    for (const NodeTally& tally : explanation.tallies) tallies[tally.message] = tally.nodes;
    if (tallies != truth.tallies) {
        for (const auto& [message, nodes] : truth.tallies) {
            out += std::to_string(nodes) + " " + message + "; ";
        }
    }
    return out;
}

void check(const EngineWorld& world, const JobView& view, const Explanation& explanation) {
    std::int64_t ranks = -1;
    for (const Figure& one : explanation.figures) {
        if (one.name == "ranks_needed") ranks = one.value;
    }
    // The explanation must be right about one waiting pod: for a mixed gang it explains one kind of
    // rank.
    std::string wrong = "no pod waits";
    for (const PodView& one : view.pods) {
        if (one.bind_state != BindState::waiting) continue;
        wrong = differences(explanation, truth_of(world, view.pool, one.facts, ranks));
        if (wrong.empty()) break;
    }
    EXPECT_EQ(wrong, "") << wording::sentence(explanation);
}

}  // namespace

void recount(const EngineWorld& world, const std::string& job, const std::string& space) {
    const Result<JobView> view = find_job(world.engine.state(), space, job);
    if (!view || !view->waiting) return;
    const std::vector<Explanation> reasons = world.why(job, space);
    ASSERT_FALSE(reasons.empty());
    for (const Explanation& reason : reasons) {
        std::map<std::string, std::int64_t> figures;
        for (const Figure& one : reason.figures) figures[one.name] = one.value;
        EXPECT_FALSE(wording::sentence(reason).empty());
        if (!figures.contains("nodes_pool")) continue;
        check(world, *view, reason);
        if (reason.reason == Reason::gpu_insufficient) {
            EXPECT_LT(figures["gpus_free"], figures["gpus_needed"]) << wording::sentence(reason);
        }
        if (reason.reason == Reason::gpu_fragmented) {
            EXPECT_GE(figures["gpus_free"], figures["gpus_needed"]) << wording::sentence(reason);
        }
    }
}

}  // namespace gpuctl::test
