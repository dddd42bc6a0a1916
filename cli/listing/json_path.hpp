#pragma once
// JSONPath as kubectl has it, for -o jsonpath=, -o columns= and --sort-by: members, indexes, `[*]`,
// filters (`[?(@.status=="Running")]`), and templates with text and ranges.
//
//     {.items[*].name}
//     {range .items[*]}{.name}{"\t"}{.status}{"\n"}{end}
//
// A member that is absent gives nothing. A dot in a key is written `\.`.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"

namespace gpuctl::cli {

class JsonPath {
public:
    // With or without braces: ".gpuFree", "{.labels.rack}".
    static Result<JsonPath> parse(std::string_view text);

    // The values in `root`, in their order. They point into `root`.
    [[nodiscard]] std::vector<const nlohmann::json*> find(const nlohmann::json& root) const;

private:
    friend class JsonPathReader;

    enum class StepKind : std::uint8_t { member, index, every, filter };
    struct Step {
        StepKind kind = StepKind::member;
        std::string name;          // of a member
        std::int64_t index = 0;    // negative: from the end
        std::vector<Step> inside;  // of a filter: the path of the compared value
        std::string comparison;    // of a filter: ==, !=, <, <=, > or >=; empty: the value exists
        nlohmann::json value;      // of a filter: what it is compared with
    };
    using Found = std::vector<const nlohmann::json*>;

    static void apply(const Step& step, const nlohmann::json& value, Found& found);
    static Found walk(const std::vector<Step>& steps, const nlohmann::json& root);
    static bool passes(const Step& filter, const nlohmann::json& value);

    std::vector<Step> steps_;
};

class JsonTemplate {
public:
    static Result<JsonTemplate> parse(std::string_view text);

    [[nodiscard]] std::string render(const nlohmann::json& root) const;

private:
    struct Part {
        std::string text;  // literal, if there is no path
        bool has_path = false;
        bool is_range = false;
        JsonPath path;
        std::vector<Part> parts;  // of a range, once for every value
    };

    static void render_parts(const std::vector<Part>& parts, const nlohmann::json& root,
                             std::string& out);

    std::vector<Part> parts_;
};

// A value as text: strings without quotes, objects as JSON.
std::string plain_text(const nlohmann::json& value);

}  // namespace gpuctl::cli
