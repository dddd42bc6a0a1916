#pragma once
// The commands about nodes: label, get labels, add node, remove node, cordon, uncordon, drain,
// migrate.

#include <string>
#include <vector>

#include "cli/connection.hpp"
#include "cli/listing/listing.hpp"
#include "cli/output.hpp"

namespace gpuctl::cli {

struct NodeOptions {
    std::string action;              // label, add, remove, cordon, uncordon, drain
    std::vector<std::string> words;  // as they were typed: nodes, and for `label` the label
    std::vector<std::string> nodes;
    std::string label;  // key=value; with `deletes` the key
    std::string pool;
    std::string key;  // of get labels: only this one
    bool overwrite = false;
    bool deletes = false;
    bool moves = false;
    bool is_dry_run = false;     // of migrate
    bool removes_old = false;    // of migrate
    bool is_short_form = false;  // --json, not -o json
    Format format = Format::table;
    ListOutput output;  // of get labels
};

// Takes nodes and label from the words, whatever their order: `label N... K=V`, `label node N...
// K=V`, `label node K=V N...`. ValidationFailed: no node, no label, or two.
Result<void> read_label_words(NodeOptions& options);

aio::Task<int> run_label(Connection& connection, NodeOptions options);
// Of one node; of all of them, they are a list (cli/listing/labels.cpp).
aio::Task<int> run_get_labels(Connection& connection, NodeOptions options);
// add, remove, cordon, uncordon, drain
aio::Task<int> run_on_nodes(Connection& connection, NodeOptions options);

// Labels with the prefixes of earlier products are written under the present prefix, too.
aio::Task<int> run_migrate(Connection& connection, NodeOptions options);

// `get nodes --gpu-type gpu-type`: the name of the label means all its values.
bool is_gpu_type_label(std::string_view text);

}  // namespace gpuctl::cli
