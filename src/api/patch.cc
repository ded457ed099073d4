#include "api/patch.h"

#include <memory>

#include "api/patching.h"

namespace once::api {
namespace {

constexpr std::size_t kMaxOperations = 10'000;
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

// A member that is a string; nothing otherwise.
std::optional<std::string_view> text_in(const JsonValue& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto member = object.find(name);
  if (member == object.end() || !member->is_string()) return std::nullopt;
  return member->get_ref<const std::string&>();
}

// Nothing if it is none. Members that mean nothing are ignored, as RFC 6902 wants it.
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
  Patching patching(std::move(*value));
  for (std::size_t i = 0; i < operations.size(); ++i) {
    Result<void> ok = patching.apply(operations[i]);
    if (ok) continue;
    return failure(ok.error().code,
                   "operation " + std::to_string(i) + " does not apply: " + ok.error().message);
  }
  return to_line(patching.document());
}

}  // namespace

Result<Patch> merge_patch(std::string_view text) {
  Result<JsonValue> patch = parse_value(text);
  if (!patch) return std::unexpected(std::move(patch.error()));
  auto shared = std::make_shared<const JsonValue>(std::move(*patch));
  return [shared](std::string_view document) -> Result<std::string> {
    Result<JsonValue> value = parse_stored(document);
    if (!value) return std::unexpected(std::move(value.error()));
    value->merge_patch(*shared);
    return to_line(*value);
  };
}

Result<Patch> json_patch(std::string_view text) {
  const Result<JsonValue> patch = parse_value(text);
  if (!patch) return std::unexpected(patch.error());
  if (!patch->is_array()) return failure(ErrorCode::invalid, "a JSON patch is an array");
  if (patch->size() > kMaxOperations) {
    return failure(ErrorCode::too_large, "a patch has at most 10000 operations");
  }
  auto shared = std::make_shared<std::vector<Operation>>();
  for (const JsonValue& json : *patch) {
    std::optional<Operation> operation = operation_of(json);
    if (!operation) {
      return failure(ErrorCode::invalid,
                     "operation " + std::to_string(shared->size()) + " is none of RFC 6902");
    }
    shared->push_back(std::move(*operation));
  }
  return [shared](std::string_view document) { return apply_all(*shared, document); };
}

}  // namespace once::api
