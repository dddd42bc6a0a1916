#include "bench/replay/figures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace gpuctl::replay {
namespace {

// Six digits are more than any published figure has, and hide the rounding of sums.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

nlohmann::ordered_json to_json(const FigureValue& value) {
    return std::visit(
        [](const auto& held) -> nlohmann::ordered_json {
            using Held = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, double>) {
                return rounded(held);
            } else if constexpr (std::is_same_v<Held, std::vector<double>>) {
                auto list = nlohmann::ordered_json::array();
                for (const double one : held) list.push_back(rounded(one));
                return list;
            } else {
                return held;
            }
        },
        value);
}

}  // namespace

void Figures::add(std::string name, FigureValue value) {
    figures_.push_back({std::move(name), std::move(value)});
}

const FigureValue* Figures::find(std::string_view name) const {
    const auto found = std::find_if(figures_.begin(), figures_.end(),
                                    [&](const Figure& figure) { return figure.name == name; });
    return found == figures_.end() ? nullptr : &found->value;
}

double Figures::number(std::string_view name) const {
    const FigureValue* value = find(name);
    if (value == nullptr) return std::numeric_limits<double>::quiet_NaN();
    if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(value)) return *real;
    return std::numeric_limits<double>::quiet_NaN();
}

std::string Figures::as_json() const {
    nlohmann::ordered_json object;
    for (const Figure& figure : figures_) object[figure.name] = to_json(figure.value);
    return object.dump() + "\n";
}

std::string Figures::as_table() const {
    std::size_t width = 0;
    for (const Figure& figure : figures_) width = std::max(width, figure.name.size());
    std::string text;
    for (const Figure& figure : figures_) {
        const auto* word = std::get_if<std::string>(&figure.value);
        text += figure.name + std::string(width + 2 - figure.name.size(), ' ') +
                (word != nullptr ? *word : to_json(figure.value).dump()) + "\n";
    }
    return text;
}

}  // namespace gpuctl::replay
