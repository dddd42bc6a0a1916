// Pools, nodes and queues as lists.

#include "cli/commands/commands.hpp"
#include "cli/listing/kinds.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

std::string node_name(const Json& item) { return text_of(item, "nodeName", text_of(item, "name")); }

// GPUs that are neither used nor available: reserved, maintenance, failed.
Cell gpus_in_state(std::string state) {
    return [state = std::move(state)](const Json& item) {
        return number_of(item.value("gpuStates", Json::object()), state);
    };
}

// "mig-1g.10gb 3/7": free of all slices.
std::string slices_of(const Json& item) {
    const Json slices = item.value("slices", Json::array());
    std::string text;
    for (const auto& slice : slices) {
        text += (text.empty() ? "" : ", ") + text_of(slice, "name") + " " +
                number_of(slice, "free") + "/" + number_of(slice, "total");
    }
    return text.empty() ? "-" : text;
}

// "block b1, rack r1".
std::string topology_of(const Json& item) {
    const Json levels = item.value("topology", Json::object());
    std::string text;
    for (const auto& [level, name] : levels.items()) {
        text += (text.empty() ? "" : ", ") + level + " " + text_of(levels, level);
    }
    return text.empty() ? "-" : text;
}

std::string node_count(const Json& item) {
    return std::to_string(item.value("nodes", Json::array()).size());
}

std::string upper_limit(const Json& item, std::string_view key) {
    const auto member = item.find(key);
    return member == item.end() || member->is_null() ? "-" : number_of(item, key);
}

Cell limit(std::string key) {
    return [key = std::move(key)](const Json& item) { return upper_limit(item, key); };
}

// "480/500 week": used, and the budget of the period.
std::string budget_of(const Json& item) {
    const auto budget = item.find("budget");
    if (budget == item.end() || budget->is_null()) return "-";
    return number_of(*budget, "used") + "/" + number_of(*budget, "gpuHours") + " " +
           text_of(*budget, "period");
}

bool is_declared(const Json& queue) { return queue.value("declared", true); }

// Of a queue that the policy declares; "-" of a queue that only jobs name.
Cell of_policy(std::string key) {
    return [key = std::move(key)](const Json& item) {
        return is_declared(item) ? number_of(item, key) : std::string{"-"};
    };
}

// Indented below its parent.
std::string queue_in_tree(const Json& item) {
    const auto depth = static_cast<std::size_t>(item.value("depth", std::int64_t{0}));
    return std::string(2 * depth, ' ') + text_of(item, "name") +
           (is_declared(item) ? "" : " (not declared)");
}

std::string guaranteed_of(const Json& item) {
    return of_policy("guaranteed")(item) +
           (item.value("isGuaranteeValid", true) ? "" : " (exceeded)");
}

// Pools may have queues of equal names: "training/research/llm".
std::string queue_name(const Json& item) {
    return text_of(item, "pool") + "/" + text_of(item, "path", text_of(item, "name"));
}

bool is_queue_named(const Json& item, const std::string& name) {
    return text_of(item, "name") == name || text_of(item, "path") == name ||
           queue_name(item) == name || text_of(item, "pool") + "/" + text_of(item, "name") == name;
}

std::vector<Column> queue_columns() {
    return {{"POOL", member("pool")},
            {"QUEUE", queue_in_tree},
            {"ORDER",
             [](const Json& item) { return is_declared(item) ? text_of(item, "order") : "-"; }},
            {"PRIORITY", of_policy("priority")},
            {"WEIGHT", of_policy("weight")},
            {"GUARANTEED", guaranteed_of},
            {"MAXIMUM", limit("maximum")},
            {"GPUS HELD", number("held")},
            {"FAIR SHARE", number("entitled")},
            {"WAITING", number("jobsWaiting")},
            {"RUNNING", number("jobsRunning")},
            {"GPUS WAITING", number("gpusWaiting")},
            {"GPU-HOURS", budget_of, Use::if_filled},
            {"MAY BORROW", limit("borrowingLimit"), Use::wide},
            {"NOT LENT", number("notLent"), Use::wide},
            {"MAX JOBS", limit("maxJobs"), Use::wide},
            {"MAX GPU PER JOB", limit("maxGpuPerJob"), Use::wide},
            {"GPUS USED",
             [](const Json& item) { return number_of(item.value("used", Json::object()), "gpus"); },
             Use::wide}};
}

