#include "wording/node_change.hpp"

namespace gpuctl::wording {
namespace {

std::string wanted_value(const NodeLabels& labels, const std::string& key) {
    const auto found = labels.find(key);
    return found == labels.end() ? std::string{} : found->second;
}

std::string label_in_the_way(const NodeChange& change, const Error& why) {
    const std::string& key = why.details.front().place.pointer;
    const std::string& found = why.details.front().message;
    const bool is_expected = why.code == ErrorCode::Conflict;
    const std::string text = "its label " + key + " is " + (found.empty() ? "missing" : found) +
                             ", not " +
                             wanted_value(is_expected ? change.expected : change.set, key);
    return is_expected ? text + "; read the node again"
                       : text + "; overwrite it with --overwrite (overwrite: true)";
}

}  // namespace

std::string node_change_text(const NodeChange& change, const Error& why) {
    const std::string doing = "change node " + change.node + ": ";
    if (!why.details.empty()) return doing + label_in_the_way(change, why);
    switch (why.code) {
        case ErrorCode::Conflict:
            return doing + "it is another node of that name by now; read it again";
        case ErrorCode::NodeNotFound:
            return doing + "there is no such node; `gpuctl get nodes` lists them";
        case ErrorCode::NotLeader:
            return doing + "this gpuctld no longer leads; send it to the leader";
        case ErrorCode::TooManyRequests:
            return doing + std::to_string(kNodeChangesMaximum) +
                   " changes of nodes wait already; retry in a few seconds";
        default:
            return doing + why.message;
    }
}

Error node_change_error(const NodeChange& change, const Error& why) {
    return make_error(why.code, node_change_text(change, why));
}

}  // namespace gpuctl::wording
