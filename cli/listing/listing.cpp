#include "cli/listing/listing.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iostream>
#include <map>
#include <set>
#include <utility>

#include "aio/loop.hpp"
#include "cli/listing/json_path.hpp"
#include "text/duration.hpp"

namespace gpuctl::cli {
namespace {

using Json = nlohmann::json;
using Cells = std::vector<std::string>;

// "gpu-free", "GPU_FREE" and "gpu free" name the same column.
std::string plain_title(std::string_view title) {
    std::string plain;
    for (const char c : title) {
        const bool is_space = c == '-' || c == '_';
        plain += is_space ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return plain;
}

const Column* find_column(const ListedKind& kind, std::string_view title) {
    const std::string wanted = plain_title(title);
    const auto found =
        std::find_if(kind.columns.begin(), kind.columns.end(),
                     [&](const Column& column) { return plain_title(column.title) == wanted; });
    return found == kind.columns.end() ? nullptr : &*found;
}

bool is_path(std::string_view word) {
    return word.starts_with('.') || word.starts_with('{') || word.starts_with('[');
}

// A value to compare: numbers by size, and numbers before texts.
struct SortKey {
    bool is_number = false;
    double number = 0;
    std::string text;

    friend bool operator<(const SortKey& a, const SortKey& b) {
        if (a.is_number != b.is_number) return a.is_number;
        return a.is_number ? a.number < b.number : a.text < b.text;
    }
};

SortKey key_of(const std::string& text) {
    SortKey key{false, 0, text};
    const char* last = text.data() + text.size();
    const auto [end, problem] = std::from_chars(text.data(), last, key.number);
    key.is_number = !text.empty() && problem == std::errc{} && end == last;
    return key;
}

Json sorted_items(const ListedKind& kind, const Json& items, const std::string& sort_by) {
    if (sort_by.empty()) return items;
    const Column* column = is_path(sort_by) ? nullptr : find_column(kind, sort_by);
    const std::string path_text = column == nullptr ? sort_by : column->sort_path;
    const Result<JsonPath> path = JsonPath::parse(path_text);
    std::vector<std::pair<SortKey, const Json*>> keyed;
    for (const Json& item : items) {
        if (column != nullptr && path_text.empty()) {
            keyed.emplace_back(key_of(column->cell(item)), &item);
            continue;
        }
        const auto found = path ? path->find(item) : std::vector<const Json*>{};
        keyed.emplace_back(key_of(found.empty() ? "" : plain_text(*found.front())), &item);
    }
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Json sorted = Json::array();
    for (const auto& [key, item] : keyed) sorted.push_back(*item);
    return sorted;
}

// NAME:.path pairs of -o columns=.
struct CustomColumn {
    std::string title;
    JsonPath path;
};

Result<std::vector<CustomColumn>> custom_columns(const std::string& expression) {
    std::vector<CustomColumn> columns;
    std::size_t begin = 0;
    while (begin <= expression.size()) {
        const std::size_t end = std::min(expression.find(',', begin), expression.size());
        const std::string one = expression.substr(begin, end - begin);
        const std::size_t colon = one.find(':');
        if (colon == std::string::npos || colon == 0 || colon + 1 == one.size()) {
            return make_error(ErrorCode::BadRequest, "-o columns=" + expression + ": \"" + one +
                                                         "\" is no column; write TITLE:PATH, as in "
                                                         "columns=NAME:.name,STATUS:.status");
        }
        Result<JsonPath> path = JsonPath::parse(one.substr(colon + 1));
        if (!path) return path.error();
        columns.push_back({one.substr(0, colon), std::move(*path)});
        begin = end + 1;
    }
    return columns;
}

struct Rows {
    Cells header;
    std::vector<Cells> cells;
};

bool is_filled(const std::string& cell) { return !cell.empty() && cell != "-"; }

Rows custom_rows(const Json& items, const std::string& expression) {
    Rows rows;
    const Result<std::vector<CustomColumn>> columns = custom_columns(expression);
    if (!columns) return rows;  // problem_with() has reported it
    for (const CustomColumn& column : *columns) rows.header.push_back(column.title);
    for (const Json& item : items) {
        Cells& cells = rows.cells.emplace_back();
        for (const CustomColumn& column : *columns) {
            std::string text;
            for (const Json* value : column.path.find(item)) {
                text += (text.empty() ? "" : ",") + plain_text(*value);
            }
            cells.push_back(text.empty() ? "<none>" : text);
        }
    }
    return rows;
}

// `is_every`: also the columns that are shown only where they are filled.
Rows rows_of(const ListedKind& kind, const Json& items, bool is_wide, bool is_every) {
    Rows rows;
    rows.cells.resize(items.size());
    for (const Column& column : kind.columns) {
        if (column.use == Use::wide && !is_wide) continue;
        Cells cells;
        for (const Json& item : items) cells.push_back(column.cell(item));
        const bool is_shown = column.use != Use::if_filled || is_every ||
                              std::any_of(cells.begin(), cells.end(), is_filled);
        if (!is_shown) continue;
        rows.header.push_back(column.title);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            rows.cells[i].push_back(std::move(cells[i]));
        }
    }
    return rows;
}

void print_rows(std::ostream& out, const Rows& rows, const TableStyle& style) {
    Table table{rows.header};
    for (const Cells& cells : rows.cells) table.add_row(cells);
    table.print(out, style);
}

void print_csv_line(std::ostream& out, const Cells& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string text = printable(cells[i]);
        if (i > 0) out << ',';
        if (text.find_first_of(",\"") == std::string::npos) {
            out << text;
            continue;
        }
        out << '"';
        for (const char c : text) out << (c == '"' ? "\"\"" : std::string{c});
        out << '"';
    }
    out << '\n';
}

void print_csv(std::ostream& out, const Rows& rows, bool has_header) {
    if (has_header) print_csv_line(out, rows.header);
    for (const Cells& cells : rows.cells) print_csv_line(out, cells);
}

Json short_items(const ListedKind& kind, const Json& items) {
    if (!kind.short_form) return items;
    Json rows = Json::array();
    for (const Json& item : items) {
        Json row = kind.short_form(item);
        if (!row.is_array()) {
            rows.push_back(std::move(row));
            continue;
        }
        for (Json& one : row) rows.push_back(std::move(one));
    }
    return rows;
}

void print_lines(std::ostream& out, const Json& items) {
    for (const Json& item : items) {
        out << item.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    }
}

// Each once: a job's name is printed for its first pod only.
void print_names(std::ostream& out, const ListedKind& kind, const Json& items) {
    std::set<std::string> printed;
    for (const Json& item : items) {
        const std::string typed = typed_name_of(kind, item);
        if (printed.insert(typed).second) out << printable(typed) << '\n';
    }
}

Json items_of(const Json& list) { return list.value("items", Json::array()); }

}  // namespace

