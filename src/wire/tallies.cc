#include "wire/tallies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/encoding.h"
#include "primitives/keys.h"

namespace once::wire {
namespace {

constexpr std::array<std::pair<std::string_view, TallyKind>, 8> kTallyKinds = {
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

template <class Names>
auto value_of(const Names& names, std::string_view name) {
  for (const auto& [known, value] : names) {
    if (known == name) return std::optional(value);
  }
  return std::optional<std::remove_const_t<decltype(names.front().second)>>();
}

template <class Names, class Value>
std::string_view name_in(const Names& names, Value value, std::string_view otherwise) {
  for (const auto& [name, known] : names) {
    if (known == value) return name;
  }
  return otherwise;
}

std::string_view name_of(TallyWindow window) { return name_in(kWindows, window, "none"); }

TallyKind take_kind(Fields& fields) {
  fields.require("kind");
  const auto kind = value_of(kTallyKinds, fields.text("kind").value_or("sum"));
  if (!kind) {
    fields.complain("kind", "is none of sum, real, count, max, min, distinct, top and bloom");
  }
  return kind.value_or(TallyKind::sum);
}

TallyWindow take_window(Fields& fields) {
  const std::optional<std::string> name = fields.text("window");
  if (!name) return TallyWindow::none;
  const auto window = value_of(kWindows, *name);
  if (!window) fields.complain("window", "is none of minute, hour and day");
  return window.value_or(TallyWindow::none);
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

Result<std::string> items_json(const std::vector<CountedItem>& items, TallyKind kind,
                               DataForm form) {
  std::string out = "[";
  for (const CountedItem& item : items) {
    if (out.size() > 1) out += ',';
    const std::string text = text_json(item.item, form);
    if (kind != TallyKind::top) {
      out += text;
      continue;
    }
    if (!std::in_range<std::int64_t>(item.count)) {
      return failure(ErrorCode::invalid, "a count beyond 63 bits");
    }
    out += JsonObject()
               .raw("item", text)
               .integer("count", static_cast<std::int64_t>(item.count))
               .finish();
  }
  out += ']';
  return out;
}

Result<void> write_items(JsonObject& out, const std::vector<CountedItem>& items, TallyKind kind,
                         DataForm form) {
  const Result<std::string> written = items_json(items, kind, form);
  if (!written) return std::unexpected(written.error());
  out.raw("items", *written);
  return {};
}

Result<void> write_input(JsonObject& out, const TallyRequest& request, DataForm form) {
  const auto* number = std::get_if<std::int64_t>(&request.input);
  const auto* real = std::get_if<double>(&request.input);
  const auto* items = std::get_if<std::vector<CountedItem>>(&request.input);
  switch (request.shape.kind) {
    case TallyKind::sum:
    case TallyKind::count:
      if (number == nullptr) break;
      out.integer("add", *number);
      return {};
    case TallyKind::max:
    case TallyKind::min:
      if (number == nullptr) break;
      out.integer("value", *number);
      return {};
    case TallyKind::real:
      if (real == nullptr || !std::isfinite(*real)) break;
      out.raw("add", number_text(*real));
      return {};
    case TallyKind::distinct:
    case TallyKind::top:
    case TallyKind::bloom:
      if (items == nullptr) break;
      return write_items(out, *items, request.shape.kind, form);
    case TallyKind::own: break;
  }
  return failure(ErrorCode::invalid, "an input that the tally's kind does not take");
}

void write_shape(JsonObject& out, const TallyShape& shape) {
  out.text("kind", wire::name_of(shape.kind));
  if (shape.window != TallyWindow::none) out.text("window", name_of(shape.window));
  if (shape.kind == TallyKind::distinct) out.integer("precision", shape.precision);
  if (shape.kind == TallyKind::top) {
    out.integer("counters", static_cast<std::int64_t>(shape.counters));
  }
  if (shape.kind == TallyKind::bloom) {
    out.integer("capacity", static_cast<std::int64_t>(shape.capacity));
    out.raw("rate", std::isfinite(shape.rate) ? number_text(shape.rate) : "0");
  }
}

Result<void> check_id(const TallyRequest& request) {
  if (request.id.empty()) return {};
  if (Result<void> ok = keys::check_name(request.id); !ok) return ok;
  if (request.id_ttl == TallyRequest{}.id_ttl) return {};
  return failure(ErrorCode::unsupported, "a server remembers an id for a day, and no other time");
}

// Calls `write` with the name and the text of each end that the range has.
template <class WriteEnd>
Result<void> write_range(const TallyRange& range, WriteEnd write) {
  for (const auto& [name, end] : {std::pair("from", range.from), std::pair("to", range.to)}) {
    if (!end) continue;
    const Result<std::string> time = request_time(*end);
    if (!time) return std::unexpected(time.error());
    write(name, *time);
  }
  return {};
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

std::string reading_json(const TallyReading& reading, DataForm form) {
  JsonObject out;
  out.text("kind", wire::name_of(reading.kind));
  if (reading.window != TallyWindow::none) out.text("window", name_of(reading.window));
  return out.raw("value", value_json(reading.value, form)).finish();
}

TallyWindow read_window(JsonReader& body) {
  if (!body.any("window")) return TallyWindow::none;
  const auto window = value_of(kWindows, body.text("window"));
  if (!window) body.fail();
  return window.value_or(TallyWindow::none);
}

HeavyItem read_heavy(JsonReader& body, DataForm form) {
  HeavyItem heavy;
  heavy.item = read_text(body, "item", form);
  heavy.count = static_cast<std::uint64_t>(body.integer("count"));
  heavy.error = static_cast<std::uint64_t>(body.integer("error"));
  return heavy;
}

std::optional<TallyReading> read_reading(JsonReader& body, DataForm form) {
  const auto kind = value_of(kTallyKinds, body.text("kind"));
  if (!kind) body.fail();
  const TallyWindow window = read_window(body);
  if (!body.readable()) return std::nullopt;
  std::optional<TallyValue> value = read_value(body, *kind, form);
  return TallyReading{*kind, window, std::move(value).value_or(std::monostate())};
}

}  // namespace

std::string_view name_of(TallyKind kind) { return name_in(kTallyKinds, kind, "own"); }

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

Result<void> write_tally(JsonObject& out, const TallyRequest& request, DataForm form) {
  if (request.shape.kind == TallyKind::own) {
    return failure(ErrorCode::unsupported, "a server knows no tally of a program's own kind");
  }
  if (Result<void> ok = check_id(request); !ok) return ok;
  write_shape(out, request.shape);
  if (Result<void> ok = write_input(out, request, form); !ok) return ok;
  if (!request.id.empty()) out.text("id", request.id);
  if (request.ttl) out.duration("ttl", *request.ttl);
  if (!request.at) return {};
  const Result<std::string> at = request_time(*request.at);
  if (!at) return std::unexpected(at.error());
  out.text("at", *at);
  return {};
}

Result<std::string> encode(const TallyRequest& request, DataForm form) {
  JsonObject body;
  if (Result<void> ok = write_tally(body, request, form); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return body.finish();
}

Result<TallyRequest> decode_tally_request(std::string_view body, DataForm form) {
  const Result<Json> json = parse_body(body);
  if (!json) return std::unexpected(json.error());
  Fields fields(*json);
  TallyRequest request = take_tally(fields, form);
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return request;
}

Result<std::string> target_of(std::string_view tally, const TallyRange& range) {
  std::string target = path_to("tallies", tally);
  char before = '?';
  const auto add = [&](std::string_view end, const std::string& time) {
    target.append(1, std::exchange(before, '&')).append(end).append("=");
    target.append(percent_encode(time));
  };
  if (Result<void> ok = write_range(range, add); !ok) return std::unexpected(std::move(ok.error()));
  return target;
}

Result<std::string> encode(const TalliesReadRequest& request) {
  JsonObject body;
  body.raw("keys", json_array(request.keys, json_text));
  const auto add = [&](std::string_view end, const std::string& time) { body.text(end, time); };
  if (Result<void> ok = write_range(request.range, add); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return body.finish();
}

Result<TalliesReadRequest> decode_tallies_read_request(std::string_view body) {
  const Result<Json> json = parse_body(body);
  if (!json) return std::unexpected(json.error());
  Fields fields(*json);
  fields.require("keys");
  TalliesReadRequest request;
  request.keys = fields.texts("keys").value_or(std::vector<std::string>());
  request.range = {fields.time("from"), fields.time("to")};
  if (request.keys.size() > tallies::kMaxReads) fields.complain("keys", "are more than 10000");
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return request;
}

std::string merged_json(const TallyRequest& request, const std::optional<TallyValue>& value,
                        DataForm form) {
  const TallyShape& shape = request.shape;
  JsonObject out;
  out.text("kind", name_of(shape.kind));
  if (shape.window != TallyWindow::none) out.text("window", name_of(shape.window));
  if (shape.kind == TallyKind::bloom) {
    out.boolean("value", true);
  } else if (value) {
    out.raw("value", value_json(*value, form));
  }
  return out.finish();
}

std::optional<TallyValue> read_value(JsonReader& body, TallyKind kind, DataForm form) {
  const std::optional<Json> given = body.any("value");
  if (!given) return std::nullopt;
  if (kind == TallyKind::real) return body.number("value");
  if (kind == TallyKind::bloom) {
    if (given->is_bool()) return std::nullopt;  // The answer to a merge: no more is known.
    return BloomAnswer{read_text(body, "value", form)};
  }
  if (kind != TallyKind::top) return body.integer("value");
  std::vector<HeavyItem> items;
  body.each("value", [&](JsonReader& item) { items.push_back(read_heavy(item, form)); });
  return items;
}

Problem other_tally(const OtherTally& other) {
  Problem answer = other_kind("the tally is of another kind, size or window");
  answer.text("kind", other.kind.substr(0, other.kind.find('/')));
  if (other.window != TallyWindow::none) answer.text("window", name_of(other.window));
  return answer;
}

OtherTally read_other_tally(JsonReader& body) {
  OtherTally other{body.text("kind"), TallyWindow::none};
  if (body.any("window")) {
    other.window = value_of(kWindows, body.text("window")).value_or(TallyWindow::none);
  }
  return other;
}

Response encode(const TallyRequest& request, const TallyOutcome& outcome, DataForm form) {
  if (const auto* other = std::get_if<OtherTally>(&outcome)) return other_tally(*other).finish();
  if (std::holds_alternative<TallyMismatch>(outcome)) {
    return problem(Code::mismatch, "the id was used for another input");
  }
  if (std::holds_alternative<TooManyIds>(outcome)) {
    return problem(Code::overloaded, "the tally knows too many ids already");
  }
  const auto& tallied = std::get<Tallied>(outcome);
  Response response = json_response(200, merged_json(request, tallied.value, form));
  return tallied.replayed ? replayed(std::move(response)) : response;
}

Result<TallyOutcome> decode_tally_outcome(const Response& response, TallyKind kind, DataForm form) {
  const bool refused = problem_code(response) == Code::mismatch;
  if (refused && response.status != 409) return TallyMismatch{};
  JsonReader body(response.body);
  TallyOutcome outcome;
  if (refused) {
    outcome = read_other_tally(body);
  } else {
    outcome = Tallied{is_replay(response), read_value(body, kind, form)};
  }
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return outcome;
}

Response encode(const TallyReading& reading, DataForm form) {
  return json_response(200, reading_json(reading, form));
}

Response encode(const std::vector<std::optional<TallyReading>>& readings,
                const std::vector<std::size_t>& order, DataForm form) {
  const std::string values = json_array(order, [&](std::size_t at) {
    const std::optional<TallyReading>& reading = readings[at];
    return reading ? reading_json(*reading, form) : "null";
  });
  return json_response(200, JsonObject().raw("values", values).finish());
}

Response encode_contains(TallyKind kind, bool may_contain) {
  return json_response(
      200, JsonObject().text("kind", name_of(kind)).boolean("value", may_contain).finish());
}

Response no_tally() { return problem(Code::not_found, "there is no such tally"); }

Result<std::optional<TallyReading>> decode_tally_reading(const Response& response, DataForm form) {
  if (problem_code(response) == Code::not_found) return std::nullopt;
  JsonReader body(response.body);
  std::optional<TallyReading> reading = read_reading(body, form);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return reading;
}

Result<std::vector<std::optional<TallyReading>>> decode_tally_readings(const Response& response,
                                                                       std::size_t keys,
                                                                       DataForm form) {
  JsonReader body(response.body);
  std::vector<std::optional<TallyReading>> readings;
  for (const Json element : body.array("values")) {
    JsonReader one(element);
    readings.push_back(element.is_null() ? std::nullopt : read_reading(one, form));
    if (!one.readable()) body.fail();
  }
  if (readings.size() != keys) body.fail();
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return readings;
}

}  // namespace once::wire
