#pragma once
// One line as a terminal shows it: carriage returns and backspaces move back, and what follows
// overwrites, as progress bars do before their line ends. Of a line longer than any screen, the
// newest part is kept.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctl::text {

class ScreenLine {
public:
    // The next bytes of the line, cut at any byte.
    void feed(std::string_view bytes);
    void clear();

    // As UTF-8, without blanks at its end and without control characters.
    [[nodiscard]] std::string text() const;
    // Whether a character was overwritten.
    [[nodiscard]] bool was_redrawn() const { return was_redrawn_; }

private:
    // plain ──ESC──> escape ──[──> sequence ──a final byte──> plain
    //                escape ──]──> string ──BEL or ESC \──> plain      (window titles, links)
    enum class State : std::uint8_t { plain, escape, sequence, string, string_escape };

    void parse(char32_t character);
    void put(char32_t character);
    void carry_out(char32_t final);
    [[nodiscard]] std::size_t parameter(std::size_t otherwise) const;

    std::vector<char32_t> cells_;
    std::size_t cursor_ = 0;
    bool was_redrawn_ = false;
    State state_ = State::plain;
    std::string parameters_;  // of the sequence being read
    std::string pending_;     // the beginning of a character
};

// The whole line at once; unchanged text when it does not move the cursor.
std::string on_screen(std::string_view line);

}  // namespace gpuctl::text
