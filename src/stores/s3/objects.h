// Plain objects in a bucket.
#pragma once

#include <memory>

#include "kernel/objects.h"
#include "once/s3_store.h"

namespace once {

Result<std::unique_ptr<Objects>> open_objects(const S3Options& options);

}  // namespace once
