#include "wire/data_form.h"

#include <utility>

#include "base/encoding.h"

namespace once::wire {

Result<DataForm> form_in(const Headers& headers) {
  const std::optional<std::string_view> wanted = headers.find(kDataHeader);
  if (!wanted) return DataForm::json;
  if (*wanted == kExactData) return DataForm::exact;
  return failure(ErrorCode::invalid, "Once-Bytes is base64url, if it is there");
}

std::optional<Bytes> text_in(std::string text, DataForm form) {
  if (form == DataForm::json) return text;
  return base64url_decode(text);
}

std::optional<Bytes> take_text(Fields& fields, std::string_view name, DataForm form) {
  std::optional<std::string> text = fields.text(name);
  if (!text) return std::nullopt;
  std::optional<Bytes> bytes = text_in(std::move(*text), form);
  if (!bytes) fields.complain(name, "is not base64url without padding");
  return bytes;
}

std::optional<Bytes> take_data(Fields& fields, std::string_view name, DataForm form) {
  if (form == DataForm::exact) return take_text(fields, name, form);
  const std::optional<Json> value = fields.any(name);
  if (!value) return std::nullopt;
  return to_line(*value);
}

Bytes read_text(JsonReader& answer, std::string_view name, DataForm form) {
  std::optional<Bytes> bytes = text_in(answer.text(name), form);
  if (!bytes) answer.fail();
  return std::move(bytes).value_or("");
}

Bytes read_data(JsonReader& answer, std::string_view name, DataForm form) {
  if (form == DataForm::exact) return read_text(answer, name, form);
  const std::optional<Json> value = answer.value(name);
  if (!value) answer.fail();
  return value ? to_line(*value) : "";
}

std::string text_json(const Bytes& bytes, DataForm form) {
  return json_text(form == DataForm::exact ? base64url_encode(bytes) : bytes);
}

std::string data_json(const Bytes& bytes, DataForm form) {
  return form == DataForm::exact ? text_json(bytes, form) : stored_as_json(bytes);
}

}  // namespace once::wire
