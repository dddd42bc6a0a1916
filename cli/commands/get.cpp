#include <algorithm>
#include <iostream>
#include <set>

#include "cli/commands/commands.hpp"
#include "cli/commands/nodes.hpp"
#include "text/duration.hpp"

namespace gpuctl::cli {
namespace {

constexpr int kPageSize = 100;

std::string join(const nlohmann::json& values) {
    std::string text;
    if (values.is_string()) return values.get<std::string>();
    if (values.is_object()) {
        for (const auto& [key, count] : values.items()) {
            text += (text.empty() ? "" : ",") + key;
            if (count.is_number()) text += "x" + count.dump();
        }
        return text;
    }
    for (const auto& value : values) {
        text += (text.empty() ? "" : ",") +
                (value.is_string() ? value.get<std::string>() : value.dump());
    }
    return text;
}

std::string member_list(const nlohmann::json& object, std::string_view key) {
    const auto member = object.find(key);
    if (member == object.end() || member->is_null()) return "";
    return join(*member);
}

std::string age_of(const nlohmann::json& row) {
    const std::int64_t age = seconds_since(text_of(row, "createdAt"), aio::Loop::wall_ms());
    return age < 0 ? text_of(row, "age", "N/A") : text::format_age(age);
}

// The documents of `--json` and `-o yaml`.
nlohmann::json job_row(const nlohmann::json& item) {
    return {{"job_id", text_of(item, "jobId")},
            {"name", text_of(item, "name")},
            {"namespace", text_of(item, "namespace")},
            {"kind", text_of(item, "kind")},
            {"status", text_of(item, "status")},
            {"ready", text_of(item, "ready", "0/0")},
            {"node", text_of(item, "node", "N/A")},
            {"ip", text_of(item, "ip", "N/A")},
            {"age", age_of(item)},
            {"pool", text_of(item, "pool")},
            {"queue", text_of(item, "queue")},
            {"gpu", item.value("gpu", nlohmann::json(0))},
            {"gpu_total", item.value("gpuTotal", item.value("gpu", nlohmann::json(0)))},
            {"reason", text_of(item, "reason")},
            {"starts_in", start_short(item, aio::Loop::wall_ms())}};
}

nlohmann::json pool_row(const nlohmann::json& item) {
    return {{"name", text_of(item, "name")},
            {"description", text_of(item, "description")},
            {"order", text_of(item, "order")},
            {"nodes", item.value("nodes", nlohmann::json::array())},
            {"gpu_total", item.value("gpuTotal", nlohmann::json(0))},
            {"gpu_used", item.value("gpuUsed", nlohmann::json(0))},
            {"gpu_free", item.value("gpuFree", nlohmann::json(0))},
            {"gpu_types", item.value("gpuType", nlohmann::json::array())},
            {"gpu_states", item.value("gpuStates", nlohmann::json::object())},
            {"status", text_of(item, "status")}};
}

nlohmann::json node_row(const nlohmann::json& item) {
    return {{"name", text_of(item, "nodeName", text_of(item, "name"))},
            {"status", text_of(item, "status")},
            {"gpu_total", item.value("gpuTotal", nlohmann::json(0))},
            {"gpu_used", item.value("gpuUsed", nlohmann::json(0))},
            {"gpu_free", item.value("gpuFree", nlohmann::json(0))},
            {"gpu_states", item.value("gpuStates", nlohmann::json::object())},
            {"slices", item.value("slices", nlohmann::json::array())},
            {"gpu_types", member_list(item, "gpuType")},
            {"cpu", text_of(item, "cpu")},
            {"memory", text_of(item, "memory")},
            {"topology", item.value("topology", nlohmann::json::object())},
            {"note", text_of(item, "note")},
            {"ip", text_of(item, "ip", "N/A")},
            {"pool", text_of(item, "pool", member_list(item, "boundPools"))}};
}

nlohmann::json shape(const std::string& kind, const nlohmann::json& item) {
    if (kind == "jobs") return job_row(item);
    if (kind == "pools") return pool_row(item);
    if (kind == "nodes") return node_row(item);
    return item;
}

std::string upper_limit(const nlohmann::json& row, std::string_view key) {
    const auto member = row.find(key);
    return member == row.end() || member->is_null() ? "-" : number_of(row, key);
}

void print_jobs(const nlohmann::json& rows, bool wide) {
    std::vector<std::string> header{"JOB ID", "NAME", "NAMESPACE", "KIND", "STATUS",
                                    "READY",  "NODE", "IP",        "AGE"};
    if (wide) header.insert(header.end(), {"POOL", "QUEUE", "GPUS", "REASON", "STARTS IN"});
    Table table{header};
    for (const auto& row : rows) {
        std::vector<std::string> cells{
            text_of(row, "job_id"), text_of(row, "name"),   text_of(row, "namespace"),
            text_of(row, "kind"),   text_of(row, "status"), text_of(row, "ready"),
            text_of(row, "node"),   text_of(row, "ip"),     text_of(row, "age")};
        if (wide) {
            cells.insert(cells.end(),
                         {text_of(row, "pool"), text_of(row, "queue"), number_of(row, "gpu_total"),
                          text_of(row, "reason", "-"), text_of(row, "starts_in", "-")});
        }
        table.add_row(std::move(cells));
    }
    table.print(std::cout);
}

// GPUs that are neither used nor available: RESERVED, MAINTENANCE, FAILED.
void add_unavailable_gpus(const nlohmann::json& row, std::vector<std::string>& cells) {
    const nlohmann::json states = row.value("gpu_states", nlohmann::json::object());
    for (const char* state : {"reserved", "maintenance", "failed"}) {
        cells.push_back(number_of(states, state));
    }
}

void print_pools(const nlohmann::json& rows, bool wide) {
    std::vector<std::string> header{"POOL NAME", "STATUS",   "GPU TOTAL",
                                    "GPU USED",  "GPU FREE", "NODE COUNT"};
    if (wide) {
        header.insert(header.end(),
                      {"RESERVED", "MAINTENANCE", "FAILED", "GPU TYPES", "ORDER", "DESCRIPTION"});
    }
    Table table{header};
    for (const auto& row : rows) {
        std::vector<std::string> cells{
            text_of(row, "name"),        text_of(row, "status"),
            number_of(row, "gpu_total"), number_of(row, "gpu_used"),
            number_of(row, "gpu_free"),  std::to_string(row["nodes"].size())};
        if (wide) {
            add_unavailable_gpus(row, cells);
            cells.push_back(member_list(row, "gpu_types"));
            cells.push_back(text_of(row, "order", "-"));
            cells.push_back(text_of(row, "description"));
        }
        table.add_row(std::move(cells));
    }
    table.print(std::cout);
}

// "mig-1g.10gb 3/7": free of all slices.
std::string slices_of(const nlohmann::json& row) {
    std::string text;
    for (const auto& slice : row.value("slices", nlohmann::json::array())) {
        text += (text.empty() ? "" : ", ") + text_of(slice, "name") + " " +
                number_of(slice, "free") + "/" + number_of(slice, "total");
    }
    return text.empty() ? "-" : text;
}

// "block b1, rack r1".
std::string topology_of(const nlohmann::json& row) {
    const nlohmann::json levels = row.value("topology", nlohmann::json::object());
    std::string text;
    for (const auto& [level, name] : levels.items()) {
        text += (text.empty() ? "" : ", ") + level + " " + text_of(levels, level);
    }
    return text.empty() ? "-" : text;
}

// The columns of slices and notes only if a row has any.
void print_nodes(const nlohmann::json& rows, bool wide) {
    const bool has_notes = std::any_of(rows.begin(), rows.end(), [](const nlohmann::json& row) {
        return !text_of(row, "note").empty();
    });
    const bool has_slices = std::any_of(rows.begin(), rows.end(), [](const nlohmann::json& row) {
        return !row.value("slices", nlohmann::json::array()).empty();
    });
    std::vector<std::string> header{"NODE NAME", "STATUS",   "GPU TOTAL", "GPU USED",
                                    "GPU FREE",  "GPU TYPE", "IP",        "POOL"};
    if (has_slices) header.insert(header.begin() + 5, "FREE SLICES");
    if (wide) {
        header.insert(header.end(),
                      {"RESERVED", "MAINTENANCE", "FAILED", "CPU", "MEMORY", "TOPOLOGY"});
    }
    if (has_notes) header.push_back("NOTE");
    Table table{header};
    for (const auto& row : rows) {
        std::vector<std::string> cells{text_of(row, "name"),        text_of(row, "status"),
                                       number_of(row, "gpu_total"), number_of(row, "gpu_used"),
                                       number_of(row, "gpu_free"),  text_of(row, "gpu_types", "-"),
                                       text_of(row, "ip"),          text_of(row, "pool")};
        if (has_slices) cells.insert(cells.begin() + 5, slices_of(row));
        if (wide) {
            add_unavailable_gpus(row, cells);
            cells.insert(cells.end(),
                         {text_of(row, "cpu", "-"), text_of(row, "memory", "-"), topology_of(row)});
        }
        if (has_notes) cells.push_back(text_of(row, "note", "-"));
        table.add_row(std::move(cells));
    }
    table.print(std::cout);
}

}  // namespace

namespace {

// "480/500 week": used, and the budget of the period.
std::string budget_of(const nlohmann::json& row) {
    const auto budget = row.find("budget");
    if (budget == row.end() || budget->is_null()) return "-";
    return number_of(*budget, "used") + "/" + number_of(*budget, "gpuHours") + " " +
           text_of(*budget, "period");
}

}  // namespace

void print_queues(std::ostream& out, const nlohmann::json& rows, bool wide) {
    std::vector<std::string> header{"POOL",       "QUEUE",      "ORDER",   "PRIORITY",
                                    "WEIGHT",     "GUARANTEED", "MAXIMUM", "GPUS HELD",
                                    "FAIR SHARE", "WAITING",    "RUNNING", "GPUS WAITING"};
    const bool has_budgets = std::any_of(
        rows.begin(), rows.end(), [](const nlohmann::json& row) { return budget_of(row) != "-"; });
    if (has_budgets) header.emplace_back("GPU-HOURS");
    if (wide) {
        header.insert(header.end(),
                      {"MAY BORROW", "NOT LENT", "MAX JOBS", "MAX GPU PER JOB", "GPUS USED"});
    }
    Table table{header};
    for (const auto& row : rows) {
        const auto depth = static_cast<std::size_t>(row.value("depth", std::int64_t{0}));
        const bool is_declared = row.value("declared", true);
        const std::string mark = is_declared ? "" : " (not declared)";
        const auto of_policy = [&](const char* key) {
            return is_declared ? number_of(row, key) : std::string{"-"};
        };
        std::vector<std::string> cells{
            text_of(row, "pool"),
            std::string(2 * depth, ' ') + text_of(row, "name") + mark,
            is_declared ? text_of(row, "order") : "-",
            of_policy("priority"),
            of_policy("weight"),
            of_policy("guaranteed") + (row.value("isGuaranteeValid", true) ? "" : " (exceeded)"),
            upper_limit(row, "maximum"),
            number_of(row, "held"),
            number_of(row, "entitled"),
            number_of(row, "jobsWaiting"),
            number_of(row, "jobsRunning"),
            number_of(row, "gpusWaiting")};
        if (has_budgets) cells.push_back(budget_of(row));
        if (wide) {
            const nlohmann::json used = row.value("used", nlohmann::json::object());
            cells.insert(cells.end(), {upper_limit(row, "borrowingLimit"),
                                       number_of(row, "notLent"), upper_limit(row, "maxJobs"),
                                       upper_limit(row, "maxGpuPerJob"), number_of(used, "gpus")});
        }
        table.add_row(std::move(cells));
    }
    table.print(out);
}

namespace {

// Pools may have queues of equal names: "training/research/llm".
std::string queue_name(const nlohmann::json& row) {
    return text_of(row, "pool") + "/" + text_of(row, "path", text_of(row, "name"));
}

// The form that every command accepts for such an object.
std::string printed_name(const std::string& kind, const nlohmann::json& row) {
    const std::string name = text_of(row, "name");
    if (kind == "jobs") return typed_name({text_of(row, "namespace"), name});
    return kind.substr(0, kind.size() - 1) + "/" + (kind == "queues" ? queue_name(row) : name);
}

bool is_named(const std::string& kind, const nlohmann::json& item, const std::string& name) {
    for (const char* key : {"name", "jobId", "nodeName"}) {
        if (text_of(item, key) == name) return true;
    }
    return kind == "queues" && (text_of(item, "path") == name || queue_name(item) == name ||
                                text_of(item, "pool") + "/" + text_of(item, "name") == name);
}

// Each job once, however many of its pods are listed.
void print_names(const std::string& kind, const nlohmann::json& rows) {
    std::set<std::string> printed;
    for (const auto& row : rows) {
        const std::string typed = printed_name(kind, row);
        if (printed.insert(typed).second) std::cout << printable(typed) << '\n';
    }
}

void print_rows(const GetOptions& options, const nlohmann::json& rows) {
    const bool wide = options.format == Format::wide;
    switch (options.format) {
        case Format::json:
            return print_json(std::cout, rows);
        case Format::yaml:
            return print_yaml(std::cout, rows);
        case Format::name:
            return print_names(options.kind, rows);
        case Format::table:
        case Format::wide:
            break;
    }
    if (options.kind == "jobs") return print_jobs(rows, wide);
    if (options.kind == "pools") return print_pools(rows, wide);
    if (options.kind == "nodes") return print_nodes(rows, wide);
    print_queues(std::cout, rows, wide);
}

// The list omits some finished jobs, and others are deleted. On stderr, so that a program that
// reads the table reads only rows.
void print_finished_note(std::int64_t summaries, const nlohmann::json& removed) {
    std::string text;
    const auto jobs = [](std::int64_t count) {
        return std::to_string(count) + (count == 1 ? " finished job" : " finished jobs");
    };
    if (summaries > 0) {
        text = jobs(summaries) + (summaries == 1 ? " is" : " are") +
               " listed without pods: only a summary is stored";
    }
    const std::int64_t count = removed.value("count", std::int64_t{0});
    if (count > 0) {
        const std::int64_t ago = seconds_since(text_of(removed, "lastAt"), aio::Loop::wall_ms());
        text += (text.empty() ? "" : "; ") + jobs(count) +
                (count == 1 ? " was removed, " : " were removed, the last ") +
                text::format_age(ago) + " ago: at most " + number_of(removed, "maximum") +
                " are stored, for " + text_of(removed, "retention") +
                " (policy.finishedJobsMaximum, finishedJobsRetention)";
    }
    if (!text.empty()) std::cerr << text << '\n';
}

// An empty table says why on stderr, so that a program that reads the table reads only rows.
void print_empty_note(const GetOptions& options, const std::string& namespace_name) {
    const bool is_selected = !options.pool.empty() || !options.job_kind.empty() ||
                             !options.status.empty() || !options.queue.empty() ||
                             !options.gpu_type.empty();
    std::cerr << "no " << options.kind << (is_selected ? " match the given flags" : " exist");
    if (options.kind == "jobs" && !namespace_name.empty()) {
        std::cerr << " in namespace " << printable(namespace_name)
                  << "; -A lists those of all namespaces";
    }
    std::cerr << '\n';
}

}  // namespace

aio::Task<int> run_get(Connection& connection, GetOptions options) {
    if (options.kind == "nodes" && is_gpu_type_label(options.gpu_type)) {
        NodeOptions labels;
        labels.key = "gpu-type";
        labels.format = options.format == Format::wide ? Format::table : options.format;
        const int code = co_await run_get_labels(connection, std::move(labels));
        co_return code;
    }
    // Only the list of pods finds the job of a pod's name.
    const bool jobs_only =
        options.summary || (options.format == Format::name && options.name.empty());
    nlohmann::json rows = nlohmann::json::array();
    nlohmann::json removed = nlohmann::json::object();
    std::int64_t summaries = 0;
    for (int page = 1;; ++page) {
        const std::string page_text = std::to_string(page);
        const std::string size_text = std::to_string(kPageSize);
        const std::string target =
            "/api/v1/" + options.kind +
            query({{"namespace", options.kind == "jobs" ? connection.options().namespace_name : ""},
                   {"pool", options.pool},
                   {"kind", options.job_kind},
                   {"status", options.status},
                   {"queue", options.queue},
                   {"gpuType", options.gpu_type},
                   {"view", options.kind == "jobs" && jobs_only ? "job" : ""},
                   {"page", page_text},
                   {"pageSize", size_text}});
        Result<Reply> reply = co_await connection.get(target);
        if (!reply) co_return report(reply.error(), options.format);
        const nlohmann::json items = reply->body.value("items", nlohmann::json::array());
        for (const auto& item : items) {
            const bool wanted = options.name.empty() || is_named(options.kind, item, options.name);
            if (!wanted) continue;
            rows.push_back(shape(options.kind, item));
            if (item.value("summary", false)) ++summaries;
        }
        removed = reply->body.value("finishedRemoved", nlohmann::json::object());
        const auto total = reply->body.value("total", std::int64_t{0});
        if (items.empty() || static_cast<std::int64_t>(page) * kPageSize >= total) break;
    }
    if (!options.name.empty() && rows.empty()) {
        co_return report(make_error(ErrorCode::NotFound,
                                    "get " + options.kind + " " + options.name +
                                        ": not found; `gpuctl get " + options.kind + "` lists all"),
                         options.format);
    }
    print_rows(options, rows);
    const bool is_table = options.format == Format::table || options.format == Format::wide;
    if (is_table && rows.empty()) {
        print_empty_note(options, connection.options().namespace_name);
    }
    if (is_table && options.kind == "jobs") print_finished_note(summaries, removed);
    co_return 0;
}

}  // namespace gpuctl::cli
