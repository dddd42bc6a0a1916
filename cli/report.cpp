#include <iostream>

#include "cli/commands.hpp"
#include "daemon/wire/problem.hpp"

namespace gpuctl::cli {

int report(const Error& error, Format format, std::string_view subject) {
    if (format == Format::json) {
        nlohmann::json document{{"error", to_string(error.code)}, {"message", error.message}};
        if (!subject.empty()) document["subject"] = subject;
        for (const Detail& detail : error.details) {
            document["errors"].push_back({{"message", detail.message},
                                          {"pointer", detail.place.pointer},
                                          {"line", detail.place.line},
                                          {"column", detail.place.column}});
        }
        print_json(std::cout, document);
        return wire::row_of(error.code).exit_code;
    }
    std::cerr << "error (" << to_string(error.code) << "): " << printable(error.message, true)
              << '\n';
    for (const Detail& detail : error.details) {
        std::cerr << "  ";
        if (!subject.empty()) std::cerr << subject << ':';
        if (detail.place.line > 0) {
            std::cerr << detail.place.line << ':' << detail.place.column << ": ";
        } else if (!subject.empty()) {
            std::cerr << ' ';
        }
        std::cerr << printable(detail.message) << '\n';
    }
    return wire::row_of(error.code).exit_code;
}

}  // namespace gpuctl::cli
