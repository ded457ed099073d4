// A test of a store that may not be part of this build.
#pragma once

#include <gtest/gtest.h>

#include "open/store_kinds.h"

// In a test or SetUp: skips it where this build has no store of that scheme.
#define ONCE_NEEDS_STORE_KIND(scheme)                                \
  if (::once::store_kind(scheme) == nullptr) {                       \
    GTEST_SKIP() << "this build has no store \"" << scheme << ":\""; \
  }                                                                  \
  static_assert(true)
