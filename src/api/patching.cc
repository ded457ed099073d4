#include "api/patching.h"

#include <algorithm>
#include <span>

namespace once::api {
namespace {

using Done = Result<void>;

constexpr std::size_t kMaxDepth = 100;

// What one patch may take: doubling an array again and again ends here, and so does inserting
// before a million others ten thousand times.
constexpr std::size_t kMaxWork = 10'000'000;   // Values that are copied, measured or shifted.
constexpr std::size_t kMaxCopied = 64U << 20;  // Bytes.

std::unexpected<Error> missing() {
  return failure(ErrorCode::invalid, "there is nothing at its path");
}

}  // namespace

Done Patching::apply(const Operation& operation) {
  switch (operation.kind) {
    case Operation::Kind::add: return add(operation.path, operation.value);
    case Operation::Kind::remove: return remove(operation.path);
    case Operation::Kind::replace: return replace(operation.path, operation.value);
    case Operation::Kind::move: return move(operation.from, operation.path);
    case Operation::Kind::copy: return copy(operation.from, operation.path);
    case Operation::Kind::test: return test(operation.path, operation.value);
  }
  return {};
}

Done Patching::spend(std::size_t work) {
  work_ += work;
  if (work_ <= kMaxWork && copied_ <= kMaxCopied) return {};
  return failure(ErrorCode::too_large, "the patch would take too much work");
}

// Whether `value` may stand at the end of the pointer.
Done Patching::admit(const Pointer& path, const JsonValue& value) {
  const Extent extent = extent_of(value);
  if (path.size() + extent.depth > kMaxDepth) {
    return failure(ErrorCode::invalid, "the document would nest deeper than 100");
  }
  return spend(extent.values);
}

Done Patching::add(const Pointer& path, JsonValue value) {
  if (Done ok = admit(path, value); !ok) return ok;
  if (path.empty()) {
    document_ = std::move(value);
    return {};
  }
  JsonValue* parent = find_value(document_, std::span(path).first(path.size() - 1));
  if (parent == nullptr || !parent->is_structured()) return missing();
  if (parent->is_object()) {
    (*parent)[path.back()] = std::move(value);
    return {};
  }
  const auto index = path.back() == "-" ? parent->size() : parse_index(path.back(), parent->size());
  if (!index) return missing();
  const Done ok = spend(parent->size() - *index);
  if (ok) parent->insert(parent->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return ok;
}

Done Patching::remove(const Pointer& path) {
  if (path.empty()) return failure(ErrorCode::invalid, "a document is not removed by a patch");
  if (find_value(document_, path) == nullptr) return missing();
  JsonValue& parent = *find_value(document_, std::span(path).first(path.size() - 1));
  if (parent.is_object()) {
    parent.erase(path.back());
    return {};
  }
  const std::size_t index = *parse_index(path.back(), parent.size());
  const Done ok = spend(parent.size() - index);
  if (ok) parent.erase(index);
  return ok;
}

Done Patching::replace(const Pointer& path, const JsonValue& value) {
  JsonValue* standing = find_value(document_, path);
  if (standing == nullptr) return missing();
  const Done ok = admit(path, value);
  if (ok) *standing = value;
  return ok;
}

Done Patching::move(const Pointer& from, const Pointer& path) {
  const bool inside =
      path.size() > from.size() && std::equal(from.begin(), from.end(), path.begin());
  if (inside) return failure(ErrorCode::invalid, "nothing moves into itself");
  JsonValue* standing = find_value(document_, from);
  if (standing == nullptr) return missing();
  if (from == path) return {};
  JsonValue value = std::move(*standing);
  if (Done ok = remove(from); !ok) return ok;
  return add(path, std::move(value));
}

Done Patching::copy(const Pointer& from, const Pointer& path) {
  const JsonValue* standing = find_value(document_, from);
  if (standing == nullptr) return missing();
  copied_ += extent_of(*standing).bytes;
  if (Done ok = admit(path, *standing); !ok) return ok;
  return add(path, *standing);
}

Done Patching::test(const Pointer& path, const JsonValue& value) {
  const JsonValue* standing = find_value(document_, path);
  if (standing == nullptr) return missing();
  if (same_value(*standing, value)) return {};
  return failure(ErrorCode::invalid, "another value is at its path");
}

}  // namespace once::api
