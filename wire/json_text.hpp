#pragma once
// JSON written as text, member by member, for answers of which many are made: no tree in between.
// What it writes is what nlohmann's dump() writes for the same values, invalid UTF-8 replaced.

#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/base/time.hpp"
#include "scheduler/base/units.hpp"

namespace gpuctl::wire {

// In quotes, with what has to be escaped escaped.
void append_json(std::string_view text, std::string& out);
void append_json(std::int64_t number, std::string& out);
// In whole GPUs, as a number without superfluous digits.
void append_json_thousandths(std::int64_t thousandths, std::string& out);
// RFC 3339 to the second, in UTC and in quotes; "" when unset.
void append_json(Instant time, std::string& out);

// Appends one object. Names of members are plain ASCII.
class JsonObject {
public:
    explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }

    JsonObject& text(std::string_view name, std::string_view value) {
        append_json(value, begin(name));
        return *this;
    }
    JsonObject& number(std::string_view name, std::int64_t value) {
        append_json(value, begin(name));
        return *this;
    }
    JsonObject& gpus(std::string_view name, GpuMilli value) {
        static_assert(kGpuMilliPerGpu == 1000);
        append_json_thousandths(value.value(), begin(name));
        return *this;
    }
    JsonObject& time(std::string_view name, Instant value) {
        append_json(value, begin(name));
        return *this;
    }
    // Null when unset.
    JsonObject& time_or_null(std::string_view name, Instant value) {
        return value.happened() ? time(name, value) : null(name);
    }
    JsonObject& flag(std::string_view name, bool value) {
        begin(name) += value ? "true" : "false";
        return *this;
    }
    JsonObject& null(std::string_view name) {
        begin(name) += "null";
        return *this;
    }
    // A member whose value the caller appends.
    std::string& begin(std::string_view name) {
        if (!is_first_) out_ += ',';
        is_first_ = false;
        out_ += '"';
        out_ += name;
        out_ += "\":";
        return out_;
    }
    void end() { out_ += '}'; }

private:
    std::string& out_;
    bool is_first_ = true;
};

}  // namespace gpuctl::wire
