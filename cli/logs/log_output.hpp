#pragma once
// Prints log lines. An unfinished line (a progress bar) is drawn in place on a terminal and redrawn
// as it changes; in a pipe or a file, where nothing can be overwritten, it is printed as a line at
// most once a second. Lines redrawn with carriage returns are printed as a terminal shows them at
// their end.

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
        std::function<std::size_t()> columns;  // of the terminal, read at each drawing
        std::function<std::chrono::steady_clock::time_point()> now;
    };
    // Both streams outlive this.
    LogOutput(std::ostream& out, std::ostream& err, Settings settings);

    // Writes to standard output.
    static Settings standard(bool names_pods);

    void line(const std::string& pod, const std::string& text);
    // `redrawn`: it changes rather than grows.
    void partial(const std::string& pod, const std::string& text, bool redrawn);
    // A message about the log; "" only clears an unfinished line.
    void print_note(const std::string& text);
    // The end of the output: leaves the cursor on a new line.
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
    std::map<std::string, Shown> shown_;  // by pod, when not on a terminal
};

// The part that fits: its beginning, or its end after a "<".
std::string fitted(const std::string& text, std::size_t columns, bool keeps_end);

}  // namespace gpuctl::cli
