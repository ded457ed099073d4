#include "wire/patch.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "base/json.h"
#include "once/merge_patch.h"
#include "wire/json_value.h"

namespace once::wire {
namespace {

constexpr std::size_t kMaxOperations = 10'000;
// Of the 100 levels that can be read again, the last one may hold nothing.
constexpr std::size_t kMaxDepth = 99;

// Limits of one patch. They stop a patch that doubles an array again and again, or inserts ten
// thousand times at the front of a million elements.
constexpr std::size_t kMaxWork = 10'000'000;   // Values that are copied, measured or shifted.
constexpr std::size_t kMaxCopied = 64U << 20;  // Bytes.

// Of one operation. Each copy may double what is there, and others may go through all of it.
constexpr std::size_t kWeightOfCopy = 40U << 10;
constexpr std::size_t kWeightOfOther = 1U << 10;

std::unexpected<Error> missing() {
  return failure(ErrorCode::invalid, "there is nothing at its path");
}

struct Operation {
  enum class Kind : std::uint8_t { add, remove, replace, move, copy, test };
  Kind kind = Kind::test;
  Pointer path;
  Pointer from;
  JsonValue value;
};

// Applies the operations of a JSON patch (RFC 6902) to a document, one after the other.
class JsonPatch {
 public:
  explicit JsonPatch(JsonValue document) : document_(std::move(document)) {}

