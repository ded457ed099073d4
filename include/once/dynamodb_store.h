// The store on Amazon DynamoDB: one table, shared by any number of processes and machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "once/entropy.h"
#include "once/store.h"

namespace once {

struct DynamoDbOptions {
  std::string table;
  std::string region;    // Empty: from AWS_REGION or AWS_DEFAULT_REGION.
  std::string endpoint;  // Empty: Amazon's own in that region. http://host:port for another.

  // No call takes longer. What throttling, conflicts and lost connections leave open is tried again
  // until then.
  Duration timeout = std::chrono::seconds(10);

  std::size_t connections = 64;  // At most, and so many requests in flight.
};

struct DynamoDbCounts {
  std::uint64_t requests = 0;
  double read_units = 0;  // Of capacity, as DynamoDB tells them. It does not tell those of a failed
  double write_units = 0;  // condition: they are counted by the size of what it returned.
};

class DynamoDbStore : public Store {
 public:
  // Since it was opened, its opening included.
  virtual DynamoDbCounts counts() const = 0;
};

// Keys come from the environment, a profile, or the machine, as Amazon's own tools look for them.
// `unavailable`: there is no such table, or nobody answers; `denied`: no keys, or not ours to use;
// `invalid`: a bad option, or a table with other keys; `unsupported`: written by a newer version of
// Once. `clock` and `entropy` must outlive the store.
//
// A commit of one write is one request; of several, a transaction of DynamoDB, which never tells
// the sums of its adds. An expired item is absent; DynamoDB removes it later, so sweep() does
// nothing.
Result<std::unique_ptr<DynamoDbStore>> open_dynamodb(const DynamoDbOptions& options,
                                                     Clock& clock = boot_clock(),
                                                     Entropy& entropy = system_entropy());

// Makes the table, paid by request and with removal of expired items, and returns when it can be
// used. One that is there already is left as it is, and checked.
Result<void> create_dynamodb_table(const DynamoDbOptions& options);

// A line for each thing that is as it should be; an error names the first that is not.
Result<std::string> check_dynamodb_table(const DynamoDbOptions& options);

}  // namespace once
