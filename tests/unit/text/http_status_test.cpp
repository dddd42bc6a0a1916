#include "text/http_status.hpp"

#include <gtest/gtest.h>

#include "text/hex.hpp"

namespace gpuctl::text {
namespace {

TEST(HttpStatus, an_unknown_refusal_still_differs_from_a_failure) {
    EXPECT_EQ(code_of_http_status(404), ErrorCode::NotFound);
    EXPECT_EQ(code_of_http_status(418), ErrorCode::BadRequest);
    EXPECT_EQ(code_of_http_status(503), ErrorCode::ClusterUnavailable);
    EXPECT_EQ(code_of_http_status(599), ErrorCode::Internal);
    EXPECT_EQ(code_of_http_status(302), ErrorCode::ProtocolError);
}

TEST(Hex, has_sixteen_digits_whatever_the_number) {
    EXPECT_EQ(hex16(0), "0000000000000000");
    EXPECT_EQ(hex16(0x1fULL << 56U), "1f00000000000000");
    EXPECT_EQ(hex16(~std::uint64_t{0} - 1), "fffffffffffffffe");
}

}  // namespace
}  // namespace gpuctl::text
