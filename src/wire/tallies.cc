#include "wire/tallies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/encoding.h"
#include "primitives/keys.h"
#include "wire/listing.h"
#include "wire/text.h"

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

// Its name, or its length in the largest unit that divides it.
std::string name_of(TallyWindow window) {
  const std::string_view known = name_in(kWindows, window, "");
  if (!known.empty()) return std::string(known);
  constexpr std::array<std::pair<char, std::int64_t>, 4> kUnits = {
      {{'d', 86'400'000}, {'h', 3'600'000}, {'m', 60'000}, {'s', 1'000}}};
  const std::int64_t length = window.length.count();
  for (const auto& [unit, millis] : kUnits) {
    if (length % millis == 0) return std::to_string(length / millis) + unit;
  }
  return std::to_string(length) + "ms";
}

std::optional<TallyWindow> window_named(std::string_view name) {
  if (const auto known = value_of(kWindows, name)) return known;
  const std::optional<Duration> length = parse_duration(name);
  if (!length || *length == Duration::zero() || !is_window({*length})) return std::nullopt;
  return TallyWindow{*length};
}

TallyKind take_kind(Fields& fields) {
  fields.require("kind");
  const auto kind = value_of(kTallyKinds, fields.text("kind").value_or("sum"));
  if (!kind) {
    fields.complain("kind", "is none of sum, real, count, max, min, distinct, top and bloom");
  }
  return kind.value_or(TallyKind::sum);
}

