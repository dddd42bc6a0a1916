#pragma once
// Output of the command line: tables for people, JSON and YAML for machines. Data goes to stdout,
// messages to stderr; control characters in text from a server are removed, so that a job's name
// cannot move the cursor.

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctl::cli {

struct TableStyle {
    bool has_header = true;
    bool is_colored = false;  // the cells of STATUS, by what they say
    // The width of each column; kept and raised, so that tables printed one after another are
    // aligned.
    std::vector<std::size_t>* widths = nullptr;
};

// Left-aligned columns two spaces apart; the header is printed even without rows.
class Table {
public:
    explicit Table(std::vector<std::string> header);
    void add_row(std::vector<std::string> cells);
    void print(std::ostream& out, const TableStyle& style = {}) const;

private:
    std::vector<std::string> header_;
    std::vector<std::vector<std::string>> rows_;
};

// Removes control characters (escape sequences with them); newlines stay when `lines`.
std::string printable(std::string_view text, bool lines = false);

// The terminal columns of UTF-8 text: East Asian wide characters take two.
std::size_t display_width(std::string_view text);

// A member as text whatever its type; `otherwise` when absent or null.
std::string text_of(const nlohmann::json& object, std::string_view key,
                    std::string_view otherwise = "");

// GPU counts are numbers on the wire; 8.0 prints as 8.
std::string number_of(const nlohmann::json& object, std::string_view key);

// Seconds since an RFC 3339 time; -1 when it is not one.
std::int64_t seconds_since(std::string_view rfc3339, std::int64_t now_ms);

// "in about 2h5m (in 5m at the earliest, in 1d2h at the latest)", to follow "It starts", from the
// member estimatedStart; "" when there is no estimate.
std::string start_words(const nlohmann::json& job, std::int64_t now_ms);
// The same for a column: "2h", "?".
std::string start_short(const nlohmann::json& job, std::int64_t now_ms);

enum class Format : std::uint8_t { table, wide, json, yaml, name, jsonl, csv, jsonpath, columns };

// Whether tables are colored: `color` is the value of --color. For auto: on a terminal, unless
// NO_COLOR or TERM=dumb is set; CLICOLOR_FORCE colors elsewhere, too.
bool is_colored(const std::string& color);

void print_json(std::ostream& out, const nlohmann::json& value);
void print_yaml(std::ostream& out, const nlohmann::json& value);

// JSON and YAML: stdout holds one document, which includes errors.
constexpr bool is_document(Format format) {
    return format == Format::json || format == Format::yaml;
}
// In one of these two.
void print_document(std::ostream& out, const nlohmann::json& value, Format format);

}  // namespace gpuctl::cli
