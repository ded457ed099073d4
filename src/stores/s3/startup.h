// What is found out about a bucket before it is used.
#pragma once

#include "once/entropy.h"
#include "stores/s3/bucket.h"

namespace once::s3 {

// One request when all is well: the object that records the format. Where it is missing, the prefix
// is new: conditions are tried out, and the record is written.
Result<void> check_bucket(Bucket& bucket, Entropy& entropy, aws::Deadline deadline);

// Returns when the bucket's time is known as well as the store promises. Mostly the answers to
// check_bucket() are enough; a slow one, or one that no other source agrees with, is not, and the
// format is read again (docs/hazards.md#h36).
Result<void> learn_time(Bucket& bucket, aws::Deadline deadline);

// Whether a DELETE whose If-Match does not hold leaves the object alone (docs/hazards.md#h25).
Result<bool> keeps_to_conditions_on_delete(Bucket& bucket, Entropy& entropy,
                                           aws::Deadline deadline);

}  // namespace once::s3
