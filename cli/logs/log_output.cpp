#include "cli/logs/log_output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "cli/output.hpp"

namespace gpuctl::cli {
namespace {

constexpr std::chrono::seconds kPipePause{1};
constexpr std::size_t kColumnsUsual = 80;
constexpr std::string_view kClearLine = "\r\x1b[K";

std::size_t terminal_columns() {
    winsize size{};
    const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : kColumnsUsual;
}

// The length of the character that begins there, in bytes.
std::size_t character_bytes(std::string_view text, std::size_t at) {
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    return end - at;
}

}  // namespace

std::string fitted(const std::string& text, std::size_t columns, bool keeps_end) {
    if (display_width(text) <= columns) return text;
    if (!keeps_end) {
        std::string fit;
        std::size_t width = 0;
        for (std::size_t at = 0; at < text.size();) {
            const std::string character = text.substr(at, character_bytes(text, at));
            width += display_width(character);
            if (width > columns) break;
            fit += character;
            at += character.size();
        }
        return fit;
    }
    std::size_t begin = 0;
    while (begin < text.size() && display_width(text.substr(begin)) + 1 > columns) {
        begin += character_bytes(text, begin);
    }
    return "<" + text.substr(begin);
}

LogOutput::LogOutput(std::ostream& out, std::ostream& err, Settings settings)
    : out_(out), err_(err), settings_(std::move(settings)) {}

LogOutput::Settings LogOutput::standard(bool names_pods) {
    const char* kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): one thread, no setenv
    const bool can_redraw = kind != nullptr && std::string_view{kind} != "dumb";
    return {isatty(STDOUT_FILENO) == 1 && can_redraw, names_pods, terminal_columns,
            [] { return std::chrono::steady_clock::now(); }};
}

void LogOutput::line(const std::string& pod, const std::string& text) {
    clear_drawn();
    const std::string clean = printable(text);
    const auto before = shown_.find(pod);
    const bool is_there = before != shown_.end() && before->second.text == clean;
    if (before != shown_.end()) shown_.erase(before);
    if (is_there) return;  // the last state of a progress bar is printed already
    if (settings_.names_pods) out_ << '[' << printable(pod) << "] ";
    out_ << clean << '\n';
    out_.flush();
}

void LogOutput::partial(const std::string& pod, const std::string& text, bool redrawn) {
    const std::string clean = printable(text);
    if (settings_.is_terminal) return draw(pod, clean, redrawn);
    // A line that only grows is printed when it is complete.
    if (!redrawn || clean.empty()) return;
    const auto now = settings_.now();
    Shown& shown = shown_[pod];
    if (shown.text == clean || now < shown.next_at) return;
    shown = {clean, now + kPipePause};
    if (settings_.names_pods) out_ << '[' << printable(pod) << "] ";
    out_ << clean << '\n';
    out_.flush();
}

void LogOutput::draw(const std::string& pod, const std::string& text, bool redrawn) {
    const std::string whole = settings_.names_pods ? "[" + printable(pod) + "] " + text : text;
    // The last column stays free: some terminals wrap after a character there.
    const std::size_t columns = std::max<std::size_t>(settings_.columns(), 2) - 1;
    out_ << kClearLine << fitted(whole, columns, !redrawn);
    out_.flush();
    is_drawn_ = true;
}

void LogOutput::clear_drawn() {
    if (!is_drawn_) return;
    is_drawn_ = false;
    out_ << kClearLine;
}

void LogOutput::print_note(const std::string& text) {
    clear_drawn();
    out_.flush();
    if (!text.empty()) err_ << "gpuctl: " << printable(text) << '\n';
}

void LogOutput::end() {
    if (!is_drawn_) return;
    is_drawn_ = false;
    out_ << '\n';
    out_.flush();
}

}  // namespace gpuctl::cli
