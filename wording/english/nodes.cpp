// Why nodes cannot be used: refused, in another pool, in the wrong topology domain, closed.

#include <optional>

#include "scheduler/model/amount_text.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {
namespace {

std::string joined(const std::vector<std::string>& names, const char* between) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
    return text;
}

std::string selector(const fact::NodesRefusing& of) {
    const std::string text = joined(of.names, ", ");
    if (!of.has_affinity) return text;
    return text + (text.empty() ? "its affinity" : " and its affinity");
}

std::string refusal(const fact::NodesRefusing& of) {
    const bool is_one = of.nodes == 1;
    const std::string is = is_one ? "is" : "are";
    const std::string has = is_one ? "has" : "have";
    const std::string name = of.names.empty() ? "" : of.names.front();
    switch (of.why) {
        case NodeRefusal::none:
            return is + " kept free for maintenance or a reservation";
        case NodeRefusal::unschedulable:
            return is + " cordoned";
        case NodeRefusal::unhealthy:
            return is + " unhealthy";
        case NodeRefusal::taint:
            return has + " the taint " + name + ", which it does not tolerate";
        case NodeRefusal::selector:
            return std::string{is_one ? "does" : "do"} + " not match " + selector(of);
        case NodeRefusal::gpu_model:
            return has + " another GPU model than " + joined(of.names, " or ");
        case NodeRefusal::sliced_gpus:
            return has + " MIG slices instead of whole GPUs";
        case NodeRefusal::topology:
            return has + " no " + name + " label";
        case NodeRefusal::volume:
            return "cannot reach the volume of claim " + name;
    }
    return "";
}

std::string together(const fact::TopologyShort& fact) {
    const std::string level{to_string(fact.required)};
    std::string text = " within one " + level;
    if (fact.is_bound_to_gang) text += " (that of its other ranks)";
    text += "; " + level + " " + fact.domain + (fact.domains > 1 ? " has most room: " : ": ");
    if (fact.has_gpus) text += amounts::gpus_noun(fact.gpus_free) + " free, ";
    return text + "room for " + std::to_string(fact.ranks_fitting) + " of " +
           amounts::ranks_text(fact.ranks);
}

std::string apart(const fact::TopologyShort& fact) {
    const std::string level{to_string(fact.spread)};
    const std::string where =
        fact.ranks == 1 ? " in a " + level + " without its other ranks"
                        : " in " + std::to_string(fact.ranks) + " different " + level + "s";
    return where + "; " + std::to_string(fact.spread_domains) + " " + level +
           (fact.spread_domains == 1 ? " has room" : "s have room");
}

// "maintenance rack-7", "reservation paper (for queue research and namespace team-a)"
std::string named(const fact::WindowClosed& window) {
    if (!window.is_reservation) return "maintenance " + window.name;
    std::string owners;
    const auto add = [&owners](const char* what, const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            owners += (owners.empty() ? "" : " and ") + (what + name);
        }
    };
    add("queue ", window.queues);
    add("namespace ", window.tenants);
    return "reservation " + window.name + " (for " + owners + ")";
}

// "maintenance rack-7 keeps 2 nodes closed for another 24s"
std::string closing(const fact::WindowClosed& window) {
    const std::string nodes = amounts::count(window.nodes, "node", "nodes");
    if (window.has_begun) {
        return named(window) + " keeps " + nodes + " closed for another " + span(window.lasts);
    }
    return named(window) + " closes " + nodes + " in " + span(window.begins_in) + " for " +
           span(window.lasts);
}

std::string conflict(fact::WindowConflict conflict, Duration run_time) {
    switch (conflict) {
        case fact::WindowConflict::none:
            return "";
        case fact::WindowConflict::stops_it_at_once:
            return ", and would evict it at once";
        case fact::WindowConflict::run_time_unknown:
            return ", and its run time is unknown (set maxRunTime)";
        case fact::WindowConflict::run_time:
            return ", and it may run for " + span(run_time);
    }
    return "";
}

}  // namespace

std::string words(const fact::PoolEmpty& fact) { return "; pool " + fact.pool + " has no node"; }

std::string words(const fact::NoNodeMatches& fact) {
    std::string text = "no node of pool " + fact.pool + " is usable: ";
    bool is_first = true;
    for (const fact::NodesRefusing& of : fact.refusals) {
        text += (is_first ? "" : ", ") + std::to_string(of.nodes) + " " + refusal(of);
        is_first = false;
    }
    if (fact.nodes_sliced == 0) return text;
    return text + "; " + amounts::count(fact.nodes_sliced, "node counts", "nodes count") +
           " MIG slices as GPUs: to use one, request " +
           (fact.sliced_model.empty() ? "its model" : "model " + fact.sliced_model);
}

std::string words(const fact::OtherPools& fact) {
    std::string text = "; it requests pool " + fact.pool_wanted + ", but ";
    bool is_first = true;
    for (const fact::NodesInPool& in : fact.pools) {
        if (!is_first) {
            text += ", " + std::to_string(in.nodes);
        } else if (in.nodes == 1) {
            text += "usable node " + in.first + " is";
        } else {
            text += std::to_string(in.nodes) + " usable nodes are";
        }
        text += " in pool " + in.pool;
        is_first = false;
    }
    return text;
}

std::string words(const fact::NamedNodeMissing& fact) {
    const std::string names =
        (fact.label.empty() ? fact.value : fact.label + "=" + fact.value) +
        (fact.others == 0 ? "" : " or " + std::to_string(fact.others) + " more");
    return "; it names node" + std::string{fact.others == 0 ? " " : "s "} + names +
           (fact.others == 0 ? ", which does not exist" : ", none of which exists");
}

std::string words(const fact::TopologyShort& fact) {
    std::string text = fact.is_added ? "; its ranks must be" : "";
    if (fact.required != TopologyLevel::none) text += together(fact);
    if (fact.spread != TopologyLevel::none) text += apart(fact);
    if (fact.ranks_fitting_empty >= fact.ranks) return text;
    return text + "; room for only " + std::to_string(fact.ranks_fitting_empty) +
           " even when empty";
}

// Each window has its own nodes: the end of one window does not open the nodes of another.
std::string words(const fact::WindowsClosed& fact) {
    std::string text = "; ";
    if (fact.windows > 1) {
        text += "windows close " + amounts::count(fact.nodes, "node", "nodes") + ": ";
    }
    std::optional<fact::WindowConflict> last;  // a repeated conflict is named once
    bool is_first = true;
    for (const fact::WindowClosed& window : fact.first) {
        text += (is_first ? "" : "; ") + closing(window);
        is_first = false;
        if (window.has_begun) continue;
        if (last != window.conflict) text += conflict(window.conflict, fact.run_time);
        last = window.conflict;
    }
    const std::int64_t more = fact.windows - static_cast<std::int64_t>(fact.first.size());
    if (more > 0) text += "; and " + amounts::count(more, "more window", "more windows");
    if (!fact.is_short_without) return text;
    return text + (fact.windows == 1 ? "; even without it" : "; even without them") +
           " there is no room now";
}

}  // namespace gpuctl::wording::english
