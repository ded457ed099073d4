#include "remote/tallies.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "api/data_form.h"
#include "api/text.h"
#include "primitives/keys.h"
#include "primitives/text_armor.h"

namespace once::remote {
namespace {

using api::DataForm;
using api::JsonObject;

constexpr std::array<std::pair<TallyKind, std::string_view>, 8> kKinds = {
    {{TallyKind::sum, "sum"},
     {TallyKind::real, "real"},
     {TallyKind::count, "count"},
     {TallyKind::max, "max"},
     {TallyKind::min, "min"},
     {TallyKind::distinct, "distinct"},
     {TallyKind::top, "top"},
     {TallyKind::bloom, "bloom"}}};

constexpr std::array<std::pair<TallyWindow, std::string_view>, 4> kWindows = {
    {{TallyWindow::none, "none"},
     {TallyWindow::minute, "minute"},
     {TallyWindow::hour, "hour"},
     {TallyWindow::day, "day"}}};

template <class Names, class Value>
std::string_view name_of(const Names& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "";
}

template <class Names>
auto value_of(const Names& names, std::string_view name) {
  for (const auto& [value, known] : names) {
    if (known == name) return std::optional(value);
  }
  return std::optional<std::remove_const_t<decltype(names.front().first)>>();
}

std::unexpected<Error> not_for_servers() {
  return failure(ErrorCode::unsupported, "a server knows no tally of a program's own kind");
}

bool merges_again(TallyKind kind) {
  return kind == TallyKind::max || kind == TallyKind::min || kind == TallyKind::distinct ||
         kind == TallyKind::bloom;
}

Result<std::string> items_json(const std::vector<CountedItem>& items, TallyKind kind) {
  std::string out = "[";
  for (const CountedItem& item : items) {
    if (out.size() > 1) out += ',';
    const std::string text = api::text_json(item.item, DataForm::exact);
    if (kind != TallyKind::top) {
      out += text;
      continue;
    }
    if (item.count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
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

Result<void> write_input(JsonObject& out, const TallyRequest& request) {
  const TallyKind kind = request.shape.kind;
  const auto* number = std::get_if<std::int64_t>(&request.input);
  const auto* real = std::get_if<double>(&request.input);
  const auto* items = std::get_if<std::vector<CountedItem>>(&request.input);
  const bool is_real = kind == TallyKind::real;
  const bool takes_items =
      kind == TallyKind::distinct || kind == TallyKind::top || kind == TallyKind::bloom;
  if (takes_items && items != nullptr) {
    const Result<std::string> written = items_json(*items, kind);
    if (!written) return std::unexpected(written.error());
    out.raw("items", *written);
  } else if (is_real && real != nullptr && std::isfinite(*real)) {
    out.raw("add", api::number_text(*real));
  } else if (!is_real && !takes_items && number != nullptr) {
    const bool is_extreme = kind == TallyKind::max || kind == TallyKind::min;
    out.integer(is_extreme ? "value" : "add", *number);
  } else {
    return failure(ErrorCode::invalid, "an input that the tally's kind does not take");
  }
  return {};
}

void write_shape(JsonObject& out, const TallyShape& shape) {
  out.text("kind", name_of(kKinds, shape.kind));
  if (shape.window != TallyWindow::none) out.text("window", name_of(kWindows, shape.window));
  if (shape.kind == TallyKind::distinct) out.integer("precision", shape.precision);
  if (shape.kind == TallyKind::top) {
    out.integer("counters", static_cast<std::int64_t>(shape.counters));
  }
  if (shape.kind == TallyKind::bloom) {
    out.integer("capacity", static_cast<std::int64_t>(shape.capacity));
    out.raw("rate", std::isfinite(shape.rate) ? api::number_text(shape.rate) : "0");
  }
}

Result<void> check_id(const TallyRequest& request) {
  if (request.id.empty()) return {};
  if (Result<void> ok = keys::check_name(request.id); !ok) return ok;
  if (request.id_ttl == TallyRequest{}.id_ttl) return {};
  return failure(ErrorCode::unsupported, "a server remembers an id for a day, and no other time");
}

HeavyItem heavy_in(Reading& body) {
  HeavyItem heavy{body.data("item"), 0, 0};
  heavy.count = static_cast<std::uint64_t>(body.integer("count"));
  heavy.error = static_cast<std::uint64_t>(body.integer("error"));
  return heavy;
}

std::optional<TallyReading> reading_in(Reading& body) {
  const auto kind = value_of(kKinds, body.text("kind"));
  const auto window =
      body.any("window") ? value_of(kWindows, body.text("window")) : std::optional(TallyWindow{});
  if (!kind || !window) body.misunderstood();
  if (!body.sound()) return std::nullopt;
  std::optional<TallyValue> value = value_in(body, *kind);
  return TallyReading{*kind, *window, std::move(value).value_or(std::monostate())};
}

Result<void> write_range(const TallyRange& range, auto write) {
  for (const auto& [name, end] : {std::pair("from", range.from), std::pair("to", range.to)}) {
    if (!end) continue;
    const Result<std::string> time = time_text(*end);
    if (!time) return std::unexpected(time.error());
    write(name, *time);
  }
  return {};
}

}  // namespace

Result<void> write_tally(JsonObject& out, const TallyRequest& request) {
  if (request.shape.kind == TallyKind::own) return not_for_servers();
  if (Result<void> ok = check_id(request); !ok) return ok;
  write_shape(out, request.shape);
  if (Result<void> ok = write_input(out, request); !ok) return ok;
  if (!request.id.empty()) out.text("id", request.id);
  if (request.ttl) out.text("ttl", duration_text(*request.ttl));
  if (!request.at) return {};
  const Result<std::string> at = time_text(*request.at);
  if (!at) return std::unexpected(at.error());
  out.text("at", *at);
  return {};
}

std::optional<TallyValue> value_in(Reading& body, TallyKind kind) {
  const std::optional<api::Json> given = body.any("value");
  if (!given) return std::nullopt;
  if (kind == TallyKind::real) return body.number("value");
  if (kind == TallyKind::bloom) {
    if (given->is_bool()) return std::nullopt;  // To a merge, which is told nothing more.
    return BloomAnswer{body.data("value")};
  }
  if (kind != TallyKind::top) return body.integer("value");
  std::vector<HeavyItem> items;
  for (const api::Json& element : body.array("value")) {
    Reading item(element);
    items.push_back(heavy_in(item));
    if (!item.sound()) body.misunderstood();
  }
  return items;
}

OtherTally other_in(Reading& body) {
  const auto window =
      body.any("window") ? value_of(kWindows, body.text("window")) : std::optional(TallyWindow{});
  return {body.text("kind"), window.value_or(TallyWindow::none)};
}

Result<TallyOutcome> RemoteTallies::merge(std::string_view name, const TallyRequest& given) {
  Result<api::Request> question = peer_.request("POST", "tallies", name);
  if (!question) return std::unexpected(std::move(question.error()));
  // What merges again does so into the same bucket only if it is the same; later it may be another.
  TallyRequest request = given;
  const bool drifts = request.shape.window != TallyWindow::none && !request.at;
  const bool own = request.id.empty() && merges_again(request.shape.kind) && drifts;
  if (own) request.id = peer_.new_id();
  JsonObject body;
  if (Result<void> ok = write_tally(body, request); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  question->body = body.finish();
  const bool repeatable = !request.id.empty() || merges_again(request.shape.kind);
  const Result<Told> told = peer_.ask(*question, repeatable ? Repeat::safe : Repeat::never);
  if (!told) return std::unexpected(told.error());
  const std::string code = code_of(told->response);
  if (code == "mismatch" && told->response.status != 409) return TallyMismatch{};
  Reading answer(told->response);
  TallyOutcome outcome;
  if (code == "mismatch") {
    outcome = other_in(answer);
  } else {
    outcome = Tallied{is_replayed(told->response) && !own && !told->again,
                      value_in(answer, request.shape.kind)};
  }
  if (Result<void> ok = answer.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return outcome;
}

Result<std::optional<TallyReading>> RemoteTallies::read(std::string_view name,
                                                        const TallyRange& range,
                                                        std::shared_ptr<const Monoid> own) {
  if (own != nullptr) return not_for_servers();
  Result<api::Request> question = peer_.request("GET", "tallies", name);
  if (!question) return std::unexpected(std::move(question.error()));
  char before = '?';
  const auto add = [&](std::string_view end, const std::string& time) {
    question->target.append(1, std::exchange(before, '&')).append(end).append("=");
    question->target.append(api::encode_percent(time));
  };
  if (Result<void> ok = write_range(range, add); !ok) return std::unexpected(std::move(ok.error()));
  const Result<Told> told = peer_.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(told.error());
  if (code_of(told->response) == "not_found") return std::nullopt;
  Reading body(told->response);
  std::optional<TallyReading> reading = reading_in(body);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return reading;
}

Result<std::vector<std::optional<TallyReading>>> RemoteTallies::read_all(
    std::span<const std::string> names, const TallyRange& range,
    std::shared_ptr<const Monoid> own) {
  if (own != nullptr) return not_for_servers();
  for (const std::string& name : names) {
    if (Result<void> ok = keys::check_name(name); !ok)
      return std::unexpected(std::move(ok.error()));
  }
  Result<api::Request> question = peer_.request("POST", "/v1/tallies/read");
  if (!question) return std::unexpected(std::move(question.error()));
  JsonObject body;
  body.raw("keys", api::json_array(names, api::json_text));
  const auto add = [&](std::string_view end, const std::string& time) { body.text(end, time); };
  if (Result<void> ok = write_range(range, add); !ok) return std::unexpected(std::move(ok.error()));
  question->body = body.finish();
  const Result<Told> told = peer_.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(told.error());
  Reading answer(told->response);
  std::vector<std::optional<TallyReading>> readings;
  for (const api::Json& element : answer.array("values")) {
    Reading one(element);
    readings.push_back(element.is_null() ? std::nullopt : reading_in(one));
    if (!one.sound()) answer.misunderstood();
  }
  if (readings.size() != names.size()) answer.misunderstood();
  if (Result<void> ok = answer.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return readings;
}

}  // namespace once::remote
