#include "api/effects_text.h"

#include "api/conditions.h"
#include "api/events.h"
#include "api/tally_text.h"

namespace once::api {
namespace {

constexpr std::string_view kDocumentType = "application/json";

// Calls `take` with the fields of each element of an array, if it is there.
template <class Take>
void take_each(Fields& fields, std::string_view name, Take take) {
  const std::vector<Json> values = fields.array(name).value_or(std::vector<Json>());
  for (std::size_t i = 0; i < values.size(); ++i) {
    Fields inner = fields.element(name, i, values[i]);
    take(inner);
    fields.absorb(std::move(inner));
  }
}

std::string take_name(Fields& fields, std::string_view name) {
  fields.require(name);
  return fields.text(name).value_or("");
}

void take_document(Fields& fields, Effects& effects, DataForm form) {
  std::string key = take_name(fields, "key");
  fields.require("body");
  std::optional<Bytes> body = take_data(fields, "body", form);
  std::string type(kDocumentType);
  if (form == DataForm::exact) type = fields.text("type").value_or(std::move(type));
  if (!is_content_type(type)) fields.complain("type", "is not printable");
  const std::optional<std::string> match = fields.text("if_match");
  const std::optional<std::string> none_match = fields.text("if_none_match");
  if (none_match && *none_match != "*") fields.complain("if_none_match", "is not \"*\"");
  if (match.has_value() == none_match.has_value()) {
    fields.complain("if_match", "or if_none_match is to be there, and one of them only");
  }
  documents::Condition condition = documents::IfAbsent{};
  if (match) condition = documents::IfMatch{std::string(unquoted(*match))};
  documents::Content content{std::move(body).value_or(""), std::move(type)};
  effects.put(std::move(key), std::move(content), std::move(condition));
}

}  // namespace

void take_effects(Fields& fields, Effects& effects, DataForm form) {
  take_each(fields, "logs", [&](Fields& log) {
    std::string stream = take_name(log, "stream");
    effects.append(std::move(stream), take_events(log, form));
  });
  take_each(fields, "docs", [&](Fields& document) { take_document(document, effects, form); });
  take_each(fields, "tallies", [&](Fields& tally) {
    std::string key = take_name(tally, "key");
    effects.merge(std::move(key), take_tally(tally, form));
  });
}

Result<Effects> effects_of(std::string_view json) {
  const Result<Json> body = parse_json(json);
  if (!body) return std::unexpected(body.error());
  Fields fields(*body);
  Effects effects;
  if (std::optional<Bytes> result = take_data(fields, "result", DataForm::json)) {
    effects.result(std::move(*result));
  }
  take_effects(fields, effects, DataForm::json);
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return effects;
}

}  // namespace once::api
