#pragma once
// A table in CSV with a header row, read row by row. The first problem is stored with its place and
// ends the reading. So a trace reader is a plain list of fields and checks for errors once.
//
//     CsvReader csv("trace1.csv", text);
//     const auto gpus = csv.column("num_gpu");
//     while (csv.next_row()) use(csv.integer(gpus, 1, 1000));
//     if (csv.error()) return *csv.error();

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/base/result.hpp"
#include "scheduler/base/time.hpp"

namespace gpuctl::replay {

class CsvReader {
public:
    // `text` must outlive the reader.
    CsvReader(std::string file, std::string_view text);

    using Column = std::size_t;
    Column column(std::string_view name);  // an error if the header does not have it exactly once
    // an error if the header has it twice
    [[nodiscard]] std::optional<Column> column_if_any(std::string_view name);
    [[nodiscard]] const std::vector<std::string>& header() const { return header_; }

    // Moves to the next row. False at the end and after the first error. Empty lines are skipped.
    bool next_row();

    [[nodiscard]] const std::string& text(Column column) const;
    [[nodiscard]] bool is_empty(Column column) const { return text(column).empty(); }
    std::int64_t integer(Column column, std::int64_t low, std::int64_t high);
    // Reads "12" or "12.345", rounded to the nearest millisecond; at most kSecondsMax.
    Duration seconds(Column column);

    // Records what is wrong with this field of this row. `what` is the end of a sentence: "is ...".
    void refuse(Column column, const std::string& what);
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

    static constexpr std::int64_t kSecondsMax = 1'000'000'000;  // 31 years; GPU-ms stay in 64 bits

private:
    void split(std::string_view line);
    void refuse_line(const std::string& what, int at_column);
    [[nodiscard]] std::string_view take_line();

    std::string file_;
    std::string_view rest_;
    int line_ = 0;
    std::vector<std::string> header_;
    std::vector<std::string> fields_;
    std::vector<int> starts_;  // column in the line where each field begins, from 1
    std::optional<Error> error_;
};

}  // namespace gpuctl::replay
