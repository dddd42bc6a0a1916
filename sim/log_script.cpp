#include "sim/log_script.hpp"

#include <algorithm>

#include "sim/draw.hpp"

namespace gpuctl::sim {

namespace {

constexpr std::int64_t kRedrawsMax = 10'000;  // one line holds all redraws

// Words that vary by the number of the line. They need no random stream that would have to be read
// from line 0.
std::uint64_t noise(std::uint64_t seed, std::int64_t number, std::uint64_t below) {
    return mix64(seed ^ mix64(static_cast<std::uint64_t>(number) + 1)) % below;
}

std::string thousandths(std::int64_t value) {
    const std::string digits = std::to_string(value % 1'000);
    return std::to_string(value / 1'000) + "." + std::string(3 - digits.size(), '0') + digits;
}

std::string padded(std::int64_t value, std::size_t width) {
    const std::string digits = std::to_string(value);
    return std::string(width - std::min(width, digits.size()), '0') + digits;
}

std::string words_of(const JobSpec& spec) {
    std::string words;
    for (const auto* list : {&spec.command, &spec.args}) {
        for (const std::string& word : *list) words += (words.empty() ? "" : " ") + word;
    }
    if (words.empty()) return "the image's own command";
    for (char& c : words) {
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';  // no line breaks within a line
    }
    return words.substr(0, 500);
}

// The range of an elastic job, as in k8s/workload/workload_environment.cpp.
std::string ranks_of(const JobSpec& spec) {
    const std::string most = std::to_string(spec.replicas_max);
    return spec.replicas_min == spec.replicas_max ? most
                                                  : std::to_string(spec.replicas_min) + ":" + most;
}

}  // namespace

std::string format_timestamp(Instant at, std::int64_t extra_nanoseconds) {
    // Converts days to a civil date as in Howard Hinnant's chrono-Compatible Low-Level Date
    // Algorithms.
    const std::int64_t ms = std::max<std::int64_t>(at.ms(), 0);
    const std::int64_t days = ms / 86'400'000 + 719'468;
    const std::int64_t era = days / 146'097;
    const std::int64_t day_of_era = days - era * 146'097;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const std::int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
    const std::int64_t day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    const std::int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    const std::int64_t second = ms / 1'000 % 86'400;
    return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T" +
           padded(second / 3'600, 2) + ":" + padded(second / 60 % 60, 2) + ":" +
           padded(second % 60, 2) + "." + padded(ms % 1'000 * 1'000'000 + extra_nanoseconds, 9) +
           "Z";
}

LogScript::LogScript(const PodFacts& pod, const JobSpec& spec, const Settings& settings,
                     Instant ended_at)
    : kind_(spec.kind), started_at_(pod.started_at), finished_at_(ended_at) {
    const Steering steering = steering_of(spec, settings);
    interval_ = steering.log_interval;
    burst_ = steering.log_burst;
    gpus_ = whole_gpus_floor(gpus_total(pod.request));
    seed_ = hash64(pod.uid, settings.seed + static_cast<std::uint64_t>(pod.restarts));
    const std::int64_t bar_ms = steering.progress_bar.ms();
    bar_interval_ = std::max(interval_, Duration{(bar_ms + kRedrawsMax - 1) / kRedrawsMax});
    redraws_ = (bar_ms + bar_interval_.ms() - 1) / bar_interval_.ms();
    if (steering.run_time)
        steps_ = std::max<std::int64_t>(1, steering.run_time->ms() / interval_.ms() * burst_);
    preface_.push_back("starting " + words_of(spec) + " (image " + spec.image + ") on node " +
                       pod.node + " with " + std::to_string(gpus_) + " GPUs");
    if (pod.rank >= 0) {
        preface_.push_back("rank " + std::to_string(pod.rank) + " of " +
                           std::to_string(spec.replicas_max) + ": NNODES=" + ranks_of(spec) +
                           " MASTER_PORT=29500");
    }
    for (const std::string& complaint : steering.complaints) preface_.push_back(complaint);
    if (ended()) farewell_ = pod.phase == PodPhase::succeeded ? "done" : "ended: " + pod.status;
}

std::int64_t LogScript::bar_line() const {
    return redraws_ > 0 ? static_cast<std::int64_t>(preface_.size()) : -1;
}

Instant LogScript::bar_end() const {
    const Instant end = started_at_ + bar_interval_ * redraws_;
    return ended() ? std::min(end, finished_at_) : end;
}

std::int64_t LogScript::last_tick() const {
    return (finished_at_ - bar_end()).ms() / interval_.ms();
}

// Line numbers: 0 to preface-1 at the start, then the progress bar if there is one, then `burst`
// lines at each of the ticks 1, 2, ..., and the farewell last.
Instant LogScript::time_of(std::int64_t number) const {
    const auto preface = static_cast<std::int64_t>(preface_.size());
    if (number < preface) return started_at_;
    if (number == bar_line()) return bar_end();
    const std::int64_t tick = (number - lines_before_ticks()) / burst_ + 1;
    if (ended() && tick > last_tick()) return finished_at_;
    return bar_end() + interval_ * tick;
}

std::int64_t LogScript::lines_before_ticks() const {
    return static_cast<std::int64_t>(preface_.size()) + (redraws_ > 0 ? 1 : 0);
}

std::int64_t LogScript::lines_until(Instant at) const {
    if (at < started_at_) return 0;
    const Instant until = ended() ? std::min(at, finished_at_) : at;
    if (until < bar_end()) return static_cast<std::int64_t>(preface_.size());
    const std::int64_t lines =
        lines_before_ticks() + (until - bar_end()).ms() / interval_.ms() * burst_;
    const bool said_farewell = !farewell_.empty() && ended() && at >= finished_at_;
    return lines + (said_farewell ? 1 : 0);
}

std::int64_t LogScript::pieces_of(std::int64_t line) const {
    if (line != bar_line()) return 0;
    return std::min(redraws_, (bar_end() - started_at_).ms() / bar_interval_.ms());
}

std::int64_t LogScript::pieces_until(Instant at) const {
    if (redraws_ == 0 || at < started_at_ || at >= bar_end()) return 0;
    return (at - started_at_).ms() / bar_interval_.ms();
}

Instant LogScript::time_of_piece(std::int64_t number) const {
    return std::min(started_at_ + bar_interval_ * (number + 1), bar_end());
}

// For example " 42%|########            | 126/300" after a carriage return, as programs write that
// count.
std::string LogScript::piece(std::int64_t number) const {
    constexpr std::int64_t width = 20;
    const std::int64_t done = number + 1;
    const std::int64_t percent = done * 100 / redraws_;
    const std::string digits = std::to_string(percent);
    const auto filled = static_cast<std::size_t>(done * width / redraws_);
    const std::string bar =
        std::string(filled, '#') + std::string(static_cast<std::size_t>(width) - filled, ' ');
    const std::string drawn = std::string(3 - digits.size(), ' ') + digits + "%|" + bar + "| " +
                              std::to_string(done) + "/" + std::to_string(redraws_);
    if (number > 0) return "\r" + drawn;
    return format_timestamp(time_of_piece(0), 0) + " " + drawn;
}

std::string LogScript::line(std::int64_t number) const {
    if (number == bar_line()) {
        std::string whole;
        for (std::int64_t i = 0; i < pieces_of(number); ++i) whole += piece(i);
        if (whole.empty())
            whole = format_timestamp(bar_end(), 0) + " ";  // it ended before the first redraw
        return whole + "\n";
    }
    const auto preface = static_cast<std::int64_t>(preface_.size());
    // Lines in the same millisecond get distinct timestamps, as from a real clock.
    const std::int64_t extra =
        number < preface ? number : (number - lines_before_ticks()) % burst_ + preface;
    return format_timestamp(time_of(number), extra * 1'000 % 1'000'000) + " " + text(number) + "\n";
}

std::string LogScript::text(std::int64_t number) const {
    const auto preface = static_cast<std::int64_t>(preface_.size());
    if (number < preface) return preface_[static_cast<std::size_t>(number)];
    const std::int64_t before = lines_before_ticks();
    if (!farewell_.empty() && number == before + last_tick() * burst_) return farewell_;
    const std::int64_t step = number - before + 1;
    return kind_ == JobKind::training ? training_line(step) : service_line(step);
}

std::string LogScript::training_line(std::int64_t step) const {
    const std::int64_t jitter = static_cast<std::int64_t>(noise(seed_, step, 80));
    const std::int64_t loss = 420 + 10'500 * 50 / (50 + step) + jitter;
    const std::int64_t tokens = std::max<std::int64_t>(gpus_, 1) *
                                (3'100 + static_cast<std::int64_t>(noise(seed_ + 1, step, 240)));
    return "step " + std::to_string(step) + "/" + std::to_string(std::max(steps_, step)) +
           " loss " + thousandths(loss) + " " + std::to_string(tokens) + " tokens/s";
}

std::string LogScript::service_line(std::int64_t number) const {
    const std::uint64_t milliseconds = 3 + noise(seed_, number, 60);
    if (kind_ == JobKind::notebook) {
        return "kernel idle, memory " + std::to_string(400 + noise(seed_ + 1, number, 300)) +
               " MiB, heartbeat " + std::to_string(number);
    }
    return "request " + std::to_string(number) + " POST " +
           (kind_ == JobKind::inference ? "/v1/completions" : "/run") + " 200 " +
           std::to_string(milliseconds) + " ms";
}

}  // namespace gpuctl::sim
