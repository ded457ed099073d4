#include "api/tally_text.h"

#include <array>
#include <limits>
#include <utility>

namespace once::api {
namespace {

constexpr std::array<std::pair<std::string_view, TallyKind>, 8> kKinds = {
    {{"sum", TallyKind::sum},
     {"real", TallyKind::real},
     {"count", TallyKind::count},
     {"max", TallyKind::max},
     {"min", TallyKind::min},
     {"distinct", TallyKind::distinct},
     {"top", TallyKind::top},
     {"bloom", TallyKind::bloom}}};

constexpr std::array<std::pair<std::string_view, TallyWindow>, 3> kWindows = {
    {{"minute", TallyWindow::minute}, {"hour", TallyWindow::hour}, {"day", TallyWindow::day}}};

TallyKind take_kind(Fields& fields) {
  fields.require("kind");
  const std::string name = fields.text("kind").value_or("sum");
  for (const auto& [known, kind] : kKinds) {
    if (name == known) return kind;
  }
  fields.complain("kind", "is none of sum, real, count, max, min, distinct, top and bloom");
  return TallyKind::sum;
}

TallyWindow take_window(Fields& fields) {
  const std::optional<std::string> name = fields.text("window");
  if (!name) return TallyWindow::none;
  for (const auto& [known, window] : kWindows) {
    if (*name == known) return window;
  }
  fields.complain("window", "is none of minute, hour and day");
  return TallyWindow::none;
}

std::string_view name_of(TallyWindow window) {
  for (const auto& [name, known] : kWindows) {
    if (known == window) return name;
  }
  return "none";
}

// A number that is not negative.
template <class N>
N take_size(Fields& fields, std::string_view name, N usual) {
  const std::optional<std::int64_t> size = fields.integer(name);
  if (!size) return usual;
  if (std::in_range<N>(*size)) return static_cast<N>(*size);
  fields.complain(name, "is out of range");
  return usual;
}

std::int64_t take_integer(Fields& fields, std::string_view name) {
  fields.require(name);
  return fields.integer(name).value_or(0);
}

std::string item_in(Fields& fields, std::string text, DataForm form) {
  std::optional<Bytes> item = text_in(std::move(text), form);
  if (!item) fields.complain("items", "are not base64url without padding");
  return std::move(item).value_or("");
}

// {"item","count"}, or a string that counts once.
CountedItem take_counted(Fields& fields, std::size_t index, Json json, DataForm form) {
  std::string_view text;
  if (json.get(text) == simdjson::SUCCESS) return {item_in(fields, std::string(text), form), 1};
  Fields inner = fields.element("items", index, json);
  inner.require("item");
  CountedItem counted{take_text(inner, "item", form).value_or(""), 1};
  const std::int64_t count = inner.integer("count").value_or(1);
  if (count < 1) inner.complain("count", "is not positive");
  counted.count = static_cast<std::uint64_t>(std::max<std::int64_t>(1, count));
  fields.absorb(std::move(inner));
  return counted;
}

std::vector<CountedItem> take_items(Fields& fields, TallyKind kind, DataForm form) {
  fields.require("items");
  std::vector<CountedItem> items;
  if (kind == TallyKind::top) {
    const std::vector<Json> values = fields.array("items").value_or(std::vector<Json>());
    for (std::size_t i = 0; i < values.size(); ++i) {
      items.push_back(take_counted(fields, i, values[i], form));
    }
    return items;
  }
  for (std::string& text : fields.texts("items").value_or(std::vector<std::string>())) {
    items.push_back({item_in(fields, std::move(text), form), 1});
  }
  return items;
}

TallyInput take_input(Fields& fields, TallyKind kind, DataForm form) {
  switch (kind) {
    case TallyKind::sum: return take_integer(fields, "add");
    case TallyKind::real: fields.require("add"); return fields.number("add").value_or(0);
    case TallyKind::count: return fields.integer("add").value_or(1);
    case TallyKind::max:
    case TallyKind::min: return take_integer(fields, "value");
    default: return take_items(fields, kind, form);
  }
}

// How large a sketch is, as far as its kind has a size.
void take_shape(Fields& fields, TallyShape& shape) {
  if (shape.kind == TallyKind::distinct) {
    shape.precision = take_size(fields, "precision", shape.precision);
  }
  if (shape.kind == TallyKind::top) {
    shape.counters = take_size(fields, "counters", shape.counters);
  }
  if (shape.kind == TallyKind::bloom) {
    shape.capacity = take_size(fields, "capacity", shape.capacity);
    shape.rate = fields.number("rate").value_or(shape.rate);
  }
}

std::string heavy_json(const HeavyItem& heavy, DataForm form) {
  return JsonObject()
      .raw("item", text_json(heavy.item, form))
      .integer("count", static_cast<std::int64_t>(heavy.count))
      .integer("error", static_cast<std::int64_t>(heavy.error))
      .finish();
}

std::string value_json(const TallyValue& value, DataForm form) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return number_text(*real);
  if (const auto* items = std::get_if<std::vector<HeavyItem>>(&value)) {
    return json_array(*items, [form](const HeavyItem& heavy) { return heavy_json(heavy, form); });
  }
  const auto* filter = std::get_if<BloomAnswer>(&value);
  if (filter != nullptr && form == DataForm::exact) return text_json(filter->state, form);
  return "null";
}

}  // namespace

TallyRequest take_tally(Fields& fields, DataForm form) {
  TallyRequest request;
  request.shape.kind = take_kind(fields);
  request.shape.window = take_window(fields);
  take_shape(fields, request.shape);
  request.input = take_input(fields, request.shape.kind, form);
  const std::optional<std::string> id = fields.text("id");
  if (id && id->empty()) fields.complain("id", "is empty");
  request.id = id.value_or("");
  request.at = fields.time("at");
  request.ttl = fields.duration("ttl");
  return request;
}

std::string_view name_of(TallyKind kind) {
  for (const auto& [name, known] : kKinds) {
    if (known == kind) return name;
  }
  return "own";
}

std::string tally_json(TallyKind kind, TallyWindow window, const std::optional<TallyValue>& value,
                       DataForm form) {
  JsonObject out;
  out.text("kind", name_of(kind));
  if (window != TallyWindow::none) out.text("window", name_of(window));
  if (value) out.raw("value", value_json(*value, form));
  return out.finish();
}

std::string merged_json(const TallyRequest& request, const std::optional<TallyValue>& value,
                        DataForm form) {
  const TallyShape& shape = request.shape;
  if (shape.kind != TallyKind::bloom) return tally_json(shape.kind, shape.window, value, form);
  JsonObject out;
  out.text("kind", name_of(shape.kind));
  if (shape.window != TallyWindow::none) out.text("window", name_of(shape.window));
  return out.boolean("value", true).finish();
}

Problem other_tally(const OtherTally& other) {
  Problem answer(Code::other_kind, "the tally is of another kind, size or window");
  answer.text("kind", other.kind.substr(0, other.kind.find('/')));
  if (other.window != TallyWindow::none) answer.text("window", name_of(other.window));
  return answer;
}

}  // namespace once::api
