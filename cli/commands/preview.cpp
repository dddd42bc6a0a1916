#include <iostream>

#include "cli/commands/commands.hpp"
#include "text/duration.hpp"

namespace gpuctl::cli {
namespace {

std::string span_text(std::int64_t ms) {
    const std::string text = text::format_span(((ms < 0 ? -ms : ms) + 500) / 1000);
    return ms < 0 && text != text::format_span(0) ? "-" + text : text;
}

std::int64_t integer_of(const nlohmann::json& object, std::string_view key) {
    return object.value(std::string{key}, std::int64_t{0});
}

std::string jobs_text(std::int64_t jobs) {
    return std::to_string(jobs) + (jobs == 1 ? " job" : " jobs");
}

std::string gpu_hours(const nlohmann::json& side) {
    const auto tenths = static_cast<std::int64_t>(side.value("gpuHours", 0.0) * 10 + 0.5);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::vector<std::string> group_row(const std::string& name, const nlohmann::json& group) {
    const nlohmann::json before = group.value("before", nlohmann::json::object());
    const nlohmann::json after = group.value("after", nlohmann::json::object());
    const auto both = [&](const std::string& left, const std::string& right) {
        return left + " -> " + right;
    };
    return {
        "  " + name,
        number_of(group, "jobs"),
        both(span_text(integer_of(before, "waitMeanMs")),
             span_text(integer_of(after, "waitMeanMs"))),
        both(span_text(integer_of(before, "waitP95Ms")), span_text(integer_of(after, "waitP95Ms"))),
        both(number_of(before, "jobsNotStarted"), number_of(after, "jobsNotStarted")),
        both(gpu_hours(before), gpu_hours(after))};
}

void print_groups(std::ostream& out, const char* title, const nlohmann::json& groups) {
    Table table{{title, "JOBS", "MEAN WAIT", "95% WAIT", "NOT STARTED", "GPU HOURS"}};
    for (const auto& group : groups) table.add_row(group_row(text_of(group, "name"), group));
    table.print(out);
}

void print_jobs(std::ostream& out, const char* title, const nlohmann::json& jobs) {
    if (jobs.empty()) return;
    Table table{{title, "QUEUE", "GPUS", "WAIT", "INSTEAD OF"}};
    for (const auto& job : jobs) {
        const auto wait = [&](const char* ms, const char* starts) {
            return (job.value(starts, true) ? "" : "> ") + span_text(integer_of(job, ms));
        };
        table.add_row({"  " + text_of(job, "namespace") + "/" + text_of(job, "jobId"),
                       text_of(job, "queue"), number_of(job, "gpu"),
                       wait("waitAfterMs", "startsAfter"), wait("waitBeforeMs", "startsBefore")});
    }
    table.print(out);
}

// "queue p/low is not in this configuration, and pool p is not declared: ..."
void print_gone(std::ostream& out, const nlohmann::json& queues) {
    for (const auto& gone : queues) {
        const std::string queue = printable(text_of(gone, "queue"));
        const std::string pool = queue.substr(0, queue.find('/'));
        const bool has_queues = text_of(gone, "reason") == "queue_holds_queues";
        out << "queue " << queue
            << (has_queues ? " has sub-queues in this configuration"
                           : " is not in this configuration")
            << (gone.value("poolDeclared", true) ? "" : ", pool " + pool + " is not declared")
            << ": " << jobs_text(integer_of(gone, "jobs"))
            << " of that time named it, and jobs that wait there never start\n";
    }
}

// The simulated result of the old policy, next to the real one.
void print_trust(std::ostream& out, const nlohmann::json& body) {
    const nlohmann::json before = body.at("all").value("before", nlohmann::json::object());
    const auto result_text = [](std::int64_t wait_ms, const std::string& not_started) {
        return span_text(wait_ms) + " with " + not_started;
    };
    const std::string simulated =
        result_text(integer_of(before, "waitMeanMs"), number_of(before, "jobsNotStarted"));
    const std::string real =
        result_text(integer_of(body, "actualWaitMeanMs"), number_of(body, "actualJobsNotStarted"));
    out << "accuracy: simulated under the old policy, the mean wait is "
        << span_text(integer_of(before, "waitMeanMs")) << " with "
        << jobs_text(integer_of(before, "jobsNotStarted")) << " not started, "
        << (simulated == real ? "the same as in reality" : "in reality it was " + real);
    if (const std::int64_t guessed = integer_of(body, "jobsRunTimeAssumed"); guessed > 0) {
        out << "; " << jobs_text(guessed) << " never ran in reality, so "
            << (guessed == 1 ? "its run time is an estimate" : "their run times are estimates");
    }
    out << '\n';
}

}  // namespace

void print_preview(std::ostream& out, const nlohmann::json& body) {
    const nlohmann::json all = body.value("all", nlohmann::json::object());
    if (body.value("isDefaultPolicy", false)) {
        out << "the configuration sets no key of policy, expert.scheduling or expert.pools: the "
               "defaults are simulated (policy balanced, no queues or limits of its own)\n";
    }
    const std::int64_t jobs = integer_of(all, "jobs");
    if (jobs == 0) {
        out << "no job was submitted or waited in the last " << number_of(body, "hours")
            << " hours in the journal: nothing to compare\n";
        return;
    }
    out << "from " << printable(text_of(body, "begin")) << " to " << printable(text_of(body, "end"))
        << ": " << jobs_text(jobs) << (jobs == 1 ? " was" : " were")
        << " submitted or waited; under this configuration " << number_of(body, "jobsGain")
        << " would have waited less, " << number_of(body, "jobsLose") << " longer\n";
    print_gone(out, body.value("queuesRemoved", nlohmann::json::array()));
    Table table{{"ALL", "JOBS", "MEAN WAIT", "95% WAIT", "NOT STARTED", "GPU HOURS"}};
    table.add_row(group_row("", all));
    table.print(out);
    print_groups(out, "QUEUES", body.value("queues", nlohmann::json::array()));
    print_groups(out, "NAMESPACES", body.value("tenants", nlohmann::json::array()));
    print_jobs(out, "GAIN MOST", body.value("gain", nlohmann::json::array()));
    print_jobs(out, "LOSE MOST", body.value("lose", nlohmann::json::array()));
    print_trust(out, body);
}

aio::Task<int> run_preview(Connection& connection, PreviewOptions options) {
    Result<std::string> text = read_text(options.config_file);
    if (!text) co_return report(text.error(), options.format, options.config_file);
    const std::string hours = std::to_string(options.hours);
    const std::string target = "/api/v1/preview" + query({{"hours", hours}});
    Result<Reply> reply =
        co_await connection.call("POST", target, std::move(*text), "application/yaml");
    if (!reply) co_return report(reply.error(), options.format, options.config_file);
    if (is_document(options.format)) {
        print_document(std::cout, reply->body, options.format);
    } else {
        print_preview(std::cout, reply->body);
    }
    co_return 0;
}

}  // namespace gpuctl::cli
