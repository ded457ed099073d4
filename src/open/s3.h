// s3://BUCKET/PREFIX?region=REGION&endpoint=URL&style=path|host&etag=bare|quoted&timeout=SECONDS
//     &connections=N
#pragma once

#include "once/s3_store.h"
#include "open/address.h"

namespace once {

Result<S3Options> s3_options(const Address& address);

}  // namespace once
