#pragma once
// The log, on standard output: one event per line, a constant message with the variable parts as
// fields, so that lines can be searched for and fields counted.
//   text   2026-11-21T18:36:44.123Z info job placed job=default/llm pods=2
//   json
//   {"ts":1795286204123.0,"level":"info","v":0,"logger":"gpuctld","caller":"dispatcher.cpp:38",
//           "msg":"job placed","job":{"name":"llm","namespace":"default"},"pods":2}
// The JSON keys are those of Kubernetes' own components (`ts` is milliseconds since 1970, `err` is
// the error); `level` is added, since `v` does not distinguish a warning from information.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <variant>

#include "scheduler/model/pod.hpp"

namespace gpuctl::log {

using Value = std::variant<std::string, std::int64_t, bool, ObjectKey>;

struct Field {
    std::string_view name;
    Value value;

    Field(std::string_view field, std::string text) : name(field), value(std::move(text)) {}
    Field(std::string_view field, std::string_view text) : name(field), value(std::string{text}) {}
    Field(std::string_view field, const char* text) : name(field), value(std::string{text}) {}
    Field(std::string_view field, bool yes) : name(field), value(yes) {}
    Field(std::string_view field, ObjectKey object) : name(field), value(std::move(object)) {}
    template <std::integral Number>
    Field(std::string_view field, Number number)
        : name(field), value(static_cast<std::int64_t>(number)) {}
};
using Fields = std::initializer_list<Field>;
using Where = std::source_location;

// Sets the form ("json" or text) and the level ("debug", "info", "warn", "error") of later lines.
void set_up(const std::string& format, const std::string& level);
void set_level(const std::string& level);

void info(std::string_view message, Fields fields = {}, Where where = Where::current());
void warn(std::string_view message, Fields fields = {}, Where where = Where::current());
void error(std::string_view message, Fields fields = {}, Where where = Where::current());

// A line without time and level, in each form.
[[nodiscard]] std::string render_text(std::string_view message, Fields fields);
[[nodiscard]] std::string render_json(std::string_view message, Fields fields, const Where& where);

}  // namespace gpuctl::log
