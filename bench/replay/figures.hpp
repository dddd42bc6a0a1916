#pragma once
// Results of a replay: names and values in the order of the report.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gpuctl::replay {

using FigureValue = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;

class Figures {
public:
    struct Figure {
        std::string name;
        FigureValue value;
    };

    void add(std::string name, FigureValue value);
    [[nodiscard]] const FigureValue* find(std::string_view name) const;
    // The value of a numeric figure; NaN if there is none.
    [[nodiscard]] double number(std::string_view name) const;

    // Adds a sentence that is needed to interpret the figures; it is printed to stderr.
    void remark(std::string sentence) { remarks_.push_back(std::move(sentence)); }
    [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

    [[nodiscard]] std::string as_json() const;  // one object, one line
    [[nodiscard]] std::string as_table() const;

private:
    std::vector<Figure> figures_;
    std::vector<std::string> remarks_;
};

}  // namespace gpuctl::replay
