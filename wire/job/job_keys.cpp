#include "wire/job/job_keys.hpp"

#include <algorithm>

#include "scheduler/base/ascii.hpp"
#include "scheduler/model/job/job_spec.hpp"
#include "wire/job/job_key_rows.hpp"

namespace gpuctl::wire {
namespace {

std::vector<std::string_view> words_of(std::string_view list) {
    std::vector<std::string_view> words;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        words.push_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return words;
}

// A reader that asks for a path without a row is a mistake of this program, found by its first
// test.
const JobKey& key_row(std::string_view path) {
    const JobKey* row = find_job_key(path);
    if (row == nullptr) std::abort();
    return *row;
}

std::string_view section_of(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

}  // namespace

std::span<const JobKey> job_keys() {
    static const std::vector<JobKey> all = [] {
        std::vector<JobKey> keys{header_keys().begin(), header_keys().end()};
        keys.insert(keys.end(), service_keys().begin(), service_keys().end());
        return keys;
    }();
    return all;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

const JobKey* find_job_key(std::string_view path) {
    const auto rows = job_keys();
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const JobKey& key) { return key.path == path; });
    return row == rows.end() ? nullptr : &*row;
}

std::vector<const JobKey*> members_of(std::string_view path) {
    std::vector<const JobKey*> members;
    for (const JobKey& key : job_keys()) {
        std::string_view section = section_of(key.path);
        if (section.ends_with("[]")) section.remove_suffix(2);
        if (section == path) members.push_back(&key);
    }
    return members;
}

Field find_key(Fields& section, std::string_view path) {
    const JobKey& row = key_row(path);
    std::vector<std::string_view> names = words_of(row.aliases);
    names.insert(names.begin(), last_part(path));
    if (!row.is_required) return section.find(names);
    std::string example;
    if (!row.example.empty())
        example = std::string{names.front()} + ": " + std::string{row.example};
    return section.require(names, example);
}

std::optional<std::int64_t> read_integer_key(Fields& section, std::string_view path) {
    const JobKey& row = key_row(path);
    return find_key(section, path).integer(row.low, row.high);
}

std::optional<std::string> read_choice_key(Fields& section, std::string_view path) {
    const JobKey& row = key_row(path);
    const Field field = find_key(section, path);
    const auto text = field.word(row.standard.empty() ? Empty::is_warned : Empty::is_error);
    if (!text) return std::nullopt;
    const std::vector<std::string_view> choices = words_of(row.choices);
    std::string list;
    for (const std::string_view choice : choices) {
        if (same_without_case(choice, *text)) return std::string{choice};
        const bool is_last = choice == choices.back();
        list += (list.empty() ? "" : is_last ? " or " : ", ") + std::string{choice};
    }
    field.error(std::string{path} + " must be " + list + ", not \"" + text->substr(0, 60) + "\"");
    return std::nullopt;
}

std::string home_of(std::string_view key, JobKind kind) {
    const std::string wanted = folded_key(key);
    std::string home;
    for (const JobKey& row : job_keys()) {
        const bool is_plain = row.path.find("NAME") == std::string_view::npos &&
                              row.path.find("[]") == std::string_view::npos;
        if (!is_plain || !row.kinds.has(kind)) continue;
        if (folded_key(last_part(row.path)) != wanted) continue;
        if (!home.empty()) return "";  // in several sections
        home = row.path;
    }
    return home;
}

}  // namespace gpuctl::wire
