#include <algorithm>
#include <iostream>

#include "cli/commands/commands.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "wire/job/job_keys.hpp"

namespace gpuctl::cli {
namespace {

nlohmann::json key_words(std::string_view text) {
    nlohmann::json words = nlohmann::json::array();
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) words.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

nlohmann::json key_row(const wire::JobKey& key) {
    nlohmann::json row{{"path", key.path},
                       {"type", key.type},
                       {"required", key.is_required},
                       {"description", key.meaning},
                       {"aliases", key_words(key.aliases)}};
    if (!key.standard.empty()) row["default"] = key.standard;
    if (!key.example.empty()) row["example"] = key.example;
    if (!key.choices.empty()) row["choices"] = key_words(key.choices);
    if (key.low != 0 || key.high != 0) {
        row["minimum"] = key.low;
        row["maximum"] = key.high;
    }
    return row;
}

// The key and its members, or the sections of the kind.
nlohmann::json key_document(const wire::KeyOfKind& what) {
    nlohmann::json body{{"kind", to_string(what.kind)}};
    if (what.key != nullptr) body["key"] = key_row(*what.key);
    nlohmann::json members = nlohmann::json::array();
    for (const wire::JobKey* member :
         wire::members_of(what.key == nullptr ? std::string_view{} : what.key->path)) {
        if (member->kinds.has(what.kind)) members.push_back(key_row(*member));
    }
    body["members"] = std::move(members);
    return body;
}

}  // namespace

aio::Task<int> run_explain_yaml(Connection&, ExplainYamlOptions options) {
    const Result<wire::KeyOfKind> found = wire::find_key_of_kind(options.key);
    if (!found) co_return report(found.error(), options.format);
    if (is_document(options.format)) {
        print_document(std::cout, key_document(*found), options.format);
    } else {
        std::cout << wire::explain_job_key(*found);
    }
    co_return 0;
}

}  // namespace gpuctl::cli
