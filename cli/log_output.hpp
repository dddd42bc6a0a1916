#pragma once
// Lines of logs as people read them. A line without its end yet (a progress bar) is drawn in place
// on a terminal and drawn again as it changes; in a pipe or a file, where nothing can be written
// over, it is a line of its own at most each second. Lines that were redrawn with carriage returns
// are printed as a terminal shows them at their end.

#include <chrono>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>

namespace gpuctl::cli {

class LogOutput {
public:
    struct Settings {
        bool is_terminal = false;
        bool names_pods = false;               // "[pod] " before each line
        std::function<std::size_t()> columns;  // of the terminal, asked at each drawing
        std::function<std::chrono::steady_clock::time_point()> now;
    };
    // Both streams outlive this.
    LogOutput(std::ostream& out, std::ostream& err, Settings settings);

    // Standard output as it is.
    static Settings standard(bool names_pods);

    void line(const std::string& pod, const std::string& text);
    // `redrawn`: it changes rather than grows.
    void partial(const std::string& pod, const std::string& text, bool redrawn);
    // About the log, not of it; "" only clears what is drawn and not finished.
    void note(const std::string& text);
    // Nothing will follow: leaves the cursor on a line of its own.
    void end();

private:
    struct Shown {
        std::string text;  // of the unfinished line, as it was printed last
        std::chrono::steady_clock::time_point next_at;
    };

    void draw(const std::string& pod, const std::string& text, bool redrawn);
    void clear_drawn();

    std::ostream& out_;
    std::ostream& err_;
    Settings settings_;
    bool is_drawn_ = false;
    std::map<std::string, Shown> shown_;  // by pod, in a pipe
};

// As much of it as fits: its beginning, or its end behind a "<".
std::string fitted(const std::string& text, std::size_t columns, bool keeps_end);

}  // namespace gpuctl::cli
