#include "text/token.hpp"

#include <algorithm>

#include "text/characters.hpp"

namespace gpuctl::text {

std::string problem_with_token(std::string_view token) {
    if (token.empty()) return "is empty";
    if (std::string problem = problem_with_invisible(token); !problem.empty()) return problem;
    for (std::size_t at = 0; at < token.size(); ++at) {
        const char c = token[at];
        if (c > ' ' && c < 0x7f) continue;
        return std::string{c == ' ' ? "contains a space" : "contains a character beyond ASCII"} +
               " (character " + std::to_string(characters_before(token, at) + 1) +
               "), which is not allowed in a token";
    }
    return "";
}

Result<std::string> token_of_file(std::string_view content) {
    const auto refuse = [](std::string why) {
        return make_error(ErrorCode::InvalidConfiguration, std::move(why));
    };
    if (content.ends_with('\n')) content.remove_suffix(1);
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (content.find('\n') != content.npos) {
        return refuse("contains more than one line; write only the token into it");
    }
    const std::size_t end = std::min(content.find_first_of(" \t"), content.size());
    if (end == 0 && !content.empty()) {
        return refuse("begins with a blank; write only the token into it");
    }
    if (std::string problem = problem_with_token(content.substr(0, end)); !problem.empty()) {
        return refuse(problem == "is empty" ? "contains no token" : std::move(problem));
    }
    return std::string{content.substr(0, end)};
}

}  // namespace gpuctl::text
