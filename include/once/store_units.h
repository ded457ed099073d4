// What calls of a store made its server do, in the units that are paid for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace once {

enum class StoreOperation : std::uint8_t {
  get,
  scan,
  list,
  commit,
  other,  // Opening, sweeping and looking after the connection.
};

struct StoreUnit {
  StoreOperation operation = StoreOperation::other;

  // "request" on every store. On DynamoDB also its capacity units, "read" and "write"; on S3 also
  // the requests by their price: "get", "put", "list" and "delete".
  std::string_view kind;

  double amount = 0;
};

using StoreUnits = std::vector<StoreUnit>;

}  // namespace once
