// For a program all of whose tests need S3.
#pragma once

#include "testing/servers/ceph_s3.h"
#include "testing/servers/needs.h"

namespace once::testing {

class NeedsS3 final : public ::testing::Environment {
 public:
  void SetUp() override { ONCE_NEEDS_SERVER(CephS3); }
};

inline const ::testing::Environment* const kNeedsS3 =
    ::testing::AddGlobalTestEnvironment(new NeedsS3);

}  // namespace once::testing
