// The table of spellings that people write, tests/fixtures/gpu_strings.txt, against the parser.

#include <gtest/gtest.h>

#include <iostream>

#include "scheduler/model/gpu/gpu_string.hpp"
#include "unit/wire/support.hpp"

namespace gpuctl::wire {
namespace {

struct Spelling {
    std::string text;
    char kind = '=';       // '!': refused
    std::string expected;  // canonical spelling, or the character
};

std::vector<Spelling> spellings() {
    std::vector<Spelling> all;
    std::istringstream file{read_source("tests/fixtures/gpu_strings.txt")};
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        Spelling one;
        std::size_t at = 1;
        for (; line[at] != '"'; ++at) {
            if (line[at] == '\\') ++at;
            one.text += line[at] == 't' && line[at - 1] == '\\' ? '\t' : line[at];
        }
        one.kind = line.at(at + 2);
        one.expected = line.substr(at + 4);
        all.push_back(std::move(one));
    }
    return all;
}

std::string reading_of(const Spelling& spelling) {
    const auto parsed = parse_gpu_string(spelling.text);
    if (parsed) return "= " + format_gpu_string(*parsed);
    const auto& details = parsed.error().details;
    return "! " + (details.empty() ? "?" : std::to_string(details.front().place.column));
}

TEST(GpuSpellings, more_than_99_of_100_are_read_or_refused_as_the_table_says) {
    const std::vector<Spelling> all = spellings();
    ASSERT_GE(all.size(), 300u);
    std::size_t right = 0;
    for (const Spelling& one : all) {
        const std::string wanted = std::string{one.kind} + " " + one.expected;
        const std::string found = reading_of(one);
        right += found == wanted ? 1 : 0;
        if (found != wanted) {
            std::cout << "  \"" << one.text << "\": " << found << ", expected " << wanted << '\n';
        }
        if (one.kind != '=') continue;
        const auto again = parse_gpu_string(one.expected);
        ASSERT_TRUE(again.has_value()) << one.expected;
        EXPECT_EQ(format_gpu_string(*again), one.expected) << "canonical spellings are stable";
    }
    std::cout << "  " << right << " of " << all.size() << " spellings right ("
              << static_cast<double>(right) * 100 / static_cast<double>(all.size()) << " %)\n";
    EXPECT_GT(right * 100, all.size() * 99);
}

}  // namespace
}  // namespace gpuctl::wire
