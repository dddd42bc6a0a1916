#include "cli/usage_error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <system_error>

#include "wire/job/document.hpp"

namespace gpuctl::cli {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kNearMax = 3;

// "a", "a or b", "a, b or c".
std::string alternatives(const Words& words) {
    std::string text;
    for (const std::string& word : words) {
        if (!text.empty()) text += &word == &words.back() ? " or " : ", ";
        text += word;
    }
    return text;
}

// The known names that differ from `word` in at most two letters or begin with it, as kubectl's
// suggestions.
Words near_names(const std::string& word, const Words& known) {
    Words near;
    const std::string nearest = wire::nearest_name(word, known);
    if (!nearest.empty()) near.push_back(nearest);
    for (const std::string& name : known) {
        const bool begins = word.size() >= 2 && name.starts_with(word) && name != nearest;
        if (begins && near.size() < kNearMax) near.push_back(name);
    }
    return near;
}

bool is_flag(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

std::string without_value(const std::string& word) { return word.substr(0, word.find('=')); }

const CLI::App& deepest_of(const CLI::App& app) {
    const CLI::App* deepest = &app;
    for (auto parsed = app.get_subcommands(); !parsed.empty();
         parsed = deepest->get_subcommands()) {
        deepest = parsed.front();
    }
    return *deepest;
}

// "gpuctl get jobs".
std::string path_of(const CLI::App& command) {
    std::string path = command.get_name();
    for (const CLI::App* app = command.get_parent(); app != nullptr; app = app->get_parent()) {
        path = app->get_name() + " " + path;
    }
    return path;
}

std::string in_backticks(const std::string& words) { return "`" + words + "`"; }

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
    return command.get_subcommands([](const CLI::App*) { return true; });
}

Words names_of(const std::vector<const CLI::App*>& commands) {
    Words names;
    for (const CLI::App* child : commands) names.push_back(child->get_name());
    return names;
}

bool has_flag(const CLI::App& command, const std::string& flag) {
    return command.get_option_no_throw(flag) != nullptr;
}

// Also those of the commands above, which are accepted too.
bool accepts_flag(const CLI::App* command, const std::string& flag) {
    for (; command != nullptr; command = command->get_parent()) {
        if (has_flag(*command, flag)) return true;
    }
    return false;
}

void add_long_flags(const CLI::App& command, Words& flags) {
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            const std::string flag = "--" + name;
            if (std::find(flags.begin(), flags.end(), flag) == flags.end()) flags.push_back(flag);
        }
    }
}

// Of the command, of those above it, and of those below it, of which none is chosen yet.
Words flags_near(const CLI::App& command) {
    Words flags;
    for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
        add_long_flags(*app, flags);
    }
    for (const CLI::App* child : commands_of(command)) add_long_flags(*child, flags);
    return flags;
}

std::string missing_command(const CLI::App& command) {
    return in_backticks(path_of(command)) + " needs one of " +
           alternatives(names_of(commands_of(command)));
}

std::string flag_error(const CLI::App& command, const std::string& word) {
    const std::string flag = without_value(word);
    if (accepts_flag(&command, flag)) return flag + " goes after " + in_backticks(path_of(command));
    for (const CLI::App* child : commands_of(command)) {
        if (!has_flag(*child, flag)) continue;
        return missing_command(command) + " before " + flag;
    }
    std::string text = "unknown flag " + flag + " of " + in_backticks(path_of(command));
    const Words near = near_names(flag, flags_near(command));
    if (!near.empty()) text += "; did you mean " + alternatives(near) + "?";
    return text;
}

// Commands of kubectl, Slurm and shells, and ours.
struct Synonym {
    std::string_view word;
    std::string_view ours;
};
constexpr std::array<Synonym, 16> kSynonyms{{
    {"submit", "gpuctl create"},
    {"sbatch", "gpuctl create"},
    {"run", "gpuctl create"},
    {"list", "gpuctl get"},
    {"ls", "gpuctl get"},
    {"ps", "gpuctl get jobs"},
    {"squeue", "gpuctl get jobs"},
    {"status", "gpuctl get jobs"},
    {"sinfo", "gpuctl get nodes"},
    {"scancel", "gpuctl cancel"},
    {"kill", "gpuctl cancel"},
    {"rm", "gpuctl delete job"},
    {"why", "gpuctl explain job"},
    {"get po", "gpuctl get jobs"},
    {"get pod", "gpuctl get jobs"},
    {"get pods", "gpuctl get jobs"},
}};

std::string_view synonym_of(const CLI::App& command, const std::string& word) {
    const std::string asked =
        (command.get_parent() == nullptr ? "" : command.get_name() + " ") + word;
    const auto* found = std::find_if(kSynonyms.begin(), kSynonyms.end(),
                                     [&](const Synonym& each) { return each.word == asked; });
    return found == kSynonyms.end() ? "" : found->ours;
}

// A word where the name of a command or of a kind is expected.
std::string command_error(const CLI::App& command, const Words& unknown) {
    const std::string& word = unknown.front();
    const Words known = names_of(commands_of(command));
    std::string text = command.get_parent() == nullptr
                           ? "unknown command `" + word + "` of " + in_backticks(path_of(command))
                           : in_backticks(path_of(command)) + " has no kind `" + word + "`";
    if (const std::string_view ours = synonym_of(command, word); !ours.empty()) {
        return text + "; did you mean " + in_backticks(std::string{ours}) + "?";
    }
    Words near = near_names(word, known);
    for (std::string& name : near) name = in_backticks(name);
    if (!near.empty()) return text + "; did you mean " + alternatives(near) + "?";
    if (command.get_parent() == nullptr) return text;
    text += ", only " + alternatives(known);
    const bool may_be_job =
        unknown.size() == 1 && std::find(known.begin(), known.end(), "job") != known.end();
    if (may_be_job) text += "; if that is a job: `" + path_of(command) + " job " + word + "`";
    return text;
}

