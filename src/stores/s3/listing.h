// A page of names, as S3 lists them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "stores/s3/bucket.h"

namespace once::s3 {

struct Listed {
  std::string name;      // Without the store's prefix.
  std::size_t size = 0;  // In bytes, of the object.
};

struct NamePage {
  std::vector<Listed> names;
  bool more = false;
};

// Of a ListBucketResult whose names are URL-encoded. `corrupt` for what is none.
Result<NamePage> read_names(std::string_view xml, std::string_view store_prefix);

// Up to `count` names that begin with `prefix` and come after `after`, from one request.
Result<NamePage> list_names(Bucket& bucket, std::string_view prefix, std::string_view after,
                            std::size_t count, aws::Deadline deadline,
                            StoreOperation operation = StoreOperation::other);

}  // namespace once::s3
