// One pool, one node or one queue, for people.

#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/commands/describe_parts.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

Json list_in(const Json& object, const char* key) {
    Json list = object.value(key, Json::array());
    return list.is_array() ? list : Json::array();
}

Json object_in(const Json& object, const char* key) {
    Json inner = object.value(key, Json::object());
    return inner.is_object() ? inner : Json::object();
}

// "" of a number that is absent or zero: such lines are left out.
std::string unless_zero(const Json& object, const char* key) {
    if (!object.contains(key) || object[key].is_null()) return "";
    const std::string text = number_of(object, key);
    return text == "0" ? "" : text;
}

std::string number_or(const Json& object, const char* key, const char* otherwise) {
    return !object.contains(key) || object[key].is_null() ? otherwise : number_of(object, key);
}

std::string age_line(const Json& object) {
    const std::string created = text_of(object, "createdAt");
    return created.empty() ? "" : created + " (" + age_of("createdAt")(object) + " ago)";
}

// "3 reserved, 1 failed": GPUs that are neither used nor free.
std::string unusual_states(const Json& object) {
    const Json states = object_in(object, "gpuStates");
    std::string text;
    for (const char* state : {"reserved", "maintenance", "failed"}) {
        const std::string count = unless_zero(states, state);
        if (!count.empty()) text += (text.empty() ? "" : ", ") + count + " " + state;
    }
    return text;
}

// Used of the total: "6 of 32".
std::string used_of_total(const Json& object, const char* used, const char* total) {
    return object.contains(total) ? text_of(object, used, "0") + " of " + text_of(object, total)
                                  : std::string{};
}

std::string quota_of_pool(const Json& pool) {
    const Json quota = object_in(pool, "quota");
    if (quota.empty()) return "";
    return "maxJobs " + number_or(quota, "maxJobs", "unlimited") + ", maxGpuPerJob " +
           number_or(quota, "maxGpuPerJob", "unlimited");
}

void print_pool_jobs(const Json& pool) {
    const Json jobs = list_in(pool, "jobs");
    if (jobs.empty()) return;
    std::cout << "Running jobs:\n";
    Table table{{"  NAMESPACE", "JOB", "GPU"}};
    for (const Json& job : jobs) {
        table.add_row(
            {"  " + text_of(job, "namespace"), text_of(job, "name"), number_of(job, "gpu")});
    }
    table.print(std::cout);
    const auto total = pool.value("jobsTotal", std::int64_t{0});
    if (total > std::ssize(jobs)) {
        std::cout << "  (" << jobs.size() << " of " << total << ")\n";
    }
}

void print_budgets(const Json& pool) {
    const Json budgets = list_in(pool, "budgets");
    if (budgets.empty()) return;
    std::cout << "Budgets of namespaces:\n";
    Table table{{"  NAMESPACE", "GPU-HOURS", "USED", "COMMITTED", "REMAINING", "PERIOD", "ENDS"}};
    for (const Json& budget : budgets) {
        table.add_row({"  " + text_of(budget, "tenant"), number_of(budget, "gpuHours"),
                       number_of(budget, "used"), number_of(budget, "committed"),
                       number_of(budget, "remaining"), text_of(budget, "period"),
                       text_of(budget, "end")});
    }
    table.print(std::cout);
}

void print_node_gpus(const Json& node) {
    const Json gpus = list_in(node, "gpuDetail");
    if (gpus.empty()) return;
    std::cout << "GPUs:\n";
    Table table{{"  GPU", "TYPE", "STATUS", "UTILIZATION", "MEMORY"}};
    for (const Json& gpu : gpus) {
        table.add_row({"  " + number_of(gpu, "gpuId"), text_of(gpu, "type", "-"),
                       text_of(gpu, "status"), text_of(gpu, "utilization", "-"),
                       text_of(gpu, "memoryUsage", "-")});
    }
    table.print(std::cout);
}

void print_slices(const Json& node) {
    const Json slices = list_in(node, "slices");
    if (slices.empty()) return;
    std::cout << "GPU slices:\n";
    Table table{{"  NAME", "TOTAL", "USED", "FREE"}};
    for (const Json& slice : slices) {
        table.add_row({"  " + text_of(slice, "name"), number_of(slice, "total"),
                       number_of(slice, "used"), number_of(slice, "free")});
    }
    table.print(std::cout);
}