std::optional<Error> problem_with(const ListedKind& kind, const ListOutput& output) {
    if (output.format == Format::jsonpath) {
        const Result<JsonTemplate> text = JsonTemplate::parse(output.expression);
        if (!text) return text.error();
    }
    if (output.format == Format::columns) {
        const auto columns = custom_columns(output.expression);
        if (!columns) return columns.error();
    }
    if (output.sort_by.empty()) return std::nullopt;
    if (is_path(output.sort_by)) {
        const Result<JsonPath> path = JsonPath::parse(output.sort_by);
        return path ? std::nullopt : std::optional{path.error()};
    }
    if (find_column(kind, output.sort_by) != nullptr) return std::nullopt;
    std::string known;
    for (const Column& column : kind.columns) {
        known += (known.empty() ? "" : ", ") + column.title;
    }
    return make_error(ErrorCode::BadRequest, "--sort-by " + output.sort_by + ": " + kind.name +
                                                 " have no such column; they have " + known +
                                                 ", or give a path such as .name");
}

void print_list(std::ostream& out, const ListedKind& kind, const nlohmann::json& list,
                const ListOutput& output) {
    Json whole = list;
    whole["items"] = sorted_items(kind, items_of(list), output.sort_by);
    const Json& items = whole["items"];
    const TableStyle style{output.has_header, output.is_colored, nullptr};
    switch (output.format) {
        case Format::json:
            return print_json(out, output.is_short_form ? short_items(kind, items) : whole);
        case Format::yaml:
            return print_yaml(out, whole);
        case Format::jsonl:
            return print_lines(out, items);
        case Format::name:
            return print_names(out, kind, items);
        case Format::csv:
            return print_csv(out, rows_of(kind, items, true, true), output.has_header);
        case Format::jsonpath: {
            const Result<JsonTemplate> text = JsonTemplate::parse(output.expression);
            const std::string shown = text ? printable(text->render(whole), true) : "";
            out << shown << (shown.ends_with('\n') ? "" : "\n");
            return;
        }
        case Format::columns:
            return print_rows(out, custom_rows(items, output.expression), style);
        case Format::table:
        case Format::wide:
            return print_rows(out, rows_of(kind, items, output.format == Format::wide, false),
                              style);
    }
}

