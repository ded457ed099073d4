#include "wire/worker_status.h"

#include <gtest/gtest.h>

namespace once::wire {
namespace {

using namespace std::chrono_literals;

TEST(WorkerStatus, IsReadAsItWasWritten) {
  WorkerStatus status{.kind = "work",
                      .name = "SQS queue \"jobs\"",
                      .host = "a",
                      .pid = 7,
                      .started_at = Time(1'000s),
                      .at = Time(1'500s),
                      .in_flight = 1,
                      .done = 2,
                      .duplicates = 3,
                      .failed = 4,
                      .dead = 5};
  EXPECT_EQ(decode_worker_status(encode(status)).value(), status);
  status.waiting = 12;
  status.lag = 1'250ms;
  EXPECT_EQ(decode_worker_status(encode(status)).value(), status);
  EXPECT_NE(encode(status).find(R"("waiting":12,"lag_seconds":1.25})"), std::string::npos);
}

TEST(WorkerStatus, WhatIsNoneIsRefused) {
  for (const char* body : {"", "[]", "{}", R"({"kind":"work"})", "\xff"}) {
    const auto status = decode_worker_status(body);
    ASSERT_FALSE(status.has_value()) << body;
    EXPECT_EQ(status.error().code, ErrorCode::corrupt) << body;
  }
}

}  // namespace
}  // namespace once::wire