void print_node_labels(const Json& node) {
    const Json labels = list_in(node, "labels");
    if (!labels.empty()) std::cout << "Labels:\n";
    for (const Json& label : labels) {
        std::cout << "  " << printable(text_of(label, "key")) << ": "
                  << printable(text_of(label, "value")) << '\n';
    }
    const Json taints = list_in(node, "taints");
    if (!taints.empty()) std::cout << "Taints:\n";
    for (const Json& taint : taints) {
        std::cout << "  " << printable(text_of(taint, "key") + "=" + text_of(taint, "value")) << ':'
                  << printable(text_of(taint, "effect")) << '\n';
    }
}

void print_node_pods(const Json& node) {
    const Json pods = list_in(node, "runningJobs");
    if (pods.empty()) return;
    std::cout << "Running jobs:\n";
    Table table{{"  NAMESPACE", "JOB", "POD", "STATUS", "READY", "GPU", "RESTARTS", "AGE"}};
    for (const Json& pod : pods) {
        const bool is_managed = pod.value("managed", true);
        table.add_row({"  " + text_of(pod, "namespace"),
                       is_managed ? text_of(pod, "job", "-") : "(other scheduler)",
                       text_of(pod, "name"), text_of(pod, "status"), text_of(pod, "ready"),
                       number_of(pod, "gpu"), number_of(pod, "restarts"),
                       age_of("createdAt")(pod)});
    }
    table.print(std::cout);
}

std::string topology_line(const Json& node) {
    std::string text;
    const Json levels = object_in(node, "topology");
    for (const auto& [level, name] : levels.items()) {
        text += (text.empty() ? "" : ", ") + level + " " + text_of(levels, level);
    }
    return text;
}

std::string maintenance_line(const Json& node) {
    const Json next = object_in(node, "maintenance");
    if (next.empty()) return "";
    return text_of(next, "kind") + " " + text_of(next, "name") + ", " + text_of(next, "state") +
           ", from " + text_of(next, "start") + " until " + text_of(next, "end");
}

std::string availability_line(const Json& node) {
    if (node.value("draining", false)) return "no: it is drained";
    if (node.value("unschedulable", false)) return "no: it is cordoned";
    return node.value("acceptsPods", true) ? "yes" : "no";
}

std::string budget_line(const Json& queue) {
    const Json budget = object_in(queue, "budget");
    if (budget.empty()) return "";
    return number_of(budget, "used") + " of " + number_of(budget, "gpuHours") +
           " GPU-hours used, " + number_of(budget, "committed") + " committed, per " +
           text_of(budget, "period") + " until " + text_of(budget, "end");
}

void print_queue_models(const Json& queue) {
    const Json models = list_in(queue, "models");
    if (models.empty()) return;
    std::cout << "Limits of GPU models:\n";
    Table table{{"  MODEL", "GUARANTEED", "MAXIMUM", "GPUS HELD"}};
    for (const Json& model : models) {
        table.add_row({"  " + text_of(model, "model"), number_of(model, "guaranteed"),
                       number_or(model, "maximum", "-"), number_of(model, "held")});
    }
    table.print(std::cout);
}

}  // namespace

void describe_pool(const nlohmann::json& pool) {
    describe_line("Name", text_of(pool, "name"));
    describe_line("Description", text_of(pool, "description"));
    describe_line("Status", text_of(pool, "status"));
    describe_line("Source", text_of(pool, "source"));
    describe_line("Created", age_line(pool));
    describe_line("Order", text_of(pool, "order"));
    describe_line("GPU total", number_or(pool, "gpuTotal", ""));
    describe_line("GPU used", number_or(pool, "gpuUsed", ""));
    const std::string largest = number_or(pool, "gpuFreeMaxPerNode", "");
    describe_line("GPU free",
                  number_or(pool, "gpuFree", "") +
                      (largest.empty() ? "" : " (at most " + largest + " on one node)"));
    describe_line("Other GPUs", unusual_states(pool));
    describe_line("GPU reserve", unless_zero(pool, "gpuReserve"));
    describe_line("GPU excess", unless_zero(pool, "gpuExcess"));
    describe_line("GPU types", member_list(pool, "gpuType"));
    describe_line("Quota", quota_of_pool(pool));
    describe_line("Note", text_of(pool, "note"));
    describe_line("Node count", number_or(pool, "nodeCount", ""));
    describe_line("Nodes closed", unless_zero(pool, "nodesClosed"));
    describe_line("Nodes", member_list(pool, "nodes"));
    print_pool_jobs(pool);
    print_budgets(pool);
    const Json queues = list_in(pool, "queues");
    if (queues.empty()) return;
    std::cout << "Queues:\n";
    print_queues(std::cout, queues, true);
}

