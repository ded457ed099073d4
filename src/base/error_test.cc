#include "once/error.h"

#include <gtest/gtest.h>

namespace once {
namespace {

TEST(Error, OnlyUnavailableAndUnknownAreTransient) {
  for (const ErrorCode code :
       {ErrorCode::invalid, ErrorCode::too_large, ErrorCode::denied, ErrorCode::unavailable,
        ErrorCode::unknown, ErrorCode::unsupported, ErrorCode::corrupt}) {
    const bool transient = code == ErrorCode::unavailable || code == ErrorCode::unknown;
    EXPECT_EQ(is_transient(code), transient) << name_of(code);
    EXPECT_EQ(is_transient(Error{code, ""}), transient) << name_of(code);
    EXPECT_EQ(is_transient(Result<int>(failure(code, ""))), transient) << name_of(code);
  }
  EXPECT_FALSE(is_transient(Result<int>(1)));
}

}  // namespace
}  // namespace once
