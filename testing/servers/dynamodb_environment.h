// For a program all of whose tests need DynamoDB Local.
#pragma once

#include "testing/servers/dynamodb_local.h"
#include "testing/servers/needs.h"

namespace once::testing {

class NeedsDynamoDb final : public ::testing::Environment {
 public:
  void SetUp() override { ONCE_NEEDS_SERVER(DynamoDbLocal); }
};

inline const ::testing::Environment* const kNeedsDynamoDb =
    ::testing::AddGlobalTestEnvironment(new NeedsDynamoDb);

}  // namespace once::testing
