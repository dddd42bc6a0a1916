#include "cli/grammar/help_format.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace gpuctl::cli {

// A footer has examples first; what follows an empty line comes after the flags.
std::string HelpFormat::make_help(const CLI::App* app, std::string name,
                                  CLI::AppFormatMode mode) const {
    if (mode == CLI::AppFormatMode::Sub) return make_expanded(app);
    const std::string footer = app->get_footer();
    const std::size_t end = std::min(footer.find("\n\n"), footer.size());
    const std::string examples = footer.substr(0, end);
    const std::string remarks = end == footer.size() ? "" : footer.substr(end + 2);
    std::ostringstream out;
    out << make_description(app) << make_usage(app, std::move(name));
    if (!examples.empty()) out << '\n' << examples << '\n';
    out << make_positionals(app) << make_groups(app, mode) << make_subcommands(app, mode);
    if (!remarks.empty()) out << '\n' << remarks << '\n';
    return out.str();
}

}  // namespace gpuctl::cli
