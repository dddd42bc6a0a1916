#include "wire/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/time.hpp"

namespace gpuctl::wire {
namespace {

std::string dumped(const nlohmann::json& value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TEST(JsonText, equals_the_output_of_dump) {
    for (const std::string& text :
         {std::string{}, std::string{"plain"}, std::string{"a \"b\" \\ c"}, std::string{"\n\t\x01"},
          std::string{"Käse"}, std::string{"\xff"}, std::string{"\x7f"}}) {
        std::string out;
        append_json(text, out);
        EXPECT_EQ(out, dumped(text));
    }
    for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-7}, INT64_MAX, INT64_MIN}) {
        std::string out;
        append_json(number, out);
        EXPECT_EQ(out, dumped(number));
    }
    for (const std::int64_t amount :
         {0, 1, 10, 100, 250, 333, 500, 999, 1'000, 1'500, -250, -1'001}) {
        std::string out;
        append_json_thousandths(amount, out);
        const nlohmann::json same = amount % 1000 == 0
                                        ? nlohmann::json(amount / 1000)
                                        : nlohmann::json(static_cast<double>(amount) / 1000);
        EXPECT_EQ(out, dumped(same));
    }
    for (const std::int64_t ms :
         {std::int64_t{0}, std::int64_t{1'000}, std::int64_t{951'782'399'999},
          std::int64_t{1'735'689'600'000}, std::int64_t{4'102'444'800'123}}) {
        std::string out;
        append_json(Instant{ms}, out);
        EXPECT_EQ(out, dumped(text::format_time(Instant{ms})));
    }
}

TEST(JsonText, an_object_has_its_members_in_order) {
    std::string out;
    JsonObject object{out};
    object.text("a", "x").number("b", 2).null("c").flag("d", true).gpus("e", GpuMilli{1'500});
    object.begin("f") += "[]";
    object.end();
    EXPECT_EQ(out, R"({"a":"x","b":2,"c":null,"d":true,"e":1.5,"f":[]})");
}

}  // namespace
}  // namespace gpuctl::wire
