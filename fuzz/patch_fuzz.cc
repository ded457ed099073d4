// Patches of both kinds. The first line is a document, the rest a patch.
#include "fuzz/record_laws.h"
#include "wire/json_value.h"
#include "wire/patch.h"

namespace once::fuzz {
namespace {

using wire::JsonValue;

// The result is a valid document.
JsonValue parsed(const std::string& document) {
  Result<JsonValue> value = wire::parse_value(document);
  require(value.has_value());
  return std::move(*value);
}

void require_refusal(const Error& error) {
  require(error.code == ErrorCode::invalid || error.code == ErrorCode::too_large);
  require(!error.message.empty());
}

// Pure and idempotent.
void check_merge(const std::string& document, std::string_view text) {
  const Result<wire::Patch> patch = wire::merge_patch(text);
  if (!patch) return require_refusal(patch.error());
  const Result<std::string> once = (*patch)(document);
  if (!once) return require_refusal(once.error());
  require((*patch)(document) == *once);
  require((*patch)(*once) == *once);
  JsonValue other = parsed(document);
  other.merge_patch(parsed(std::string(text)));
  require(wire::same_value(parsed(*once), other));
}

// The patch for the other implementation, which throws where a document is moved to where it is
// already. RFC 6902 forbids only a move into a child, so ours changes nothing there.
JsonValue without_moves_in_place(JsonValue operations) {
  std::erase_if(operations.get_ref<JsonValue::array_t&>(), [](const JsonValue& operation) {
    return operation["op"] == "move" && operation["from"] == "" && operation["path"] == "";
  });
  return operations;
}

// Another implementation accepts the same patches, with the same result.
void check_operations(const std::string& document, std::string_view text) {
  const Result<wire::Patch> patch = wire::json_patch(text);
  if (!patch) return require_refusal(patch.error());
  const Result<std::string> changed = (*patch)(document);
  if (!changed) return require_refusal(changed.error());
  require((*patch)(document) == *changed);
  const JsonValue result = parsed(*changed);
  require(wire::extent_of(result).depth <= 100);
  const JsonValue operations = without_moves_in_place(parsed(std::string(text)));
  require(wire::same_value(result, parsed(document).patch(operations)));
  const std::string test = R"([{"op":"test","path":"","value":)" + *changed + "}]";
  const Result<wire::Patch> same = wire::json_patch(test);
  if (same) require((*same)(*changed).has_value());  // Unless the patch nests too deep.
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string document(text.substr(0, end));
  const std::string_view patch = text.substr(std::min(end + 1, text.size()));
  once::fuzz::check_merge(document, patch);
  once::fuzz::check_operations(document, patch);
  return 0;
}
