#include "k8s/json/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace gpuctl::k8s {
namespace {

TEST(JsonText, members_are_found_without_being_fooled_by_their_contents) {
    const std::string text =
        R"({"a":"}\",\"b\":1","nested":{"b":2,"x":[{"b":3}]}, "b" : [1,{"c":"]"}] ,"d":null})";
    EXPECT_EQ(json_member(text, "b"), R"([1,{"c":"]"}])");
    EXPECT_EQ(json_member(text, "d"), "null");
    EXPECT_EQ(json_member(text, "c"), std::nullopt);
    EXPECT_EQ(json_string_member(text, "a"), "}\",\"b\":1");
    EXPECT_EQ(json_string_member(text, "nested"), std::nullopt);
}

TEST(JsonText, every_cut_of_an_object_is_answered_without_reading_past_it) {
    const std::string text =
        R"({"kind":"Pod","metadata":{"name":"a\u00e9\"","namespace":"n","uid":"u","resourceVersion":"12"},"s":[1,2]})";
    for (std::size_t length = 0; length < text.size(); ++length) {
        const std::string cut = text.substr(0, length);  // its own heap block: ASan sees overreads
        (void)json_member(cut, "s");
        (void)identity_of(cut);
        EXPECT_EQ(json_value_end(cut, 0), std::string::npos) << length;
    }
    EXPECT_EQ(json_value_end(text, 0), text.size());
}

TEST(JsonText, strings_decode_as_the_json_library_decodes_them) {
    for (const char* raw :
         {R"("plain")", R"("\n\t\"\\\/\b\f\r")", R"("\u0041\u00e9\u20ac\ud83d\ude00")", R"("")"}) {
        EXPECT_EQ(json_unquote(raw), nlohmann::json::parse(raw).get<std::string>()) << raw;
    }
    for (const char* raw : {"plain", "\"", R"("\x")", R"("\u12")", R"("\")"}) {
        EXPECT_EQ(json_unquote(raw), std::nullopt) << raw;
    }
    EXPECT_EQ(json_unquote(R"("\ud800!")"), "\xef\xbf\xbd!");  // a lone surrogate
}

TEST(JsonText, quoting_gives_what_the_json_library_reads_back) {
    std::string every_byte;
    for (int c = 0; c < 128; ++c) every_byte.push_back(static_cast<char>(c));
    std::string quoted;
    append_json_string(quoted, every_byte);
    EXPECT_EQ(nlohmann::json::parse(quoted).get<std::string>(), every_byte);
}

TEST(JsonText, identity_is_found_in_either_order_of_members) {
    const auto typed = identity_of(
        R"({"kind":"Pod","metadata":{"name":"p","namespace":"n","uid":"u","resourceVersion":"5","managedFields":[]},"spec":{}})");
    ASSERT_TRUE(typed);
    EXPECT_EQ(typed->name, "p");
    EXPECT_EQ(typed->resource_version, "5");
    const auto custom = identity_of(
        R"({"apiVersion":"x/v1","kind":"G","metadata":{"labels":{"name":"no"},"name":"g","resourceVersion":"6","uid":"w","namespace":"m"}})");
    ASSERT_TRUE(custom);
    EXPECT_EQ(custom->name, "g");
    EXPECT_EQ(custom->namespace_name, "m");
    const auto node =
        identity_of(R"({"metadata":{"name":"node","uid":"u","resourceVersion":"7"}})");
    ASSERT_TRUE(node);
    EXPECT_EQ(node->namespace_name, "");
    EXPECT_FALSE(identity_of(R"({"metadata":{"name":7}})"));
    EXPECT_FALSE(identity_of(R"({"spec":{}})"));
}

TEST(JsonText, random_bytes_never_lead_it_astray) {
    std::mt19937 random{7};
    constexpr std::string_view alphabet = "{}[]\",:\\ua1 \n";
    for (int round = 0; round < 20'000; ++round) {
        std::string text = "{\"metadata\":";
        const int length = static_cast<int>(random() % 40);
        for (int i = 0; i < length; ++i) text.push_back(alphabet[random() % alphabet.size()]);
        const std::string exact{text};
        (void)identity_of(exact);
        if (const auto value = json_member(exact, "metadata")) {
            EXPECT_LE(value->size(), exact.size());
            (void)json_unquote(*value);
        }
    }
}

}  // namespace
}  // namespace gpuctl::k8s
