// Reading files of another build: layouts as text, and values converted between layouts.

#include <gtest/gtest.h>

#include "scheduler/base/archive_conversion.hpp"
#include "scheduler/base/rng.hpp"

namespace gpuctl {
namespace {

enum class Colour : std::uint8_t { red, green, blue };
BOOST_DESCRIBE_ENUM(Colour, red, green, blue)
enum class ColourLater : std::uint8_t { green, violet, red, blue };
BOOST_DESCRIBE_ENUM(ColourLater, green, violet, red, blue)
enum class ColourFewer : std::uint8_t { red, green };
BOOST_DESCRIBE_ENUM(ColourFewer, red, green)
enum class Number : std::uint64_t {};

struct Part {
    std::string name;
    std::int32_t size = 0;
};
BOOST_DESCRIBE_STRUCT(Part, (), (name, size))
struct Whole {
    std::uint32_t count = 0;
    std::int64_t amount = 0;
    bool is_set = false;
    Colour colour = Colour::red;
    std::vector<Part> parts;
    std::map<std::string, Part> by_name;
    std::array<std::int64_t, 3> three{};
    std::optional<Part> maybe;
    std::pair<std::string, Number> pair;
    std::variant<Part, std::string> either;
    std::string gone;
    Part later;
};
BOOST_DESCRIBE_STRUCT(Whole, (),
                      (count, amount, is_set, colour, parts, by_name, three, maybe, pair, either,
                       gone, later))

// The same struct some versions later: another order, members and enumerators added and removed.
struct PartLater {
    std::int64_t weight = 7;
    std::optional<std::int32_t> size;
    std::string name;
};
BOOST_DESCRIBE_STRUCT(PartLater, (), (weight, size, name))
struct WholeLater {
    std::vector<std::string> tags = {"new"};
    PartLater later;
    std::variant<PartLater, std::string, bool> either;
    std::pair<std::string, Number> pair;
    std::optional<PartLater> maybe;
    std::array<std::int64_t, 3> three{};
    std::map<std::string, PartLater> by_name;
    std::vector<PartLater> parts;
    ColourLater colour = ColourLater::violet;
    bool is_set = false;
    std::uint64_t amount = 0;
    std::int64_t count = 0;
};
BOOST_DESCRIBE_STRUCT(WholeLater, (),
                      (tags, later, either, pair, maybe, three, by_name, parts, colour, is_set,
                       amount, count))

Whole a_whole() {
    Whole whole;
    whole.count = 4'000'000'000;
    whole.amount = 12;
    whole.is_set = true;
    whole.colour = Colour::blue;
    whole.parts = {{"a", 1}, {"b", -2}};
    whole.by_name = {{"k", {"c", 3}}};
    whole.three = {1, -2, 3};
    whole.maybe = Part{"d", 4};
    whole.pair = {"p", Number{5}};
    whole.either = std::string{"text"};
    whole.gone = "dropped";
    whole.later = {"e", 6};
    return whole;
}

template <typename Wanted, typename Written>
std::optional<Wanted> converted(const Written& value) {
    const auto conversion = Conversion::between(layout_of<Written>(), layout_of<Wanted>());
    if (!conversion) return std::nullopt;
    std::string bytes;
    Wanted wanted;
    if (!conversion->run(to_archive(value), bytes) || !from_archive(bytes, wanted)) {
        return std::nullopt;
    }
    return wanted;
}

TEST(ArchiveLayout, is_the_same_after_a_round_trip_through_its_text) {
    const Layout layout = layout_of<Whole>();
    const std::string text = to_text(layout);
    EXPECT_NE(text.find("colour:e(red,green,blue,);"), std::string::npos) << text;
    const std::optional<Layout> parsed = parse_layout(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_TRUE(*parsed == layout);
    EXPECT_EQ(to_text(*parsed), text);
}

TEST(ArchiveLayout, any_text_gives_a_layout_or_nothing) {
    for (const char* bad : {"",    "x",      "<",  "<a",   "<a:>", "<a:s>",
                            "[s",  "{s}",    "{s", "#0:s", "#:s",  "#9999999999:s",
                            "|0:", "|2:s",   "&s", "?",    "e(",   "e(a",
                            "ss",  "<a:s;>b"}) {
        EXPECT_FALSE(parse_layout(bad).has_value()) << bad;
    }
    EXPECT_FALSE(parse_layout(std::string(10'000, '[')).has_value());
    // Every prefix, and every letter at every position: no crash, and what parses prints unchanged.
    const std::string text = to_text(layout_of<Whole>());
    for (std::size_t at = 0; at < text.size(); ++at) {
        EXPECT_FALSE(parse_layout(text.substr(0, at)).has_value()) << at;
        for (const char letter : {'b', 's', '<', ';', '[', '#', '|', ','}) {
            std::string changed = text;
            changed[at] = letter;
            const auto parsed = parse_layout(changed);
            if (!parsed) continue;
            EXPECT_EQ(to_text(*parsed), changed);
        }
    }
}

TEST(ArchiveConversion, members_are_found_by_name_and_new_ones_have_their_defaults) {
    const std::optional<WholeLater> later = converted<WholeLater>(a_whole());
    ASSERT_TRUE(later.has_value());
    EXPECT_EQ(later->count, 4'000'000'000);
    EXPECT_EQ(later->amount, 12u);
    EXPECT_TRUE(later->is_set);
    EXPECT_EQ(later->colour, ColourLater::blue);
    ASSERT_EQ(later->parts.size(), 2u);
    EXPECT_EQ(later->parts[1].name, "b");
    EXPECT_EQ(later->parts[1].size, -2);
    EXPECT_EQ(later->parts[1].weight, 7);
    EXPECT_EQ(later->by_name.at("k").name, "c");
    EXPECT_EQ(later->three[1], -2);
    ASSERT_TRUE(later->maybe.has_value());
    EXPECT_EQ(later->maybe->size, 4);
    EXPECT_EQ(later->pair.first, "p");
    EXPECT_EQ(later->pair.second, Number{5});
    EXPECT_EQ(std::get<std::string>(later->either), "text");
    EXPECT_EQ(later->later.name, "e");
    EXPECT_EQ(later->tags, std::vector<std::string>{"new"});
}

TEST(ArchiveConversion, a_value_comes_back_but_for_what_the_other_layout_lacks) {
    const Whole whole = a_whole();
    const std::optional<WholeLater> later = converted<WholeLater>(whole);
    ASSERT_TRUE(later.has_value());
    // size became optional, and that cannot be reversed.
    EXPECT_FALSE(converted<Whole>(*later).has_value());
    const auto same = converted<Whole>(whole);
    ASSERT_TRUE(same.has_value());
    EXPECT_EQ(to_archive(*same), to_archive(whole));
    EXPECT_TRUE(Conversion::between(layout_of<Whole>(), layout_of<Whole>())->is_identity());
    EXPECT_FALSE(Conversion::between(layout_of<Whole>(), layout_of<WholeLater>())->is_identity());
}

TEST(ArchiveConversion, an_enumerator_that_no_longer_exists_is_refused_where_it_occurs) {
    EXPECT_EQ(converted<ColourFewer>(Colour::green), ColourFewer::green);
    EXPECT_EQ(converted<ColourFewer>(Colour::blue), std::nullopt);
    EXPECT_EQ(converted<ColourLater>(Colour::red), ColourLater::red);
}

TEST(ArchiveConversion, a_number_out_of_the_range_of_the_new_type_is_refused) {
    EXPECT_EQ(converted<std::uint32_t>(std::int64_t{7}), 7u);
    EXPECT_EQ(converted<std::uint32_t>(std::int64_t{-7}), std::nullopt);
    EXPECT_EQ(converted<std::int32_t>(std::uint64_t{1} << 40), std::nullopt);
    EXPECT_EQ(converted<std::int64_t>(~std::uint64_t{0}), std::nullopt);
}

struct BadInner {
    std::string name;
    std::string size;
};
BOOST_DESCRIBE_STRUCT(BadInner, (), (name, size))
struct BadOuter {
    std::vector<BadInner> parts;
};
BOOST_DESCRIBE_STRUCT(BadOuter, (), (parts))

TEST(ArchiveConversion, what_cannot_be_read_is_named) {
    const auto refused = Conversion::between(layout_of<Whole>(), layout_of<BadOuter>());
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("parts.size"), std::string::npos)
        << refused.error().message;
    EXPECT_NE(refused.error().message.find("was a number and is a string now"), std::string::npos)
        << refused.error().message;
    const auto fewer = Conversion::between(layout_of<std::variant<bool, std::string>>(),
                                           layout_of<std::variant<bool>>());
    EXPECT_FALSE(fewer.has_value());
}

struct Sentence {
    std::string why;
};
BOOST_DESCRIBE_STRUCT(Sentence, (), (why))
struct SentenceLater {
    std::optional<std::variant<Part, std::string>> why;
};
BOOST_DESCRIBE_STRUCT(SentenceLater, (), (why))
struct NumberLater {
    std::variant<Part, bool> why;
};
BOOST_DESCRIBE_STRUCT(NumberLater, (), (why))

TEST(ArchiveConversion, what_became_a_variant_is_its_alternative_of_that_layout) {
    const auto later = converted<SentenceLater>(Sentence{"no room"});
    ASSERT_TRUE(later.has_value());
    ASSERT_TRUE(later->why.has_value());
    EXPECT_EQ(std::get<std::string>(*later->why), "no room");
    const auto none = Conversion::between(layout_of<Sentence>(), layout_of<NumberLater>());
    ASSERT_FALSE(none.has_value());
    EXPECT_NE(none.error().message.find("read member why: it was a string"), std::string::npos)
        << none.error().message;
}

TEST(ArchiveConversion, any_bytes_give_a_value_or_a_refusal) {
    const auto conversion = Conversion::between(layout_of<Whole>(), layout_of<WholeLater>());
    ASSERT_TRUE(conversion.has_value());
    const std::string good = to_archive(a_whole());
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        std::string out;
        EXPECT_FALSE(conversion->run(good.substr(0, cut), out)) << cut;
    }
    std::string out;
    EXPECT_FALSE(conversion->run(good + '\0', out));
    Rng rng{7};
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes = good;
        for (int changes = 0; changes < 3; ++changes) {
            bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
        }
        out.clear();
        WholeLater later;
        if (conversion->run(bytes, out)) (void)from_archive(out, later);
        EXPECT_LT(out.size(), 100'000u);
    }
}

}  // namespace
}  // namespace gpuctl
