// A document to which the operations of a JSON patch (RFC 6902) are applied, one after the other.
#pragma once

#include <cstdint>

#include "api/json_value.h"

namespace once::api {

struct Operation {
  enum class Kind : std::uint8_t { add, remove, replace, move, copy, test };
  Kind kind = Kind::test;
  Pointer path;
  Pointer from;
  JsonValue value;
};

class Patching {
 public:
  explicit Patching(JsonValue document) : document_(std::move(document)) {}

  // `invalid`: it does not apply, and the document is of no use any more; `too_large`: all of them
  // together would take too much work.
  Result<void> apply(const Operation& operation);

  const JsonValue& document() const { return document_; }

 private:
  Result<void> spend(std::size_t work);
  Result<void> admit(const Pointer& path, const JsonValue& value);
  Result<void> add(const Pointer& path, JsonValue value);
  Result<void> remove(const Pointer& path);
  Result<void> replace(const Pointer& path, const JsonValue& value);
  Result<void> move(const Pointer& from, const Pointer& path);
  Result<void> copy(const Pointer& from, const Pointer& path);
  Result<void> test(const Pointer& path, const JsonValue& value);

  JsonValue document_;
  std::size_t work_ = 0;
  std::size_t copied_ = 0;
};

}  // namespace once::api
