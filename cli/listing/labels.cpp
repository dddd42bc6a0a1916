// Labels of nodes as lists.

#include "cli/listing/kinds.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

std::string node_of_labels(const Json& item) { return text_of(item, "nodeName"); }

bool is_of_node(const Json& item, const std::string& name) { return node_of_labels(item) == name; }

std::string typed_node(const Json& item) { return "node/" + node_of_labels(item); }

// "runwhere.ai/pool=a,runwhere.ai/zone=b".
std::string label_list(const Json& item) {
    std::string text;
    const Json labels = item.value("labels", Json::array());
    for (const Json& label : labels) {
        text += (text.empty() ? "" : ",") + text_of(label, "key") + "=" + text_of(label, "value");
    }
    return text.empty() ? "-" : text;
}

// Contract: a row a label.
Json label_rows(const Json& item) {
    Json rows = Json::array();
    const Json labels = item.value("labels", Json::array());
    for (const Json& label : labels) {
        rows.push_back({{"node", node_of_labels(item)},
                        {"label", text_of(label, "key") + "=" + text_of(label, "value")}});
    }
    return rows;
}

// For -l.
Json label_map(const Json& item) {
    Json map = Json::object();
    const Json labels = item.value("labels", Json::array());
    for (const Json& label : labels) map[text_of(label, "key")] = text_of(label, "value");
    return map;
}

std::string label_value(const Json& item) {
    return text_of(item, "labelKey") + "=" + text_of(item, "labelValue");
}

}  // namespace

ListedKind labels_kind() {
    return {.name = "labels",
            .columns = {{"NODE", node_of_labels},
                        {"LABELS", label_list},
                        {"POOL", joined("boundPools", "-"), Use::wide}},
            .short_form = label_rows,
            .typed_name = typed_node,
            .is_named = is_of_node,
            .labels = label_map,
            .path = "nodes/labels/all"};
}

ListedKind label_values_kind() {
    return {.name = "values of the label",
            .columns = {{"NODE", node_of_labels}, {"LABEL", label_value}},
            .short_form =
                [](const Json& item) {
                    return Json{{"node", node_of_labels(item)}, {"label", label_value(item)}};
                },
            .typed_name = typed_node,
            .is_named = is_of_node,
            .labels =
                [](const Json& item) {
                    return Json{{text_of(item, "labelKey"), text_of(item, "labelValue")}};
                },
            .path = "nodes/labels"};
}

ListedKind labels_of_node_kind() {
    return {.name = "labels of the node",
            .columns = {{"KEY", member("key")}, {"VALUE", member("value")}},
            .typed_name = [](const Json& item) { return "label/" + text_of(item, "key"); }};
}

}  // namespace gpuctl::cli