TallyWindow take_window(Fields& fields) {
  const std::optional<Json> given = fields.any("window");
  if (!given) return TallyWindow::none;
  std::string_view name;
  double seconds = 0;
  std::optional<TallyWindow> window;
  if (given->get(name) == simdjson::SUCCESS) {
    window = window_named(name);
  } else if (given->get(seconds) == simdjson::SUCCESS) {
    const std::optional<Duration> length = duration_of_seconds(seconds);
    if (length && *length > Duration::zero() && is_window({*length})) window = {*length};
  }
  if (!window) {
    fields.complain("window",
                    "is neither minute, hour or day nor a duration that divides a day or is a "
                    "multiple of one");
  }
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
  return keys::check_name(request.id);
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
  if (range.last) write("last", std::to_string(range.last->count()) + "ms");
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

// The value as it was asked for.
Result<std::string> asked_json(TallyKind kind, const TallyValue& value,
                               const std::optional<std::string>& item,
                               std::optional<std::size_t> limit, DataForm form) {
  if (item) {
    const auto* filter = std::get_if<BloomAnswer>(&value);
    if (filter == nullptr) return failure(ErrorCode::invalid, "item is for a bloom filter");
    return filter->may_contain(*item) ? "true" : "false";
  }
  if (kind == TallyKind::bloom && form == DataForm::json) {
    return failure(ErrorCode::invalid, "a bloom filter is asked for an item");
  }
  if (!limit) return value_json(value, form);
  const auto* heavy = std::get_if<std::vector<HeavyItem>>(&value);
  if (heavy == nullptr) return failure(ErrorCode::invalid, "limit is for a top");
  const std::size_t count = std::min(*limit, heavy->size());
  return json_array(std::span(*heavy).first(count),
                    [form](const HeavyItem& one) { return heavy_json(one, form); });
}

TallyRange take_range(Fields& fields) {
  TallyRange range{fields.time("from"), fields.time("to"), fields.duration("last")};
  if (range.last && (range.from || range.to)) {
    fields.complain("last", "is without from and to");
  }
  return range;
}

TalliesReadRequest::Read take_read(Fields& fields) {
  fields.require("key");
  TalliesReadRequest::Read read{fields.text("key").value_or(""), take_range(fields),
                                fields.text("item"), std::nullopt};
  if (fields.any("limit")) {
    const std::int64_t limit = fields.integer("limit").value_or(0);
    if (limit < 1) fields.complain("limit", "is not positive");
    read.limit = static_cast<std::size_t>(std::max<std::int64_t>(limit, 1));
  }
  return read;
}

Result<std::string> read_json(const TalliesReadRequest::Read& read) {
  JsonObject out;
  out.text("key", read.key);
  const auto add = [&](std::string_view end, const std::string& time) { out.text(end, time); };
  if (Result<void> ok = write_range(read.range, add); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  if (read.item) out.text("item", *read.item);
  if (read.limit) out.integer("limit", static_cast<std::int64_t>(*read.limit));
  return out.finish();
}

TallyWindow read_window(JsonReader& body) {
  if (!body.any("window")) return TallyWindow::none;
  const auto window = window_named(body.text("window"));
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
  request.id_ttl = fields.duration("id_ttl").value_or(request.id_ttl);
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
  if (request.id_ttl != TallyRequest{}.id_ttl) out.duration("id_ttl", request.id_ttl);
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
  if (!request.reads.empty()) {
    std::string reads = "[";
    for (const TalliesReadRequest::Read& read : request.reads) {
      const Result<std::string> one = read_json(read);
      if (!one) return std::unexpected(one.error());
      reads.append(reads.size() > 1 ? "," : "").append(*one);
    }
    return body.raw("reads", reads + "]").finish();
  }
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
  TalliesReadRequest request;
  if (const std::optional<std::vector<Json>> reads = fields.array("reads")) {
    if (reads->size() > tallies::kMaxReads) fields.complain("reads", "are more than 10000");
    for (std::size_t i = 0; i < std::min(reads->size(), tallies::kMaxReads); ++i) {
      Fields inner = fields.element("reads", i, (*reads)[i]);
      request.reads.push_back(take_read(inner));
      fields.absorb(std::move(inner));
    }
    if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
    return request;
  }
  fields.require("keys");
  request.keys = fields.texts("keys").value_or(std::vector<std::string>());
  request.range = take_range(fields);
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
    other.window = window_named(body.text("window")).value_or(TallyWindow::none);
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

Result<std::string> reading_json(const TallyReading& reading,
                                 const std::optional<std::string>& item,
                                 std::optional<std::size_t> limit, DataForm form) {
  const Result<std::string> value = asked_json(reading.kind, reading.value, item, limit, form);
  if (!value) return std::unexpected(value.error());
  JsonObject out;
  out.text("kind", name_of(reading.kind));
  if (reading.window != TallyWindow::none && !item) out.text("window", name_of(reading.window));
  return out.raw("value", *value).finish();
}

Result<Response> encode(const TallySeries& series, const std::optional<std::string>& item,
                        std::optional<std::size_t> limit, DataForm form) {
  std::string rows = "[";
  for (const TallySeries::Row& row : series.rows) {
    const Result<std::string> value = asked_json(series.kind, row.value, item, limit, form);
    if (!value) return std::unexpected(value.error());
    JsonObject one;
    one.time("at", row.at).raw("value", *value);
    rows.append(rows.size() > 1 ? "," : "").append(one.finish());
  }
  JsonObject body;
  body.text("kind", name_of(series.kind));
  if (series.window != TallyWindow::none) body.text("window", name_of(series.window));
  return json_response(200, body.raw("series", rows + "]").finish());
}

Result<std::optional<TallySeries>> decode_tally_series(const Response& response, DataForm form) {
  if (problem_code(response) == Code::not_found) return std::nullopt;
  JsonReader body(response.body);
  TallySeries series;
  const auto kind = value_of(kTallyKinds, body.text("kind"));
  if (!kind) body.fail();
  series.kind = kind.value_or(TallyKind::sum);
  series.window = read_window(body);
  body.each("series", [&](JsonReader& row) {
    const Time at = row.time("at");
    series.rows.push_back(
        {at, read_value(row, series.kind, form).value_or(TallyValue(std::monostate()))});
  });
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return series;
}

Response encode(const TallyPage& page) {
  JsonObject body;
  body.raw("tallies", json_array(page.tallies, [](const ListedTally& tally) {
             JsonObject row;
             row.text("key", tally.name).text("kind", tally.kind);
             if (tally.window == TallyWindow::none) {
               row.raw("window", "null");
             } else {
               row.text("window", name_of(tally.window));
             }
             return row.finish();
           }));
  add_cursor(body, page.cursor);
  return json_response(200, body.finish());
}

Result<TallyPage> decode_tally_page(const Response& response) {
  JsonReader body(response.body);
  TallyPage page;
  body.each("tallies", [&](JsonReader& row) {
    std::string name = row.text("key");
    std::string kind = row.text("kind");
    page.tallies.push_back({std::move(name), std::move(kind), read_window(row)});
  });
  page.cursor = read_cursor(body);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return page;
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