  // `invalid`: it does not apply, and the document is now useless; `too_large`: all operations
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

Result<void> JsonPatch::apply(const Operation& operation) {
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

Result<void> JsonPatch::spend(std::size_t work) {
  work_ += work;
  if (work_ <= kMaxWork && copied_ <= kMaxCopied) return {};
  return failure(ErrorCode::too_large, "the patch would take too much work");
}

// Checks that `value` may be placed at `path`.
Result<void> JsonPatch::admit(const Pointer& path, const JsonValue& value) {
  const Extent extent = extent_of(value);
  if (path.size() + extent.depth > kMaxDepth) {
    return failure(ErrorCode::invalid, "the document would nest deeper than 99");
  }
  return spend(extent.values);
}

Result<void> JsonPatch::add(const Pointer& path, JsonValue value) {
  if (Result<void> ok = admit(path, value); !ok) return ok;
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
  const Result<void> ok = spend(parent->size() - *index);
  if (ok) parent->insert(parent->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return ok;
}

Result<void> JsonPatch::remove(const Pointer& path) {
  if (path.empty()) return failure(ErrorCode::invalid, "a document is not removed by a patch");
  if (find_value(document_, path) == nullptr) return missing();
  JsonValue& parent = *find_value(document_, std::span(path).first(path.size() - 1));
  if (parent.is_object()) {
    parent.erase(path.back());
    return {};
  }
  const std::size_t index = *parse_index(path.back(), parent.size());
  const Result<void> ok = spend(parent.size() - index);
  if (ok) parent.erase(index);
  return ok;
}

Result<void> JsonPatch::replace(const Pointer& path, const JsonValue& value) {
  JsonValue* current = find_value(document_, path);
  if (current == nullptr) return missing();
  const Result<void> ok = admit(path, value);
  if (ok) *current = value;
  return ok;
}

Result<void> JsonPatch::move(const Pointer& from, const Pointer& path) {
  const bool inside =
      path.size() > from.size() && std::equal(from.begin(), from.end(), path.begin());
  if (inside) return failure(ErrorCode::invalid, "nothing moves into itself");
  JsonValue* current = find_value(document_, from);
  if (current == nullptr) return missing();
  if (from == path) return {};
  JsonValue value = std::move(*current);
  if (Result<void> ok = remove(from); !ok) return ok;
  return add(path, std::move(value));
}

Result<void> JsonPatch::copy(const Pointer& from, const Pointer& path) {
  const JsonValue* current = find_value(document_, from);
  if (current == nullptr) return missing();
  copied_ += extent_of(*current).bytes;
  if (Result<void> ok = admit(path, *current); !ok) return ok;
  return add(path, *current);
}

Result<void> JsonPatch::test(const Pointer& path, const JsonValue& value) {
  const JsonValue* current = find_value(document_, path);
  if (current == nullptr) return missing();
  if (same_value(*current, value)) return {};
  return failure(ErrorCode::invalid, "another value is at its path");
}

std::optional<Operation::Kind> kind_of(std::string_view name) {
  using enum Operation::Kind;
  constexpr std::pair<std::string_view, Operation::Kind> kNames[] = {
      {"add", add},   {"remove", remove}, {"replace", replace},
      {"move", move}, {"copy", copy},     {"test", test}};
  for (const auto& [known, kind] : kNames) {
    if (name == known) return kind;
  }
  return std::nullopt;
}

// A member that is a string; empty otherwise.
std::optional<std::string_view> text_in(const JsonValue& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto member = object.find(name);
  if (member == object.end() || !member->is_string()) return std::nullopt;
  return member->get_ref<const std::string&>();
}

// Empty if it is no operation. Unknown members are ignored, as RFC 6902 demands.
std::optional<Operation> operation_of(const JsonValue& json) {
  const auto kind = kind_of(text_in(json, "op").value_or(""));
  const auto path = text_in(json, "path");
  if (!kind || !path) return std::nullopt;
  Operation operation{.kind = *kind};
  const bool from_wanted = *kind == Operation::Kind::move || *kind == Operation::Kind::copy;
  const auto from = from_wanted ? text_in(json, "from") : std::string_view();
  if (!from) return std::nullopt;
  auto path_steps = parse_pointer(*path);
  auto from_steps = parse_pointer(*from);
  if (!path_steps || !from_steps) return std::nullopt;
  operation.path = std::move(*path_steps);
  operation.from = std::move(*from_steps);
  if (!from_wanted && *kind != Operation::Kind::remove) {
    const auto value = json.find("value");
    if (value == json.end()) return std::nullopt;
    operation.value = *value;
  }
  return operation;
}

Result<JsonValue> parse_stored(std::string_view document) {
  Result<JsonValue> value = parse_value(document);
  if (value) return value;
  return failure(ErrorCode::invalid, "the document cannot be patched: " + value.error().message);
}

Result<std::string> apply_all(const std::vector<Operation>& operations, std::string_view document) {
  Result<JsonValue> value = parse_stored(document);
  if (!value) return std::unexpected(std::move(value.error()));
  JsonPatch patch(std::move(*value));
  for (std::size_t i = 0; i < operations.size(); ++i) {
    Result<void> ok = patch.apply(operations[i]);
    if (ok) continue;
    return failure(ok.error().code,
                   "operation " + std::to_string(i) + " does not apply: " + ok.error().message);
  }
  return to_line(patch.document());
}

}  // namespace

Result<Patch> merge_patch(std::string_view text) {
  Result<JsonValue> patch = parse_value(text);
  if (!patch) return std::unexpected(std::move(patch.error()));
  auto shared = std::make_shared<const JsonValue>(std::move(*patch));
  return Patch{[shared](std::string_view document) -> Result<std::string> {
    Result<JsonValue> value = parse_stored(document);
    if (!value) return std::unexpected(std::move(value.error()));
    value->merge_patch(*shared);
    return to_line(*value);
  }};
}

Result<Patch> json_patch(std::string_view text) {
  const Result<JsonValue> patch = parse_value(text);
  if (!patch) return std::unexpected(patch.error());
  if (!patch->is_array()) return failure(ErrorCode::invalid, "a JSON patch is an array");
  if (patch->size() > kMaxOperations) {
    return failure(ErrorCode::too_large, "a patch has at most 10000 operations");
  }
  auto shared = std::make_shared<std::vector<Operation>>();
  std::size_t weight = 0;
  for (const JsonValue& json : *patch) {
    std::optional<Operation> operation = operation_of(json);
    if (!operation) {
      return failure(ErrorCode::invalid,
                     "operation " + std::to_string(shared->size()) + " is none of RFC 6902");
    }
    weight += operation->kind == Operation::Kind::copy ? kWeightOfCopy : kWeightOfOther;
    shared->push_back(std::move(*operation));
  }
  return Patch{[shared](std::string_view document) { return apply_all(*shared, document); },
               weight};
}

MergePatch parsed_later(Bytes json) {
  const auto modify =
      [json](const std::optional<documents::Content>& current) -> Result<documents::Modified> {
    if (!current) return Keep{};
    const Result<Patch> patch = merge_patch(json);
    if (!patch) return std::unexpected(patch.error());
    Result<std::string> patched = (*patch)(current->bytes);
    if (!patched) return std::unexpected(std::move(patched.error()));
    return documents::Content{std::move(*patched), current->type};
  };
  return {std::move(json), modify};
}

}  // namespace once::wire

namespace once {

Result<MergePatch> merge_patch(std::string_view json) {
  if (const Result<Json> sound = parse_json(json); !sound) return std::unexpected(sound.error());
  return wire::parsed_later(Bytes(json));
}

}  // namespace once
