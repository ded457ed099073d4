// Tables of one DynamoDB Local that the whole program shares.
#pragma once

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "once/dynamodb_store.h"
#include "testing/servers/dynamodb_local.h"

namespace once::testing {

// Started when it is first asked for. Its process ends with the thread that asked, which has to be
// the program's first.
inline DynamoDbLocal& shared_dynamodb() {
  // Any keys will do, but some there must be; programs that are started inherit them.
  static const bool named = ::setenv("AWS_ACCESS_KEY_ID", "AKIDTEST", 1) == 0 &&
                            ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1) == 0;
  static DynamoDbLocal server;
  if (!named) throw std::runtime_error("no environment");
  return server;
}

// A new, empty table.
class DynamoDbTable {
 public:
  DynamoDbTable() {
    static std::atomic<int> count = 0;
    options_ = {.table = "table-" + std::to_string(++count),
                .region = "eu-west-1",
                .endpoint = shared_dynamodb().url(),
                .timeout = std::chrono::seconds(30)};  // The machine may be busy.
    const Result<void> made = create_dynamodb_table(options_);
    if (!made) throw std::runtime_error(made.error().message);
  }

  const DynamoDbOptions& options() const { return options_; }
  std::string address() const {
    return "dynamodb://" + options_.table +
           "?region=eu-west-1&timeout=30&endpoint=" + options_.endpoint;
  }

 private:
  DynamoDbOptions options_;
};

}  // namespace once::testing
