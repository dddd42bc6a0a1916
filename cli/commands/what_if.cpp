#include <iostream>

#include "cli/commands/commands.hpp"
#include "text/duration.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

constexpr int kWouldWait = 9;

// The results so far.
struct Results {
    nlohmann::json answers = nlohmann::json::array();
    int exit_code = 0;

    void refused(const std::string& file, const Error& error, Format format) {
        exit_code = wire::row_of(error.code).exit_code;
        if (is_document(format)) {
            answers.push_back(error_json(error, file));
        } else {
            report(error, format, file);
        }
    }
};

aio::Task<void> check_document(Connection& connection, const WhatIfOptions& options,
                               DocumentPart part, Results& results) {
    const std::string target =
        "/api/v1/what-if" + query({{"namespace", connection.options().namespace_name},
                                   {"strict", options.strict ? "true" : ""}});
    const std::string type = part.file.ends_with(".json") ? "application/json" : "application/yaml";
    Result<net::HttpResponse> answer =
        co_await connection.exchange("POST", target, std::move(part.text), type);
    Result<Reply> reply = answer ? connection.read_answer(*answer) : Result<Reply>{answer.error()};
    if (!reply) {
        results.refused(part.file, reply.error(), options.format);
        co_return;
    }
    if (results.exit_code == 0 && !reply->body.value("starts", false))
        results.exit_code = kWouldWait;
    if (options.format == Format::table) {
        print_warnings(part.file, reply->body);
        print_what_if(std::cout, reply->body);
    }
    results.answers.push_back(std::move(reply->body));
}

}  // namespace

namespace {

struct KindWords {
    std::string_view kind;
    const char* words;
};
constexpr KindWords kKinds[] = {
    {"fewer_gpus", "fewer GPUs"},
    {"fewer_ranks", "fewer ranks"},
    {"shorter_run_time", "a shorter run time"},
    {"other_queue", "another queue"},
    {"other_pool", "another pool"},
    {"higher_limits", "higher limits"},
    {"jobs_move", "jobs that move"},
    {"job_ends", "the end of one job"},
    {"more_nodes", "more nodes"},
};

// "No single change that was tried would start it now: fewer GPUs, more nodes".
std::string tried_text(const nlohmann::json& body) {
    std::string list;
    const nlohmann::json tried = body.value("remediesTried", nlohmann::json::array());
    for (const auto& kind : tried) {
        if (!kind.is_string() || kind == "two_changes") continue;
        std::string words = printable(kind.get<std::string>());  // from a newer server
        for (const KindWords& known : kKinds) {
            if (known.kind == words) words = known.words;
        }
        list += (list.empty() ? "" : ", ") + words;
    }
    return list.empty() ? "" : "No single change that was tried would start it now: " + list;
}

void print_found(std::ostream& out, const nlohmann::json& remedies, const std::string& tried) {
    if (remedies.empty()) {
        out << tried << '\n';
        return;
    }
    if (text_of(remedies.front(), "change") == "two_changes") {
        out << tried << "\nTwo changes together would:\n";
    } else {
        out << "Changes that would help, each by itself:\n";
    }
    for (const auto& remedy : remedies) {
        out << "  - " << printable(text_of(remedy, "sentence")) << '\n';
        const auto steps = remedy.find("steps");
        if (steps == remedy.end() || !steps->is_array()) continue;
        for (std::size_t i = 0; i < steps->size(); ++i) {
            const nlohmann::json& step = (*steps)[i];
            if (!step.is_string()) continue;
            out << "      " << i + 1 << ". " << printable(step.get<std::string>()) << '\n';
        }
    }
}

}  // namespace

void print_remedies(std::ostream& out, const nlohmann::json& body) {
    const nlohmann::json remedies = body.value("remedies", nlohmann::json::array());
    const std::string tried = tried_text(body);
    const bool has_result = remedies.is_array() && !(remedies.empty() && tried.empty());
    if (has_result) print_found(out, remedies, tried);
    if (body.value("remediesIncomplete", false)) {
        out << "The search reached its limit of time or trials: there may be other and smaller "
               "changes\n";
    }
}

namespace {

std::string gpus_text(const nlohmann::json& job) {
    const std::string gpus = number_of(job, "gpu");
    return gpus + (gpus == "1" ? " GPU" : " GPUs");
}

// "  default/low, which holds 4 GPUs (low-0, low-1): 12m of GPU time computed again"
void print_stops(std::ostream& out, const nlohmann::json& stops) {
    if (!stops.empty()) out << "It would preempt:\n";
    for (const auto& job : stops) {
        out << "  " << printable(text_of(job, "namespace")) << '/'
            << printable(text_of(job, "jobId"))
            << (job.value("continues", false) ? ", which continues without " : ", which holds ")
            << gpus_text(job) << " (";
        const nlohmann::json pods = job.value("pods", nlohmann::json::array());
        for (std::size_t i = 0; i < pods.size(); ++i) {
            out << (i == 0 ? "" : ", ")
                << (pods[i].is_string() ? printable(pods[i].get<std::string>()) : "");
        }
        const std::int64_t lost = job.value("lostGpuSeconds", std::int64_t{0});
        out << "): "
            << (lost == 0
                    ? "no work is lost"
                    : text::format_span(lost, text::Rounding::up) + " of GPU time computed again")
            << '\n';
    }
}

}  // namespace

void print_what_if(std::ostream& out, const nlohmann::json& body) {
    out << printable(text_of(body, "kind", "job")) << ' ' << printable(text_of(body, "namespace"))
        << '/' << printable(text_of(body, "jobId"));
    const bool starts = body.value("starts", false);
    const nlohmann::json placements = body.value("placements", nlohmann::json::array());
    const bool starts_in_part = !starts && !placements.empty();
    out << (starts           ? " would start now in pool "
            : starts_in_part ? " would start in part in pool "
                             : " would wait in pool ")
        << printable(text_of(body, "pool"));
    if (starts_in_part) {
        out << ", " << placements.size() << " of its " << number_of(body, "pods") << " pods";
    }
    if (const auto position = body.value("position", std::int64_t{0}); position > 0) {
        out << ", number " << position << " in its queue";
    }
    out << '\n';
    for (const auto& placement : placements) {
        out << "  " << printable(text_of(placement, "pod")) << " on "
            << printable(text_of(placement, "node")) << '\n';
    }
    print_stops(out, body.value("stops", nlohmann::json::array()));
    if (starts) return;
    if (const std::string start = start_words(body, aio::Loop::wall_ms()); !start.empty()) {
        out << (starts_in_part ? "More of its pods would start " : "It would start ") << start
            << '\n';
    }
    print_blockers(out, body.value("blockers", nlohmann::json::array()),
                   starts_in_part ? "the rest of the job" : "it");
    print_remedies(out, body);
}

aio::Task<int> run_what_if(Connection& connection, WhatIfOptions options) {
    Results results;
    for (const std::string& file : options.files) {
        Result<std::vector<DocumentPart>> parts = read_documents(file);
        if (!parts) {
            results.refused(file, parts.error(), options.format);
            continue;
        }
        for (DocumentPart& part : *parts) {
            co_await check_document(connection, options, std::move(part), results);
        }
    }
    if (is_document(options.format)) print_document(std::cout, results.answers, options.format);
    co_return results.exit_code;
}

}  // namespace gpuctl::cli
