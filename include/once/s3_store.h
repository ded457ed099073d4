// The store on Amazon S3, or on what speaks like it: one prefix of a bucket, shared by any number
// of processes and machines. A commit is one write: effects that need several are `unsupported`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "once/entropy.h"
#include "once/store.h"

namespace once {

struct S3Options {
  std::string bucket;
  std::string prefix;    // Of all names of objects; stores with different ones share a bucket.
  std::string region;    // Empty: from AWS_REGION or AWS_DEFAULT_REGION.
  std::string endpoint;  // Empty: Amazon's own in that region. http://host:port for another.

  // Where a request names the bucket: in its path, or before the endpoint's host. `automatic` is
  // the host for Amazon, unless the bucket has a dot, and the path for other endpoints.
  enum class Style : std::uint8_t { automatic, path, host };
  Style style = Style::automatic;

  // For servers whose If-Match wants an ETag without its quotation marks (Ceph 16).
  bool bare_etags = false;

  // Each document of namespace `default` is an object at PREFIX/NAME with its own bytes and type,
  // which other programs may read and write. docs/stores.md says what that costs. A prefix is
  // always opened with the same choice.
  bool plain_documents = false;

  // No call takes longer. What conflicts, throttling and lost connections leave open is tried again
  // until then.
  Duration timeout = std::chrono::seconds(10);

  std::size_t connections = 64;  // At most, and so many requests in flight.
};

// Requests, as S3 counts and charges them.
struct S3Counts {
  std::uint64_t gets = 0;
  std::uint64_t puts = 0;
  std::uint64_t lists = 0;
  std::uint64_t deletes = 0;

  std::uint64_t all() const { return gets + puts + lists + deletes; }
};

class S3Store : public Store {
 public:
  // Since it was opened, its opening included.
  virtual S3Counts counts() const = 0;
};

// Keys come from the environment, a profile, or the machine, as Amazon's own tools look for them.
// The first opening of a prefix tries out that the server keeps to conditions, and leaves a record
// of the format; later ones read that record. `unavailable`: there is no such bucket, or nobody
// answers; `denied`: no keys, or not ours to use; `invalid`: a bad option; `unsupported`: a server
// that ignores conditions, or a store that was written by a newer version of Once. `clock` and
// `entropy` must outlive the store.
//
// What is erased under a guard leaves a small object behind. sweep() removes those, and what has
// expired, where the server shows that its DELETE keeps to conditions, and nothing elsewhere
// (docs/hazards.md#h25).
Result<std::unique_ptr<S3Store>> open_s3(const S3Options& options, Clock& clock = boot_clock(),
                                         Entropy& entropy = system_entropy());

}  // namespace once
