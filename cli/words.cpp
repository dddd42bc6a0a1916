#include "cli/words.hpp"

#include <array>

#include "text/characters.hpp"

namespace gpuctl::cli {
namespace {

const CLI::App* named(const CLI::App& app, const std::string& word) {
    const auto found =
        app.get_subcommands([&](const CLI::App* child) { return child->check_name(word); });
    return found.empty() ? nullptr : found.front();
}

// `help get jobs` is `get jobs --help`.
void move_help_to_end(const CLI::App& app, std::vector<std::string>& words) {
    for (std::size_t at = 0; at < words.size(); ++at) {
        const bool may_be_value = at > 0 && words[at - 1].starts_with('-');
        if (named(app, words[at]) != nullptr) return;
        if (words[at] != "help" || may_be_value) continue;
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
        words.emplace_back("--help");
        return;
    }
}

std::vector<std::string> with_kind_as_word(const CLI::App& app, std::vector<std::string> words) {
    for (std::size_t at = 0; at + 1 < words.size(); ++at) {
        const CLI::App* verb = named(app, words[at]);
        if (verb == nullptr) continue;
        const std::size_t slash = words[at + 1].find('/');
        if (slash == std::string::npos) break;
        const std::string kind = words[at + 1].substr(0, slash);
        if (named(*verb, kind) != nullptr) {
            words.insert(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, kind);
        }
        break;
    }
    return words;
}

// The long name of -X in that command or in those above it; "" when none has it.
std::string long_name(const CLI::App* command, const std::string& short_name) {
    for (; command != nullptr; command = command->get_parent()) {
        const CLI::Option* option = command->get_option_no_throw(short_name);
        if (option != nullptr && !option->get_lnames().empty()) {
            return "--" + option->get_lnames().front();
        }
    }
    return "";
}

// kubectl and other programs with its flag library read `-o=json` as option o with value json;
// CLI11 would take "=json" as the value.
std::vector<std::string> with_long_names(const CLI::App& app, std::vector<std::string> words) {
    const CLI::App* command = &app;
    for (std::string& word : words) {
        if (word == "--") break;
        const bool is_short_with_value =
            word.size() > 2 && word[0] == '-' && word[1] != '-' && word[2] == '=';
        if (is_short_with_value) {
            const std::string name = long_name(command, word.substr(0, 2));
            if (!name.empty()) word.replace(0, 2, name);
        } else if (const CLI::App* next = named(*command, word); next != nullptr) {
            command = next;
        }
    }
    return words;
}

bool may_hold_anything(const CLI::Option& option) {
    constexpr std::array<const char*, 10> names{
        "--grep",     "--file",    "--config", "--ca-file", "--certificate-file",
        "--key-file", "DIRECTORY", "COMMAND",  "SRC",       "DST"};
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return option.check_name(name); });
}

std::optional<Error> bad_option(const CLI::Option& option) {
    if (option.get_items_expected_max() == 0) return std::nullopt;  // a flag
    const std::string name = option.get_name();
    for (const std::string& value : option.results()) {
        const bool may_be_empty = option.check_name("--grep") || option.check_name("COMMAND");
        if (value.empty() && !may_be_empty) {
            return make_error(ErrorCode::BadRequest,
                              name + " is empty: give it a value or leave it out");
        }
        if (may_hold_anything(option)) continue;
        const std::string problem = text::problem_with_invisible(value);
        if (!problem.empty()) return make_error(ErrorCode::BadRequest, name + " " + problem);
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::string> in_our_spelling(const CLI::App& app, std::vector<std::string> words) {
    move_help_to_end(app, words);
    return with_long_names(app, with_kind_as_word(app, std::move(words)));
}

std::optional<Error> bad_flag_value(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        if (auto bad = bad_option(*option)) return bad;
    }
    for (const CLI::App* command : app.get_subcommands()) {
        if (auto bad = bad_flag_value(*command)) return bad;
    }
    return std::nullopt;
}

}  // namespace gpuctl::cli
