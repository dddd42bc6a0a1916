#include "scheduler/base/compact_uid.hpp"

#include <gtest/gtest.h>

#include <set>

namespace gpuctl {
namespace {

TEST(CompactUid, a_uuid_is_read_back_as_it_was) {
    for (const char* text :
         {"00000000-0000-0000-0000-000000000000", "01234567-89ab-cdef-0123-456789abcdef",
          "ffffffff-ffff-ffff-ffff-ffffffffffff", "8f14e45f-ceea-467f-9575-2c9ff7a3c1d0"}) {
        EXPECT_TRUE(compact_uid(text).is_uuid);
        EXPECT_EQ(text_of(compact_uid(text)), text);
    }
}

TEST(CompactUid, any_other_text_differs_from_all_others_and_is_not_read_back) {
    const std::vector<std::string> texts{"",
                                         "a",
                                         "b",
                                         "uid-of-llm",
                                         "01234567-89AB-cdef-0123-456789abcdef",
                                         "01234567-89ab-cdef-0123-456789abcde",
                                         "01234567x89ab-cdef-0123-456789abcdef",
                                         "01234567-89ab-cdef-0123-456789abcdeg",
                                         "01234567-89ab-cdef-0123-456789abcdef"};
    std::set<CompactUid> uids;
    for (const std::string& text : texts) {
        EXPECT_TRUE(uids.insert(compact_uid(text)).second) << text;
        EXPECT_EQ(compact_uid(text), compact_uid(std::string{text}));
    }
    for (std::size_t i = 0; i + 1 < texts.size(); ++i) {
        EXPECT_EQ(text_of(compact_uid(texts[i])), "") << texts[i];
    }
}

}  // namespace
}  // namespace gpuctl
