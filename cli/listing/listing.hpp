#pragma once
// Lists of objects. A kind of object is described once, by its columns and its short JSON form; all
// lists are printed, sorted, selected and watched by this description.
//
//     ListedKind quotas_kind() {
//         return {.name = "quotas",
//                 .columns = {{"QUOTA NAME", member("name")},
//                             {"NAMESPACE", member("namespace")},
//                             {"GPU", number("gpu")},
//                             {"AGE", age_of("createdAt"), Use::always, ".createdAt", true},
//                             {"PODS", number("pods"), Use::wide}},
//                 .short_form = quota_row};
//     }
//
// and its line in kinds.cpp: listed_kinds. `gpuctl get quotas` then needs only its command in
// cli/grammar/listing.cpp.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.hpp"
#include "scheduler/base/result.hpp"

namespace gpuctl::cli {

// Which tables show a column: all, those of -o wide and CSV, or those in which a cell of it is
// neither empty nor "-".
enum class Use : std::uint8_t { always, wide, if_filled };

using Cell = std::function<std::string(const nlohmann::json& item)>;

struct Column {
    std::string title;  // "GPU FREE"
    Cell cell;          // of an object as REST has it
    Use use = Use::always;
    std::string sort_path = {};  // `--sort-by AGE` sorts by this path; empty: by the cell
    bool drifts = false;         // its text changes with time alone, which is no change for --watch
};

struct ListedKind {
    std::string name;  // "jobs": the word after `get`
    std::vector<Column> columns;
    // The object of --json (contract: snake_case names), or a list of several; not set: as REST has
    // it.
    std::function<nlohmann::json(const nlohmann::json& item)> short_form = nullptr;
    // What `-o name` prints; not set: "quota/NAME".
    Cell typed_name = nullptr;
    // Whether a name that was typed means this object; not set: its name.
    std::function<bool(const nlohmann::json& item, const std::string& name)> is_named = nullptr;
    // What identifies an object from one list to the next; not set: typed_name.
    Cell key = nullptr;
    // The labels that -l selects by; not set: the member `labels`.
    std::function<nlohmann::json(const nlohmann::json& item)> labels = nullptr;
    // Below /api/v1/; not set: `name`.
    std::string path = {};
};

// How a list is printed: the flags of the command.
struct ListOutput {
    Format format = Format::table;
    bool is_short_form = false;  // --json, not -o json
    std::string expression;      // of -o jsonpath= and -o columns=
    std::string sort_by;         // a path (".gpuFree") or the title of a column
    bool has_header = true;
    bool is_colored = false;
};

// The first problem of --sort-by and of the expression, so that it is reported before any request.
std::optional<Error> problem_with(const ListedKind& kind, const ListOutput& output);

// Prints {"items": [...], ...}, as REST has it.
void print_list(std::ostream& out, const ListedKind& kind, const nlohmann::json& list,
                const ListOutput& output);

// The rows of a watched list, one after another, below one header. Only for formats that have rows.
class RowPrinter {
public:
    RowPrinter(const ListedKind& kind, ListOutput output);
    void print(std::ostream& out, const nlohmann::json& items);

private:
    const ListedKind& kind_;
    ListOutput output_;
    std::vector<std::size_t> widths_;
};

// The objects of `after` that are new or differ from those of `before` in a column that does not
// drift, and those that are gone, with the status "Deleted".
nlohmann::json changed_items(const ListedKind& kind, const nlohmann::json& before,
                             const nlohmann::json& after);

std::string typed_name_of(const ListedKind& kind, const nlohmann::json& item);
bool is_named(const ListedKind& kind, const nlohmann::json& item, const std::string& name);

// Cells. A member as text, or `otherwise`; a number; the age of a time; the elements of a list.
Cell member(std::string key, std::string otherwise = "");
Cell number(std::string key);
Cell age_of(std::string key);
Cell joined(std::string key, std::string otherwise = "");

// "a,b" of a list; "A100x8" of an object with counts; a text as it is.
std::string join(const nlohmann::json& values);
std::string member_list(const nlohmann::json& object, std::string_view key);

}  // namespace gpuctl::cli
