#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cli/client/client.hpp"

namespace gpuctl::cli {
namespace {

// The shells ask gpuctl itself, so that the words are those of this version.
constexpr const char* kBash = R"sh(# bash completion of gpuctl: source <(gpuctl completion bash)
_gpuctl() {
    local current="${COMP_WORDS[COMP_CWORD]}"
    local words
    words="$(gpuctl __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)"
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _gpuctl gpuctl
)sh";

constexpr const char* kZsh = R"sh(#compdef gpuctl
# zsh completion of gpuctl: source <(gpuctl completion zsh)
_gpuctl() {
    local -a words_found
    words_found=("${(@f)$(gpuctl __complete "${(@)words[2,$CURRENT]}" 2>/dev/null)}")
    compadd -a words_found
}
compdef _gpuctl gpuctl
)sh";

constexpr const char* kFish = R"sh(# fish completion of gpuctl: gpuctl completion fish | source
function __gpuctl_words
    set -l words (commandline -opc) (commandline -ct)
    gpuctl __complete $words[2..-1] 2>/dev/null
end
complete -c gpuctl -a '(__gpuctl_words)'
)sh";

void add_flags(const CLI::App& command, std::vector<std::string>& words) {
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
}

const CLI::App* child_named(const CLI::App& command, const std::string& word) {
    const auto found =
        command.get_subcommands([&](const CLI::App* child) { return child->check_name(word); });
    return found.empty() ? nullptr : found.front();
}

// The words of "{a,b,c}", the description of a value that is one of a few.
std::vector<std::string> choices_of(const CLI::App& command, const std::string& flag) {
    for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
        const CLI::Option* option = app->get_option_no_throw(flag);
        if (option == nullptr) continue;
        const std::string type = option->get_type_name();
        const std::size_t begin = type.find('{');
        const std::size_t end = type.find('}');
        if (begin == std::string::npos || end == std::string::npos) return {};
        return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
    }
    return {};
}

}  // namespace

std::vector<std::string> completions(const CLI::App& app, const std::vector<std::string>& words) {
    const CLI::App* command = &app;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const CLI::App* next = child_named(*command, words[i]);
        if (next != nullptr) command = next;
    }
    const std::string typed = words.empty() ? "" : words.back();
    std::vector<std::string> known;
    const std::string before = words.size() > 1 ? words[words.size() - 2] : "";
    if (before.starts_with('-')) known = choices_of(*command, before);
    if (known.empty() && typed.starts_with('-')) {
        for (const CLI::App* of = command; of != nullptr; of = of->get_parent()) {
            add_flags(*of, known);
        }
    } else if (known.empty()) {
        for (const CLI::App* child :
             command->get_subcommands([](const CLI::App*) { return true; })) {
            known.push_back(child->get_name());
        }
    }
    std::erase_if(known, [&](const std::string& word) { return !word.starts_with(typed); });
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    return known;
}

int run_completion(const CompletionOptions& options) {
    const bool is_zsh = options.shell == "zsh";
    std::cout << (is_zsh ? kZsh : options.shell == "fish" ? kFish : kBash);
    return 0;
}

}  // namespace gpuctl::cli