void describe_node(const nlohmann::json& node, const nlohmann::json& events) {
    const Json resources = object_in(node, "resources");
    describe_line("Name", text_of(node, "name"));
    describe_line("Status", text_of(node, "status"));
    describe_line("K8s status", text_of(node, "k8sStatus"));
    describe_line("Takes pods", availability_line(node));
    describe_line("Pool", text_of(node, "pool"));
    describe_line("IP", text_of(node, "ip"));
    describe_line("Age", text_of(node, "age"));
    describe_line("Last updated", text_of(node, "lastUpdatedAt"));
    describe_line("CPU", used_of_total(resources, "cpuUsed", "cpuTotal"));
    describe_line("Memory", used_of_total(resources, "memoryUsed", "memoryTotal"));
    describe_line("Pods", used_of_total(resources, "podsUsed", "podsTotal"));
    describe_line("GPU total", number_or(node, "gpuTotal", ""));
    describe_line("GPU used", number_or(node, "gpuUsed", ""));
    describe_line("GPU free", number_or(node, "gpuFree", ""));
    describe_line("GPU type", member_list(node, "gpuType"));
    describe_line("Other GPUs", unusual_states(node));
    describe_line("Earmarked GPUs", unless_zero(node, "gpuNominated"));
    describe_line("Topology", topology_line(node));
    describe_line("Unhealthy", text_of(node, "unhealthy"));
    describe_line("Maintenance", maintenance_line(node));
    describe_line("Excess", text_of(node, "excess"));
    describe_line("Note", text_of(node, "note"));
    print_node_gpus(node);
    print_slices(node);
    print_node_labels(node);
    print_node_pods(node);
    describe_events("Events of its pods (newest first)", events);
}

void describe_queue(const nlohmann::json& queue) {
    const Json used = object_in(queue, "used");
    const bool is_declared = queue.value("declared", true);
    describe_line("Name", text_of(queue, "name"));
    describe_line("Pool", text_of(queue, "pool"));
    describe_line("Path", text_of(queue, "path"));
    describe_line("Parent", text_of(queue, "parent"));
    describe_line("Source",
                  is_declared ? text_of(queue, "source") : "not declared: only jobs name it");
    describe_line("Order", text_of(queue, "order"));
    describe_line("Priority", number_or(queue, "priority", ""));
    describe_line("Weight", number_or(queue, "weight", ""));
    describe_line("Guaranteed", number_or(queue, "guaranteed", "") +
                                    (queue.value("isGuaranteeValid", true)
                                         ? " GPUs"
                                         : " GPUs, more than the queues above it guarantee"));
    describe_line("Maximum", number_or(queue, "maximum", "none"));
    describe_line("May borrow", number_or(queue, "borrowingLimit", "without limit"));
    describe_line("Not lent", unless_zero(queue, "notLent"));
    describe_line("Max jobs", number_or(queue, "maxJobs", "none"));
    describe_line("Max GPU per job", number_or(queue, "maxGpuPerJob", "none"));
    describe_line("GPUs held", number_or(queue, "held", ""));
    describe_line("Fair share", number_or(queue, "entitled", ""));
    describe_line("Used", text_of(used, "gpus", "0") + " GPUs, " + text_of(used, "cpu", "0") +
                              " CPU, " + text_of(used, "memory", "0") + " memory by pods that run");
    describe_line("Jobs", number_or(queue, "jobsRunning", "0") + " running, " +
                              number_or(queue, "jobsWaiting", "0") + " waiting for " +
                              number_or(queue, "gpusWaiting", "0") + " GPUs");
    describe_line("Budget", budget_line(queue));
    print_queue_models(queue);
}

}  // namespace gpuctl::cli
