#include "wire/selector.hpp"

#include <gtest/gtest.h>

#include <map>

namespace gpuctl::wire {
namespace {

bool selects(const std::string& text, const std::map<std::string, std::string>& labels) {
    const Result<Selector> selector = Selector::parse(text);
    EXPECT_TRUE(selector) << text << ": " << (selector ? "" : selector.error().message);
    return selector && selector->matches_map(labels);
}

TEST(Selector, means_what_it_means_in_kubernetes) {
    const std::map<std::string, std::string> labels{{"app", "web"}, {"x.y/gpu-type", "H100"}};
    for (const char* text :
         {"", "app", "app=web", "app==web", "tier!=db", "!tier", "x.y/gpu-type in (A100, H100)",
          "tier notin (a)", " app = web , x.y/gpu-type = H100 ", "app!=db"}) {
        EXPECT_TRUE(selects(text, labels)) << text;
    }
    for (const char* text : {"tier", "app=db", "app!=web", "!app", "app in (db)", "app notin (web)",
                             "app=web,tier=x", "tier in (a)"}) {
        EXPECT_FALSE(selects(text, labels)) << text;
    }
}

TEST(Selector, reads_labels_as_rest_has_them) {
    const Result<Selector> selector = Selector::parse("a=b");
    ASSERT_TRUE(selector);
    EXPECT_TRUE(selector->matches({{"a", "b"}}));
    EXPECT_TRUE(selector->matches(nlohmann::json::parse(R"([{"key":"a","value":"b"}])")));
    EXPECT_FALSE(selector->matches(nlohmann::json{}));
}

TEST(Selector, mistakes_are_refused_with_what_is_missing) {
    for (const auto& [text, says] : {std::pair{"a=b,", "after the last comma"},
                                     {"=b", "a label is missing"},
                                     {"a in b", "( is missing after in"},
                                     {"a in (b", ") is missing"},
                                     {"a in ()", "a value is missing"},
                                     {"a like b", "\"like\" is no comparison"},
                                     {"a=b c=d", "a comma is missing"}}) {
        const Result<Selector> selector = Selector::parse(text);
        ASSERT_FALSE(selector) << text;
        EXPECT_EQ(selector.error().code, ErrorCode::BadRequest);
        EXPECT_NE(selector.error().message.find(says), std::string::npos)
            << selector.error().message;
    }
}

}  // namespace
}  // namespace gpuctl::wire
