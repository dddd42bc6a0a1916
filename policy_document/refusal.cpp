#include "policy_document/refusal.hpp"

namespace gpuctl::config {

std::string path_of(const std::string& pointer) {
    std::string path = pointer.substr(pointer.empty() ? 0 : 1);
    for (char& c : path) {
        if (c == '/') c = '.';
    }
    return path;
}

std::string place_text(const std::string& file, const Place& place) {
    if (place.line == 0) return file;
    return file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

Error invalid(const std::string& message) {
    return make_error(ErrorCode::InvalidConfiguration, message);
}

Error refused(const std::string& file, std::vector<Detail> details,
              const std::map<std::string, std::string>& origins) {
    const Detail& first = details.front();
    std::string message = place_text(file, first.place);
    if (const auto it = origins.find(first.place.pointer); it != origins.end()) {
        message = "environment variable " + it->second;
    }
    message += ": " + first.message;
    if (details.size() > 1) {
        message += " (and " + std::to_string(details.size() - 1) + " more)";
    }
    return Error{ErrorCode::InvalidConfiguration, std::move(message), std::move(details)};
}

// "must be ...", "\"x\" has ..." -> "server.port must be ...": messages of value readers, name
// rules and moved keys do not have the path.
void name_keys(std::vector<Detail>& details) {
    const auto has_no_subject = [](const std::string& message) {
        return message.starts_with("must ") || message.starts_with('"') ||
               message.starts_with("has moved ") || message.starts_with("is no longer ");
    };
    for (Detail& detail : details) {
        if (!has_no_subject(detail.message)) continue;
        detail.message = path_of(detail.place.pointer) + " " + detail.message;
    }
}

Result<wire::Document> one_document(std::string_view yaml, const std::string& file_name) {
    auto documents = wire::parse_yaml(yaml);
    if (documents.has_error()) {
        std::vector<Detail> details = documents.error().details;
        if (details.empty()) details.push_back({{}, documents.error().message});
        return refused(file_name, std::move(details), {});
    }
    if (documents->size() > 1) {
        return invalid(file_name + ": contains " + std::to_string(documents->size()) +
                       " documents; a configuration has one");
    }
    wire::Document document;
    document.root = nlohmann::json::object();
    if (!documents->empty()) document = std::move(documents->front());
    if (!document.root.is_object()) {
        return invalid(place_text(file_name, document.place_of("")) +
                       ": a configuration must be a map of sections, not " +
                       wire::kind_of(document.root));
    }
    return document;
}

}  // namespace gpuctl::config
