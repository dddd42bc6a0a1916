#pragma once
// One line as a terminal shows it: carriage returns and backspaces go back and what follows is
// written over what was there, as progress bars do for minutes before their line ends. Of a line
// that is longer than a screen could ever be the newest part is kept.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctl::text {

class ScreenLine {
public:
    // The next bytes of the line, cut anywhere.
    void feed(std::string_view bytes);
    void clear();

    // As UTF-8, without blanks at its end and without control characters.
    [[nodiscard]] std::string text() const;
    // Whether something was written over.
    [[nodiscard]] bool was_redrawn() const { return was_redrawn_; }

private:
    // plain ──ESC──> escape ──[──> sequence ──a final byte──> plain
    //                escape ──]──> string ──BEL or ESC \──> plain      (window titles, links)
    enum class State : std::uint8_t { plain, escape, sequence, string, string_escape };

    void take(char32_t character);
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

// The whole of a line at once; the same text when nothing in it moves the cursor.
std::string on_screen(std::string_view line);

}  // namespace gpuctl::text
