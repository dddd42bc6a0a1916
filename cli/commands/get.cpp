#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/jobs/job_state.hpp"
#include "cli/listing/kinds.hpp"
#include "cli/listing/read_list.hpp"
#include "cli/nodes/nodes.hpp"
#include "text/duration.hpp"
#include "wire/selector.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;

constexpr int kWatchFailuresMax = 30;  // in succession

bool is_of_a_namespace(const std::string& kind) { return kind == "jobs" || kind == "events"; }

Parameters parameters_of(const GetOptions& options, const ConnectionOptions& connection) {
    // Only the list of pods finds the job of a pod's name.
    const bool jobs_only =
        options.summary || (options.output.format == Format::name && options.name.empty());
    const bool has_jobs = options.kind == "jobs";
    return {{"namespace", is_of_a_namespace(options.kind) ? connection.namespace_name : ""},
            {"pool", options.pool},
            {"kind", options.job_kind},
            {"status", options.status},
            {"queue", options.queue},
            {"gpuType", options.gpu_type},
            {"job", options.job},
            {"key", options.key},
            {"selector", options.kind == "nodes" ? options.selector : ""},
            {"allSchedulers", options.all_schedulers ? "true" : ""},
            {"view", has_jobs && jobs_only ? "job" : ""}};
}

const std::string& list_path(const ListedKind& kind) {
    return kind.path.empty() ? kind.name : kind.path;
}

// Each object by its name; without names the list.
aio::Task<Result<ObjectList>> read_objects(Connection& connection, GetOptions options) {
    const ListedKind& kind = listed_kind(options.kind);
    if (options.names.empty()) {
        Parameters parameters = parameters_of(options, connection.options());
        Result<ObjectList> list =
            co_await read_list(connection, list_path(kind), std::move(parameters));
        co_return list;
    }
    ObjectList list;
    list.body["items"] = Json::array();
    for (const std::string& name : options.names) {
        const std::string target = "/api/v1/" + list_path(kind) + "/" + net::percent_encode(name);
        Result<Reply> reply = co_await connection.get(target);
        if (!reply) co_return reply.error();
        list.body["items"].push_back(std::move(reply->body));
    }
    list.body["total"] = list.body["items"].size();
    co_return list;
}

// The list without the objects that were not asked for by name or label.
Json selected(const GetOptions& options, const ListedKind& kind, Json list) {
    const Result<wire::Selector> selector = wire::Selector::parse(options.selector);
    const bool selects_here = selector && kind.labels;
    Json items = Json::array();
    for (const Json& item : list["items"]) {
        if (!options.name.empty() && !is_named(kind, item, options.name)) continue;
        if (selects_here && !selector->matches(kind.labels(item))) continue;
        items.push_back(item);
    }
    list["total"] = items.size();
    list["items"] = std::move(items);
    return list;
}

// The list omits some finished jobs, and others are deleted. On stderr, so that a program that
// reads the table reads only rows.
void print_finished_note(const Json& list) {
    std::string text;
    const auto jobs = [](std::int64_t count) {
        return std::to_string(count) + (count == 1 ? " finished job" : " finished jobs");
    };
    std::int64_t summaries = 0;
    for (const Json& item : list["items"]) summaries += item.value("summary", false) ? 1 : 0;
    if (summaries > 0) {
        text = jobs(summaries) + (summaries == 1 ? " is" : " are") +
               " listed without pods: only a summary is stored";
    }
    const Json removed = list.value("finishedRemoved", Json::object());
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
                             !options.gpu_type.empty() || !options.selector.empty() ||
                             !options.job.empty() || !options.key.empty();
    std::cerr << "no " << options.kind << (is_selected ? " match the given flags" : " exist");
    if (is_of_a_namespace(options.kind) && !namespace_name.empty()) {
        std::cerr << " in namespace " << printable(namespace_name)
                  << "; -A lists those of all namespaces";
    }
    std::cerr << '\n';
}

Error no_such_object(const GetOptions& options) {
    return make_error(ErrorCode::NotFound, "get " + options.kind + " " + options.name +
                                               ": not found; `gpuctl get " + options.kind +
                                               "` lists all");
}

std::optional<Error> problem_with_flags(const GetOptions& options, const ListedKind& kind) {
    if (const auto bad = problem_with(kind, options.output)) return bad;
    const Result<wire::Selector> selector = wire::Selector::parse(options.selector);
    if (!selector) return selector.error();
    const Format format = options.output.format;
    if (options.watch && (format == Format::yaml || format == Format::jsonpath)) {
        return make_error(ErrorCode::BadRequest,
                          "--watch prints rows, which yaml and jsonpath have not; use jsonl, json "
                          "(one object a line), csv, columns=, name, wide or table");
    }
    return std::nullopt;
}

// Lists again every `watch_interval` and prints the rows that differ.
aio::Task<int> watch_list(Connection& connection, GetOptions options) {
    const ListedKind& kind = listed_kind(options.kind);
    RowPrinter printer{kind, options.output};
    Json before;
    for (int failures = 0;;) {
        Result<ObjectList> list = co_await read_objects(connection, options);
        if (!list && (!may_pass(list.error().code) || ++failures > kWatchFailuresMax)) {
            co_return report(list.error(), options.output.format);
        }
        if (list) {
            const Json now = selected(options, kind, std::move(list->body))["items"];
            const Json changed = before.is_null() ? now : changed_items(kind, before, now);
            if (before.is_null() || !changed.empty()) printer.print(std::cout, changed);
            before = now;
            failures = 0;
        } else if (failures == 1) {
            std::cerr << "gpuctl: " << printable(list.error().message) << "; trying again\n";
        }
        if (!std::cout) co_return 0;  // the reader closed standard output
        const aio::Deadline next = aio::Deadline::in(options.watch_interval);
        const bool slept = co_await aio::sleep_until(next);
        if (!slept) co_return 0;
    }
}

}  // namespace

aio::Task<int> run_get(Connection& connection, GetOptions options) {
    if (options.kind == "nodes" && is_gpu_type_label(options.gpu_type)) {
        options.kind = listed_kind("values of the label").name;
        options.key = "gpu-type";
        options.gpu_type.clear();
    }
    const ListedKind& kind = listed_kind(options.kind);
    const Format format = options.output.format;
    if (const auto bad = problem_with_flags(options, kind)) {
        report(*bad, format);
        co_return 2;
    }
    if (options.watch) {
        const int watched = co_await watch_list(connection, std::move(options));
        co_return watched;
    }
    Result<ObjectList> read = co_await read_objects(connection, options);
    if (!read) co_return report(read.error(), format);
    const Json list = selected(options, kind, std::move(read->body));
    const bool is_empty = list["items"].empty();
    if (!options.name.empty() && is_empty) co_return report(no_such_object(options), format);
    print_list(std::cout, kind, list, options.output);
    const bool is_table = format == Format::table || format == Format::wide;
    if (is_table && is_empty) print_empty_note(options, connection.options().namespace_name);
    if (is_table && options.kind == "jobs") print_finished_note(list);
    co_return 0;
}

}  // namespace gpuctl::cli