std::string argument_error(const CLI::App& command, const std::string& word) {
    std::string text = "unexpected argument `" + word + "` of " + in_backticks(path_of(command));
    const CLI::Option* file = command.get_option_no_throw("--file");
    if (file != nullptr) text += "; did you mean -f " + word + "?";
    return text;
}

bool is_format(std::string_view word) {
    constexpr std::array<std::string_view, 7> words{"table", "wide",  "json", "yaml",
                                                    "name",  "jsonl", "csv"};
    return std::find(words.begin(), words.end(), word) != words.end() ||
           word.starts_with("jsonpath=") || word.starts_with("columns=");
}

// Every command accepts these options, but only after its name.
void drop_format(Words& words) {
    const auto end = std::remove_if(words.begin(), words.end(), [](const std::string& word) {
        return word == "-o" || word.starts_with("--output");
    });
    const bool has_value = end != words.end();
    words.erase(end, words.end());
    std::erase_if(words, [&](const std::string& word) {
        return word == "--json" || (has_value && is_format(word));
    });
}

// The first word that the parser could not place is the mistake; later ones follow from it.
std::string unknown_error(const CLI::App& command, const Words& unknown) {
    const std::string& word = unknown.front();
    if (is_flag(word)) return flag_error(command, word);
    if (!commands_of(command).empty()) return command_error(command, unknown);
    return argument_error(command, word);
}

// "-f FILE" of -f,--file; otherwise the name.
std::string name_to_type(const CLI::Option& option) {
    if (option.get_snames().empty() || option.get_lnames().empty()) return option.get_name();
    std::string value = option.get_lnames().front();
    for (char& c : value) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return "-" + option.get_snames().front() + " " + value;
}

std::string missing_error(const CLI::App& command, const CLI::ParseError& problem) {
    if (command.get_require_subcommand_min() > 0) return missing_command(command);
    for (const CLI::Option* option : command.get_options()) {
        if (!option->get_required() || option->count() > 0) continue;
        return in_backticks(path_of(command)) + " needs " + name_to_type(*option);
    }
    return problem.what();
}

// A flag without its value, or a flag that is given twice. The parser's message begins with its
// name.
std::string count_error(const CLI::App& command, const CLI::ParseError& problem) {
    const std::string message = problem.what();
    const std::string flag = message.substr(0, message.find(':'));
    for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
        const CLI::Option* option = app->get_option_no_throw(flag);
        if (option == nullptr) continue;
        return flag + (option->count() > 1 ? " is given more than once" : " needs a value");
    }
    return message;
}

std::string first_sentence(const CLI::App& app, const CLI::App& command,
                           const CLI::ParseError& problem) {
    const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&problem) != nullptr;
    const bool is_unknown = dynamic_cast<const CLI::ExtrasError*>(&problem) != nullptr;
    Words unknown = app.remaining(true);
    if (is_missing) drop_format(unknown);
    // An unknown word is reported before a missing argument: the one may be meant as the other.
    if ((is_missing || is_unknown) && !unknown.empty()) return unknown_error(command, unknown);
    if (is_missing) return missing_error(command, problem);
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr) {
        return count_error(command, problem);
    }
    return problem.what();
}

std::string with_help(std::string text, const CLI::App& command) {
    if (!text.ends_with('?')) text += '.';
    return text + " See `" + path_of(command) + " --help`.";
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& problem) {
    const CLI::App& command = deepest_of(app);
    return with_help(first_sentence(app, command, problem), command);
}

std::optional<std::string> unknown_command_of_help(const CLI::App& app) {
    const CLI::App& command = deepest_of(app);
    const Words unknown = app.remaining(true);
    const bool names_command =
        !unknown.empty() && !is_flag(unknown.front()) && !commands_of(command).empty();
    if (!names_command) return std::nullopt;
    return with_help(command_error(command, {unknown.front()}), command);
}

CLI::Validator one_of(Words names) {
    const std::string described = "{" + CLI::detail::join(names, ",") + "}";
    return CLI::Validator{[names](std::string& word) -> std::string {
                              if (std::find(names.begin(), names.end(), word) != names.end()) {
                                  return "";
                              }
                              const Words near = near_names(word, names);
                              if (near.empty()) {
                                  return "`" + word + "` is not one of " + alternatives(names);
                              }
                              return "`" + word + "` is not one of " + alternatives(names) +
                                     "; did you mean " + alternatives(near) + "?";
                          },
                          described};
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
    const std::string bounds = std::to_string(least) + " to " + std::to_string(most);
    const std::string described =
        "INT in [" + std::to_string(least) + " - " + std::to_string(most) + "]";
    return CLI::Validator{[=](std::string& word) -> std::string {
                              std::int64_t number = 0;
                              const char* last = word.data() + word.size();
                              const auto [end, problem] =
                                  std::from_chars(word.data(), last, number);
                              const bool is_number = problem == std::errc{} && end == last;
                              if (is_number && number >= least && number <= most) return "";
                              return "`" + word + "` is not a whole number from " + bounds;
                          },
                          described};
}

}  // namespace gpuctl::cli
