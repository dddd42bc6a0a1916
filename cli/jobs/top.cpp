#include <algorithm>
#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/listing/read_list.hpp"
#include "text/duration.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kBarCells = 20;

double value_of(const Json& item, const char* key) {
    const auto found = item.find(key);
    return found != item.end() && found->is_number() ? found->get<double>() : 0.0;
}

// "[########............]": used of total.
std::string bar_of(double used, double total) {
    const double part = total > 0 ? std::clamp(used / total, 0.0, 1.0) : 0.0;
    // A little use is shown as one cell.
    auto cells = static_cast<std::size_t>(part * static_cast<double>(kBarCells));
    if (used > 0 && cells == 0) cells = 1;
    return "[" + std::string(cells, '#') + std::string(kBarCells - cells, '.') + "]";
}

void print_usage(const char* title, const char* name_key, const Json& items,
                 const TableStyle& style) {
    Table table{{title, "STATUS", "GPU USED", "GPU TOTAL", "USE"}};
    for (const Json& item : items) {
        table.add_row({text_of(item, name_key, text_of(item, "name")), text_of(item, "status"),
                       number_of(item, "gpuUsed"), number_of(item, "gpuTotal"),
                       bar_of(value_of(item, "gpuUsed"), value_of(item, "gpuTotal"))});
    }
    table.print(std::cout, style);
    std::cout << '\n';
}

// The jobs that hold most GPUs first.
void print_jobs(Json jobs, std::size_t most, const TableStyle& style) {
    std::stable_sort(jobs.begin(), jobs.end(), [](const Json& a, const Json& b) {
        return value_of(a, "gpuTotal") > value_of(b, "gpuTotal");
    });
    Table table{{"JOB", "STATUS", "GPUS", "GPU TYPE", "POOL", "QUEUE", "NODE", "RUNS FOR"}};
    for (std::size_t i = 0; i < std::min(most, jobs.size()); ++i) {
        const Json& job = jobs[i];
        const std::int64_t age = seconds_since(text_of(job, "startedAt"), aio::Loop::wall_ms());
        table.add_row({text_of(job, "namespace") + "/" + text_of(job, "name"),
                       text_of(job, "status"), number_of(job, "gpuTotal"),
                       text_of(job, "gpuType", "-"), text_of(job, "pool"), text_of(job, "queue"),
                       text_of(job, "node", "N/A"), age < 0 ? "-" : text::format_age(age)});
    }
    table.print(std::cout, style);
    if (jobs.size() > most) {
        std::cout << "and " << jobs.size() - most << " more running jobs; --jobs shows more\n";
    }
}

}  // namespace

aio::Task<int> run_top(Connection& connection, TopOptions options) {
    Json frame = Json::object();
    for (const char* kind : {"pools", "nodes", "jobs"}) {
        Parameters parameters;
        if (std::string_view{kind} == "jobs") {
            parameters = {{"namespace", connection.options().namespace_name},
                          {"status", "Running"},
                          {"view", "job"}};
        }
        Result<ObjectList> list = co_await read_list(connection, kind, std::move(parameters));
        if (!list) co_return report(list.error(), options.format);
        frame[kind] = list->body["items"];
    }
    if (is_document(options.format)) {
        print_document(std::cout, frame, options.format);
        co_return 0;
    }
    const TableStyle style{true, options.is_colored, nullptr};
    print_usage("POOL", "name", frame["pools"], style);
    print_usage("NODE", "nodeName", frame["nodes"], style);
    print_jobs(frame["jobs"], static_cast<std::size_t>(options.jobs), style);
    co_return 0;
}

}  // namespace gpuctl::cli
