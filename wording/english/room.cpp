// What the ranks of a job request, and what the nodes have.

#include "scheduler/model/amount_text.hpp"
#include "scheduler/model/gpu/devices.hpp"
#include "wording/english/english.hpp"

namespace gpuctl::wording::english {
namespace {

using amounts::gpus;
using amounts::gpus_noun;
using amounts::ranks_text;

std::string amount(const fact::Amount& of) {
    return (of.is_lower_bound ? "at least " : "") +
           amounts::amount_text(of.kind, of.resource, of.amount);
}

// "8 GPUs and 4 CPU"
std::string all_of(const std::vector<fact::Amount>& needs) {
    std::string text;
    for (const fact::Amount& need : needs) text += (text.empty() ? "" : " and ") + amount(need);
    return text;
}

// Goes on from the request: "8 GPUs requested on one node" + " with 64 CPU".
std::string with(const fact::Amount& need, std::int64_t ranks) {
    return " with " + amount(need) + (ranks > 1 ? " each" : "");
}

std::string usable_nodes(const fact::UsableNodes& nodes) {
    return "the " + amounts::count(nodes.usable, "usable node", "usable nodes") + " of pool " +
           nodes.pool;
}

// "pool default: ", "the 3 usable nodes of pool default: "
std::string place(const fact::UsableNodes& nodes) {
    return (nodes.usable == nodes.total ? "pool " + nodes.pool : usable_nodes(nodes)) + ": ";
}

std::string room_for(const fact::RanksFitting& ranks) {
    const std::string text =
        ", room for " + std::to_string(ranks.fitting) + " of " + ranks_text(ranks.wanted);
    if (ranks.by_all == ranks.fitting) return text;
    return text + " (" + std::to_string(ranks.by_all) + " with " + amount(ranks.last) +
           (ranks.wanted > 1 ? " each)" : ")");
}

std::string room_on(const fact::ModelRoom& room, const fact::ModelsShort& all) {
    if (room.nodes == 0) return "no node has " + room.model;
    if (room.nodes_usable == 0) return "no usable node has " + room.model;
    return room.model + " has " + gpus(room.gpus_free) + " of " + gpus_noun(room.gpus_total) +
           (all.has_fractions ? " completely idle, at most " : " free, at most ") +
           gpus(room.gpus_most) + " on one node, room for " + std::to_string(room.ranks_fitting) +
           " of " + ranks_text(all.ranks) +
           (room.ranks_fitting_empty < all.ranks ? ", too few even when empty" : "");
}

// "6 GPUs requested for 3 ranks of different size (4, 1, 1)"
std::string mixed(const fact::MixedRequest& request) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : request.sizes) sizes.push_back(gpus(size));
    return gpus_noun(request.gpus) + " requested for " + std::to_string(request.ranks) +
           " ranks of different size (" + list_of(sizes, request.ranks) + ")";
}

}  // namespace

std::string words(const fact::Request& fact) {
    if (fact.gpus_each == 0) return amounts::count(fact.ranks, "pod", "pods") + " requested";
    if (is_part_of_gpu(GpuMilli{fact.gpus_each})) {
        return amounts::gpu_part(fact.gpus_each) + " of one GPU requested" +
               (fact.ranks == 1 ? "" : " by each of " + ranks_text(fact.ranks));
    }
    if (fact.ranks == 1) return gpus_noun(fact.resource, fact.gpus_each) + " requested on one node";
    // Ranks may share a node: the number of nodes it takes depends on the nodes.
    return gpus_noun(fact.resource, fact.gpus_each * fact.ranks) + " requested (" +
           ranks_text(fact.ranks) + " × " + gpus(fact.gpus_each) + ")";
}

std::string words(const fact::NeverFits& fact) {
    std::string text = fact.is_in_request ? "" : with(fact.need, fact.ranks);
    text += fact.nodes.usable == fact.nodes.total ? "; no node" : "; no usable node";
    text += " of pool " + fact.nodes.pool;
    const std::string before = fact.before.empty() ? "" : "with " + all_of(fact.before) + " ";
    const std::string& resource = fact.need.resource;
    if (fact.largest == 0) {
        const bool is_unnamed = fact.need.kind == ResourceKind::gpu_part || resource.empty();
        return text + " " + before + "has " + (is_unnamed ? "any" : resource);
    }
    return text + " is large enough even when empty, the largest " + before + "has " +
           amounts::amount_text(fact.need.kind, resource, fact.largest);
}

std::string words(const fact::GpusShort& fact) {
    std::string text = "; " + place(fact.nodes) + gpus(fact.free) + " of " +
                       gpus_noun(fact.resource, fact.total) +
                       (fact.has_fractions ? " completely idle, at most " : " free, at most ") +
                       (fact.is_fraction ? amounts::gpu_part(fact.most) + " on one GPU"
                                         : gpus(fact.most) + " on one node");
    if (fact.ranks.wanted > 1) text += room_for(fact.ranks);
    return text;
}

std::string words(const fact::ResourceShort& fact) {
    return with(fact.need, fact.ranks.wanted) + "; " + place(fact.nodes) + "at most " +
           amounts::amount_text(fact.need.kind, fact.need.resource, fact.most) + " free on " +
           (fact.before.empty() ? "one node" : "a node with " + all_of(fact.before) + " free") +
           room_for(fact.ranks);
}

std::string words(const fact::AlsoShort& fact) {
    return "; also " + amount(fact.need) + " requested on one node, at most " +
           amounts::amount_text(fact.need.kind, fact.need.resource, fact.most) + " free";
}

// " with host port 2222/TCP; pool default: 2 nodes with 8 GPUs free, the port is in use on each"
std::string words(const fact::HostPortTaken& fact) {
    // The port is the only shortage on every usable node.
    const bool is_all =
        fact.nodes_asked == fact.nodes.usable && fact.nodes.usable < fact.nodes.total;
    const std::string nodes = usable_nodes(fact.nodes);
    std::string text = with(fact.port, fact.ranks.wanted) + "; ";
    if (!is_all) {
        text += place(fact.nodes) + amounts::count(fact.nodes_asked, "node", "nodes") +
                (fact.before.empty() ? "" : " with " + all_of(fact.before) + " free") + ", ";
    }
    if (fact.nodes_with_port == 0) {
        const bool is_one = fact.nodes_asked == 1;
        const std::string on_all = std::string{is_one ? "on " : "on each of "} + nodes;
        return text + "the port is in use " +
               (is_all ? on_all : std::string{is_one ? "there" : "on each"});
    }
    return text + "the port is free on " + std::to_string(fact.nodes_with_port) + " of " +
           (is_all ? nodes : "them") + " (one rank each)" + room_for(fact.ranks);
}

std::string words(const fact::ModelsShort& fact) {
    std::string each;
    for (const fact::ModelRoom& room : fact.models) {
        each += (each.empty() ? "" : "; ") + room_on(room, fact);
    }
    return (fact.is_bound_to_gang ? "; model of its other ranks: " : "; accepted models: ") + each;
}

std::string words(const fact::MixShort& fact) {
    return mixed(fact.request) + "; pool " + fact.pool + ": " + gpus(fact.gpus_free) + " of " +
           gpus_noun(fact.gpus_total) + " free, room for each size alone but not for all ranks";
}

std::string words(const fact::MixTogether& fact) { return "; in total " + mixed(fact.request); }

}  // namespace gpuctl::wording::english
