#include "sim/steering.hpp"

#include <charconv>

#include "text/duration.hpp"

namespace gpuctl::sim {

namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string invalid_value(const EnvironmentVariable& variable, std::string_view wanted) {
    return variable.name + "=" + variable.value + " is ignored: it must be " + std::string(wanted);
}

void apply_variable(const EnvironmentVariable& variable, Steering& steering) {
    if (variable.name == "GPUCTL_SIM_RUN_TIME") {
        steering.run_time = text::parse_duration(variable.value);
        if (!steering.run_time) {
            steering.complaints.push_back(invalid_value(variable, "a duration such as 20s"));
        }
    } else if (variable.name == "GPUCTL_SIM_IMAGE_PULL") {
        steering.image_pull = text::parse_duration(variable.value);
        if (!steering.image_pull) {
            steering.complaints.push_back(invalid_value(variable, "a duration such as 2s"));
        }
    } else if (variable.name == "GPUCTL_SIM_OUTCOME") {
        if (variable.value == "succeed") {
            steering.outcome = Outcome::succeed;
        } else if (variable.value == "fail") {
            steering.outcome = Outcome::fail;
        } else if (variable.value == "crashloop") {
            steering.outcome = Outcome::crashloop;
        } else if (variable.value == "image-pull") {
            steering.outcome = Outcome::image_pull;
        } else {
            steering.complaints.push_back(
                invalid_value(variable, "succeed, fail, crashloop or image-pull"));
        }
    } else if (variable.name == "GPUCTL_SIM_LOG_INTERVAL") {
        const auto interval = text::parse_duration(variable.value);
        if (interval && interval->ms() >= 1 && interval->ms() <= 3'600'000) {
            steering.log_interval = *interval;
        } else {
            steering.complaints.push_back(invalid_value(variable, "from 1ms to 1h"));
        }
    } else if (variable.name == "GPUCTL_SIM_PROGRESS_BAR") {
        const auto length = text::parse_duration(variable.value);
        if (length && length->ms() > 0) {
            steering.progress_bar = *length;
        } else {
            steering.complaints.push_back(invalid_value(variable, "a duration such as 30s"));
        }
    } else if (variable.name == "GPUCTL_SIM_LOG_BURST") {
        const auto burst = parse_integer(variable.value);
        if (burst && *burst >= 1 && *burst <= 1'000) {
            steering.log_burst = *burst;
        } else {
            steering.complaints.push_back(invalid_value(variable, "from 1 to 1000"));
        }
    }
}

void apply_command(const JobSpec& spec, Steering& steering) {
    std::vector<std::string> words = spec.command;
    words.insert(words.end(), spec.args.begin(), spec.args.end());
    if (words.empty()) return;
    if (words[0] == "true" || words[0] == "false") {
        steering.run_time = Duration{0};
        if (words[0] == "false") steering.outcome = Outcome::fail;
    } else if (words[0] == "sleep" && words.size() == 2) {
        const auto with_unit = text::parse_duration(words[1]);
        steering.run_time = with_unit ? with_unit : text::parse_duration(words[1] + "s");
    }
}

}  // namespace

Steering steering_of(const JobSpec& spec, const Settings& settings) {
    Steering steering;
    steering.log_interval = settings.log_interval;
    apply_command(spec, steering);
    for (const EnvironmentVariable& variable : spec.environment) {
        const auto run_time_before = steering.run_time;
        apply_variable(variable, steering);
        if (!steering.run_time) steering.run_time = run_time_before;
    }
    if (!steering.run_time && spec.kind == JobKind::training) {
        steering.run_time = spec.run_time_expected > Duration{0} ? spec.run_time_expected
                                                                 : settings.training_run_time;
    }
    if (!steering.run_time && steering.outcome == Outcome::fail) {
        steering.run_time = settings.training_run_time;
    }
    if (steering.outcome == Outcome::crashloop) steering.run_time = Duration{1'000};
    return steering;
}

}  // namespace gpuctl::sim
