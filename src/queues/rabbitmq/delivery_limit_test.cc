#include "queues/rabbitmq/delivery_limit.h"

#include <gtest/gtest.h>

namespace once::rabbitmq {
namespace {

TEST(DeliveryLimit, ARefusalTellsAnArgumentWithItsValue) {
  const auto limit = argument_in(
      "rabbitmq: PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit' for queue 'jobs' in "
      "vhost '/': received none but current is the value '4' of type 'signedint'");
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->first, "x-delivery-limit");
  EXPECT_EQ(std::get<std::int64_t>(limit->second), 4);
  EXPECT_EQ(argument_in("inequivalent arg 'durable' for queue 'jobs': received 'true' but current "
                        "is 'false'"),
            std::nullopt);
  EXPECT_EQ(argument_in(""), std::nullopt);
}

TEST(DeliveryLimit, H34_ALimitIsWarnedOfUnlessThereIsADeadLetterExchange) {
  const Arguments quorum = {{"x-queue-type", std::string("quorum")}};
  EXPECT_EQ(limit_warning(quorum, "3.13.7"), std::nullopt);
  EXPECT_NE(limit_warning(quorum, "4.0.2").value_or("").find("more than 20 times"),
            std::string::npos);
  Arguments limited = quorum;
  limited["x-delivery-limit"] = std::int64_t{4};
  EXPECT_NE(limit_warning(limited, "3.10.8").value_or("").find("more than 4 times"),
            std::string::npos);
  limited["x-dead-letter-exchange"] = std::string();
  EXPECT_EQ(limit_warning(limited, "3.10.8"), std::nullopt);
  Arguments lifted = quorum;
  lifted["x-delivery-limit"] = std::int64_t{-1};
  EXPECT_EQ(limit_warning(lifted, "4.0.2"), std::nullopt);
}

}  // namespace
}  // namespace once::rabbitmq
