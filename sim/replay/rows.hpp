#pragma once
// Common code of the trace readers: one value for each row of a table, and the columns that every
// trace of jobs has under some name.

#include <string_view>
#include <utility>
#include <vector>

#include "sim/replay/csv.hpp"
#include "sim/replay/trace.hpp"

namespace gpuctl::replay {

// Calls fill(row) for each row, in the order of the file; the reader stores the first problem.
template <typename Row, typename Fill>
std::vector<Row> read_rows(CsvReader& csv, Fill fill) {
    std::vector<Row> rows;
    while (csv.next_row()) {
        Row row;
        fill(row);
        rows.push_back(std::move(row));
    }
    return rows;
}

// of one job; GPU-ms of the longest job fit 64 bits
inline constexpr std::int64_t kGpusMax = 100'000;

Duration positive_seconds(CsvReader& csv, CsvReader::Column column);
std::int32_t gpu_count(CsvReader& csv, CsvReader::Column column);

class JobColumns {
public:
    JobColumns(CsvReader& csv, std::string_view id, std::string_view gpus, std::string_view run)
        : id_(csv.column(id)),
          submit_(csv.column("submit_s")),
          gpus_(csv.column(gpus)),
          run_(csv.column(run)) {}
    void read(CsvReader& csv, TraceJob& job) const {
        job.id = csv.text(id_);
        job.submit = csv.seconds(submit_);
        job.gpus = gpu_count(csv, gpus_);
        job.run = positive_seconds(csv, run_);
    }
    [[nodiscard]] CsvReader::Column run() const { return run_; }

private:
    CsvReader::Column id_;
    CsvReader::Column submit_;
    CsvReader::Column gpus_;
    CsvReader::Column run_;
};

}  // namespace gpuctl::replay
