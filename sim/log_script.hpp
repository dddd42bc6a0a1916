#pragma once
// The log of a virtual container: every line is a function of the pod, its job and the line number,
// so any window of the log can be read at any time without storing it.
//
// A progress bar is one line written in pieces: while it is drawn, the next line is incomplete.

#include <cstdint>
#include <string>

#include "scheduler/model/job/job_spec.hpp"
#include "scheduler/model/pod.hpp"
#include "sim/steering.hpp"

namespace gpuctl::sim {

class LogScript {
public:
    // `pod` must have started_at. `ended_at`: when this container exited; never while it runs.
    LogScript(const PodFacts& pod, const JobSpec& spec, const Settings& settings, Instant ended_at);

    // Number of lines written before or at `at`. No line is written after the container's end.
    [[nodiscard]] std::int64_t lines_until(Instant at) const;
    // The text of a line, "2026-01-02T03:04:05.006000000Z text\n", for any number from 0.
    [[nodiscard]] std::string line(std::int64_t number) const;
    [[nodiscard]] Instant time_of(std::int64_t number) const;
    // The number of pieces of the next line that have been written; 0 unless the line is a progress
    // bar. A line consists of its pieces and a line end; the first piece begins with the time.
    [[nodiscard]] std::int64_t pieces_until(Instant at) const;
    [[nodiscard]] std::string piece(std::int64_t number) const;
    // The time when the next piece is written, or the line end after the last piece.
    [[nodiscard]] Instant time_of_piece(std::int64_t number) const;
    [[nodiscard]] std::int64_t pieces_of(std::int64_t line) const;
    // True if no line follows those of lines_until(Instant max).
    [[nodiscard]] bool ended() const { return finished_at_.happened(); }

private:
    [[nodiscard]] std::string text(std::int64_t number) const;
    [[nodiscard]] std::string training_line(std::int64_t step) const;
    [[nodiscard]] std::string service_line(std::int64_t number) const;
    [[nodiscard]] std::int64_t last_tick() const;
    // the number of the line; -1: there is no progress bar
    [[nodiscard]] std::int64_t bar_line() const;
    [[nodiscard]] Instant bar_end() const;  // the time when the lines after the progress bar begin
    [[nodiscard]] std::int64_t lines_before_ticks() const;

    JobKind kind_;
    std::vector<std::string> preface_;
    std::string farewell_;
    Instant started_at_;
    Instant finished_at_;  // default: it is still running
    Duration interval_;
    std::int64_t burst_;
    std::int64_t steps_ = 0;    // training
    std::int64_t redraws_ = 0;  // of the progress bar; 0: there is none
    Duration bar_interval_;
    std::int64_t gpus_ = 0;
    std::uint64_t seed_;
};

// The time by RFC 3339 in UTC with nanoseconds, as the kubelet writes it.
std::string format_timestamp(Instant at, std::int64_t extra_nanoseconds);

}  // namespace gpuctl::sim