RowPrinter::RowPrinter(const ListedKind& kind, ListOutput output)
    : kind_(kind), output_(std::move(output)) {}

void RowPrinter::print(std::ostream& out, const nlohmann::json& items) {
    const Json sorted = sorted_items(kind_, items, output_.sort_by);
    const TableStyle style{output_.has_header, output_.is_colored, &widths_};
    switch (output_.format) {
        case Format::json:
            print_lines(out, output_.is_short_form ? short_items(kind_, sorted) : sorted);
            break;
        case Format::jsonl:
            print_lines(out, sorted);
            break;
        case Format::name:
            print_names(out, kind_, sorted);
            break;
        case Format::csv:
            print_csv(out, rows_of(kind_, sorted, true, true), output_.has_header);
            break;
        case Format::columns:
            print_rows(out, custom_rows(sorted, output_.expression), style);
            break;
        default:
            // The columns must be those of the header.
            print_rows(out, rows_of(kind_, sorted, output_.format == Format::wide, true), style);
    }
    out.flush();
    output_.has_header = false;
}

namespace {

Cells steady_cells(const ListedKind& kind, const Json& item) {
    Cells cells;
    for (const Column& column : kind.columns) {
        if (!column.drifts) cells.push_back(column.cell(item));
    }
    return cells;
}

std::string key_of_item(const ListedKind& kind, const Json& item) {
    return kind.key ? kind.key(item) : typed_name_of(kind, item);
}

}  // namespace

nlohmann::json changed_items(const ListedKind& kind, const nlohmann::json& before,
                             const nlohmann::json& after) {
    std::map<std::string, const Json*> left;
    for (const Json& item : before) left.emplace(key_of_item(kind, item), &item);
    Json changed = Json::array();
    for (const Json& item : after) {
        const auto old = left.find(key_of_item(kind, item));
        const bool is_equal =
            old != left.end() && steady_cells(kind, *old->second) == steady_cells(kind, item);
        if (old != left.end()) left.erase(old);
        if (!is_equal) changed.push_back(item);
    }
    for (const auto& [key, item] : left) {
        Json gone = *item;
        gone["status"] = "Deleted";
        changed.push_back(std::move(gone));
    }
    return changed;
}

std::string typed_name_of(const ListedKind& kind, const nlohmann::json& item) {
    if (kind.typed_name) return kind.typed_name(item);
    return kind.name.substr(0, kind.name.size() - 1) + "/" + text_of(item, "name");
}

bool is_named(const ListedKind& kind, const nlohmann::json& item, const std::string& name) {
    return kind.is_named ? kind.is_named(item, name) : text_of(item, "name") == name;
}

Cell member(std::string key, std::string otherwise) {
    return [key = std::move(key), otherwise = std::move(otherwise)](const Json& item) {
        return text_of(item, key, otherwise);
    };
}

Cell number(std::string key) {
    return [key = std::move(key)](const Json& item) { return number_of(item, key); };
}

Cell age_of(std::string key) {
    return [key = std::move(key)](const Json& item) {
        const std::int64_t age = seconds_since(text_of(item, key), aio::Loop::wall_ms());
        return age < 0 ? text_of(item, "age", "N/A") : text::format_age(age);
    };
}

Cell joined(std::string key, std::string otherwise) {
    return [key = std::move(key), otherwise = std::move(otherwise)](const Json& item) {
        const std::string text = member_list(item, key);
        return text.empty() ? otherwise : text;
    };
}

std::string join(const nlohmann::json& values) {
    std::string text;
    if (values.is_string()) return values.get<std::string>();
    if (values.is_object()) {
        for (const auto& [key, count] : values.items()) {
            text += (text.empty() ? "" : ",") + key;
            if (count.is_number()) text += "x" + count.dump();
        }
        return text;
    }
    for (const auto& value : values) {
        text += (text.empty() ? "" : ",") + plain_text(value);
    }
    return text;
}

std::string member_list(const nlohmann::json& object, std::string_view key) {
    const auto member = object.find(key);
    if (member == object.end() || member->is_null()) return "";
    return join(*member);
}

}  // namespace gpuctl::cli