// Models without their numbers; a list as it is.
Json keys_of(const Json& models) {
    if (!models.is_object()) return models;
    Json keys = Json::array();
    for (const auto& [model, count] : models.items()) keys.push_back(model);
    return keys;
}

}  // namespace

nlohmann::json pool_row(const nlohmann::json& item) {
    return {{"name", text_of(item, "name")},
            {"description", text_of(item, "description")},
            {"order", text_of(item, "order")},
            {"nodes", item.value("nodes", Json::array())},
            {"gpu_total", item.value("gpuTotal", Json(0))},
            {"gpu_used", item.value("gpuUsed", Json(0))},
            {"gpu_free", item.value("gpuFree", Json(0))},
            {"gpu_types", keys_of(item.value("gpuType", Json::object()))},
            {"gpu_states", item.value("gpuStates", Json::object())},
            {"status", text_of(item, "status")}};
}

nlohmann::json node_row(const nlohmann::json& item) {
    return {{"name", node_name(item)},
            {"status", text_of(item, "status")},
            {"gpu_total", item.value("gpuTotal", Json(0))},
            {"gpu_used", item.value("gpuUsed", Json(0))},
            {"gpu_free", item.value("gpuFree", Json(0))},
            {"gpu_states", item.value("gpuStates", Json::object())},
            {"slices", item.value("slices", Json::array())},
            {"gpu_types", member_list(item, "gpuType")},
            {"cpu", text_of(item, "cpu")},
            {"memory", text_of(item, "memory")},
            {"topology", item.value("topology", Json::object())},
            {"note", text_of(item, "note")},
            {"ip", text_of(item, "ip", "N/A")},
            {"pool", text_of(item, "pool", member_list(item, "boundPools"))}};
}

ListedKind pools_kind() {
    return {.name = "pools",
            .columns = {{"POOL NAME", member("name")},
                        {"STATUS", member("status")},
                        {"GPU TOTAL", number("gpuTotal")},
                        {"GPU USED", number("gpuUsed")},
                        {"GPU FREE", number("gpuFree")},
                        {"NODE COUNT", node_count},
                        {"RESERVED", gpus_in_state("reserved"), Use::wide},
                        {"MAINTENANCE", gpus_in_state("maintenance"), Use::wide},
                        {"FAILED", gpus_in_state("failed"), Use::wide},
                        {"GPU TYPES", joined("gpuType"), Use::wide},
                        {"ORDER", member("order", "-"), Use::wide},
                        {"DESCRIPTION", member("description"), Use::wide}},
            .short_form = pool_row};
}

ListedKind nodes_kind() {
    return {.name = "nodes",
            .columns = {{"NODE NAME", node_name},
                        {"STATUS", member("status")},
                        {"GPU TOTAL", number("gpuTotal")},
                        {"GPU USED", number("gpuUsed")},
                        {"GPU FREE", number("gpuFree")},
                        {"FREE SLICES", slices_of, Use::if_filled},
                        {"GPU TYPE", joined("gpuType", "-")},
                        {"IP", member("ip", "N/A")},
                        {"POOL",
                         [](const Json& item) {
                             return text_of(item, "pool", member_list(item, "boundPools"));
                         }},
                        {"RESERVED", gpus_in_state("reserved"), Use::wide},
                        {"MAINTENANCE", gpus_in_state("maintenance"), Use::wide},
                        {"FAILED", gpus_in_state("failed"), Use::wide},
                        {"CPU", member("cpu", "-"), Use::wide},
                        {"MEMORY", member("memory", "-"), Use::wide},
                        {"TOPOLOGY", topology_of, Use::wide},
                        {"NOTE", member("note", "-"), Use::if_filled}},
            .short_form = node_row,
            .typed_name = [](const Json& item) { return "node/" + node_name(item); },
            .is_named = [](const Json& item,
                           const std::string& name) { return node_name(item) == name; }};
}

ListedKind queues_kind() {
    return {.name = "queues",
            .columns = queue_columns(),
            .typed_name = [](const Json& item) { return "queue/" + queue_name(item); },
            .is_named = is_queue_named};
}

void print_queues(std::ostream& out, const nlohmann::json& rows, bool wide) {
    ListOutput output;
    output.format = wide ? Format::wide : Format::table;
    print_list(out, listed_kind("queues"), {{"items", rows}}, output);
}

}  // namespace gpuctl::cli
