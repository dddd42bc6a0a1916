#include <iostream>

#include "cli/commands/commands.hpp"
#include "wire/problem.hpp"

namespace gpuctl::cli {
namespace {

nlohmann::json details_json(const std::vector<Detail>& details) {
    nlohmann::json list = nlohmann::json::array();
    for (const Detail& detail : details) {
        list.push_back({{"message", detail.message},
                        {"pointer", detail.place.pointer},
                        {"line", detail.place.line},
                        {"column", detail.place.column}});
    }
    return list;
}

void print_details(std::string_view opening, std::string_view subject,
                   const std::vector<Detail>& details) {
    for (const Detail& detail : details) {
        std::cerr << opening;
        if (!subject.empty()) std::cerr << subject << ':';
        if (detail.place.line > 0) {
            std::cerr << detail.place.line << ':' << detail.place.column << ": ";
        } else if (!subject.empty()) {
            std::cerr << ' ';
        }
        std::cerr << printable(detail.message) << '\n';
    }
}

}  // namespace

nlohmann::json error_json(const Error& error, std::string_view subject,
                          const std::vector<Detail>& warnings) {
    // `code` is the same in every answer; a failed delete has its message in `error`.
    nlohmann::json document{{"code", to_string(error.code)},
                            {"error", to_string(error.code)},
                            {"message", error.message}};
    if (!subject.empty()) document["subject"] = subject;
    if (!error.details.empty()) document["errors"] = details_json(error.details);
    if (!warnings.empty()) document["warnings"] = details_json(warnings);
    return document;
}

int exit_code_of(const Error& error) { return wire::row_of(error.code).exit_code; }

int report(const Error& error, Format format, std::string_view subject,
           const std::vector<Detail>& warnings) {
    if (is_document(format)) {
        print_document(std::cout, error_json(error, subject, warnings), format);
        return wire::row_of(error.code).exit_code;
    }
    std::cerr << "error (" << to_string(error.code) << "): " << printable(error.message, true)
              << '\n';
    print_details("  ", subject, error.details);
    print_details("warning: ", subject, warnings);
    return wire::row_of(error.code).exit_code;
}

}  // namespace gpuctl::cli
