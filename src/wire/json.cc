#include "wire/json.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/byte_words.h"
#include "base/encoding.h"
#include "wire/text.h"

namespace once::wire {
namespace {

constexpr std::size_t kMaxFields = 32;  // More than any request has.

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c != '"' && c != '\\' && byte >= 0x20 && byte < 0x80;
}

// How many characters at the front need no escape.
std::size_t plain_length(std::string_view text) {
  std::size_t length = 0;
  for (; text.size() - length >= kWordBytes; length += kWordBytes) {
    const std::uint64_t word = word_at(text.data() + length);
    if (any_beyond_ascii(word) || any_less(word, 0x20) || any_equal(word, '"') ||
        any_equal(word, '\\')) {
      break;
    }
  }
  while (length < text.size() && is_plain(text[length])) ++length;
  return length;
}

void append_escaped(std::string& out, char c) {
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
    return;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u00";
  out += kHex[static_cast<unsigned char>(c) >> 4];
  out += kHex[static_cast<unsigned char>(c) & 15];
}

}  // namespace

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

Result<Json> parse_body(std::string_view body) { return parse_json(body.empty() ? "{}" : body); }

Fields::Fields(Json object, std::string where) : where_(std::move(where)) {
  simdjson::dom::object fields;
  if (object.get(fields) != simdjson::SUCCESS) {
    wrong_ = Error{ErrorCode::invalid,
                   where_.empty() ? "the body is not a JSON object" : where_ + " is not an object"};
    return;
  }
  if (fields.size() > kMaxFields) {
    wrong_ = Error{ErrorCode::invalid, where_ + (where_.empty() ? "the body" : "") +
                                           " has more fields than any request"};
    return;
  }
  if (!where_.empty()) where_ += '.';
  for (const auto& [name, value] : fields) {
    for (const auto& [other, unused] : fields_) {
      if (other == name) complain(name, "is there twice");
    }
    fields_.emplace_back(name, value);
  }
  taken_.resize(fields_.size());
}

void Fields::complain(std::string_view name, std::string_view problem) {
  if (wrong_) return;
  std::string message = where_;
  message.append(name).append(" ").append(problem);
  wrong_ = Error{ErrorCode::invalid, std::move(message)};
}

Fields Fields::element(std::string_view name, std::size_t index, Json object) const {
  std::string where = where_;
  where.append(name).append("[").append(std::to_string(index)).append("]");
  return Fields(object, std::move(where));
}

void Fields::absorb(Fields inner) {
  Result<void> ok = inner.finish();
  if (!ok && !wrong_) wrong_ = std::move(ok.error());
}

std::optional<Json> Fields::any(std::string_view name) {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].first != name) continue;
    taken_[i] = true;
    return fields_[i].second;
  }
  return std::nullopt;
}

void Fields::require(std::string_view name) {
  const bool there =
      std::ranges::any_of(fields_, [&](const auto& field) { return field.first == name; });
  if (!there) complain(name, "is missing");
}

std::optional<std::string> Fields::text(std::string_view name) {
  const std::optional<Json> field = any(name);
  if (!field) return std::nullopt;
  std::string_view value;
  if (field->get(value) == simdjson::SUCCESS) return std::string(value);
  complain(name, "is not a string");
  return std::nullopt;
}

std::optional<Duration> Fields::duration(std::string_view name) {
  const std::optional<Json> field = any(name);
  if (!field) return std::nullopt;
  std::string_view written;
  double seconds = 0;
  std::optional<Duration> value;
  if (field->get(written) == simdjson::SUCCESS) {
    value = parse_duration(written);
  } else if (field->get(seconds) == simdjson::SUCCESS) {
    value = duration_of_seconds(seconds);
  }
  if (!value) complain(name, "is not a duration such as 250ms, 30s, 5m, 24h or 7d");
  return value;
}

std::optional<Time> Fields::time(std::string_view name) {
  const std::optional<std::string> written = text(name);
  if (!written) return std::nullopt;
  const std::optional<Time> value = parse_time(*written);
  if (!value) complain(name, "is not a time of RFC 3339 such as 2026-01-31T09:30:00Z");
  return value;
}

std::optional<std::int64_t> Fields::integer(std::string_view name) {
  const std::optional<Json> field = any(name);
  if (!field) return std::nullopt;
  std::int64_t value = 0;
  if (field->type() == simdjson::dom::element_type::INT64 &&
      field->get(value) == simdjson::SUCCESS) {
    return value;
  }
  complain(name, "is not an integer of 64 bits");
  return std::nullopt;
}

std::optional<double> Fields::number(std::string_view name) {
  const std::optional<Json> field = any(name);
  if (!field) return std::nullopt;
  double value = 0;
  if (field->get(value) == simdjson::SUCCESS) return value;
  complain(name, "is not a number");
  return std::nullopt;
}

std::optional<bool> Fields::boolean(std::string_view name) {
  const std::optional<Json> field = any(name);
  if (!field) return std::nullopt;
  bool value = false;
  if (field->get(value) == simdjson::SUCCESS) return value;
  complain(name, "is neither true nor false");
  return std::nullopt;
}

std::optional<std::vector<Json>> Fields::array(std::string_view name) {
  const std::optional<Json> field = any(name);
  if (!field) return std::nullopt;
  simdjson::dom::array values;
  if (field->get(values) != simdjson::SUCCESS) {
    complain(name, "is not an array");
    return std::nullopt;
  }
  return std::vector<Json>(values.begin(), values.end());
}

std::optional<std::vector<std::string>> Fields::texts(std::string_view name) {
  const std::optional<std::vector<Json>> values = array(name);
  if (!values) return std::nullopt;
  std::vector<std::string> out;
  out.reserve(values->size());
  for (const Json& value : *values) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      complain(name, "is not an array of strings");
      return std::nullopt;
    }
    out.emplace_back(text);
  }
  return out;
}

std::optional<Json> Fields::object(std::string_view name) {
  const std::optional<Json> field = any(name);
  if (field && !field->is_object()) complain(name, "is not an object");
  return field && field->is_object() ? field : std::nullopt;
}

Result<void> Fields::finish() {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (!taken_[i]) complain(fields_[i].first, "is not a field of this request");
  }
  if (wrong_) return std::unexpected(std::move(*wrong_));
  return {};
}

JsonReader::JsonReader(std::string_view text) {
  const Result<Json> parsed = parse_json(text);
  readable_ = parsed.has_value();
  if (parsed) value_ = *parsed;
}

std::optional<Json> JsonReader::value(std::string_view name) {
  Json found;
  if (!value_ || (*value_)[name].get(found) != simdjson::SUCCESS) return std::nullopt;
  return found;
}

std::optional<Json> JsonReader::any(std::string_view name) {
  const std::optional<Json> found = value(name);
  return found && !found->is_null() ? found : std::nullopt;
}

std::string JsonReader::text(std::string_view name) {
  const std::optional<Json> found = any(name);
  std::string_view text;
  if (!found || found->get(text) != simdjson::SUCCESS) fail();
  return std::string(text);
}

std::int64_t JsonReader::integer(std::string_view name) {
  const std::optional<Json> found = any(name);
  std::int64_t value = 0;
  if (!found || found->get(value) != simdjson::SUCCESS) fail();
  return value;
}

double JsonReader::number(std::string_view name) {
  const std::optional<Json> found = any(name);
  double value = 0;
  if (!found || found->get(value) != simdjson::SUCCESS) fail();
  return value;
}

bool JsonReader::boolean(std::string_view name) {
  const std::optional<Json> found = any(name);
  bool value = false;
  if (!found || found->get(value) != simdjson::SUCCESS) fail();
  return value;
}

Time JsonReader::time(std::string_view name) {
  const std::optional<Time> time = parse_time(text(name));
  if (!time) fail();
  return time.value_or(Time{});
}

std::vector<Json> JsonReader::array(std::string_view name) {
  const std::optional<Json> found = any(name);
  simdjson::dom::array values;
  if (!found || found->get(values) != simdjson::SUCCESS) {
    fail();
    return {};
  }
  return {values.begin(), values.end()};
}

Result<void> JsonReader::finish() const {
  if (readable_) return {};
  return unreadable_answer();
}

std::unexpected<Error> unreadable_answer() {
  return failure(ErrorCode::unknown, "the server answered what this program does not understand");
}

Result<std::string> request_time(Time time) {
  using namespace std::chrono;
  if (time >= Time{} && time < Time(sys_days(year(10'000) / 1 / 1))) return format_time(time);
  return failure(ErrorCode::invalid, "a time before 1970 or after 9999");
}

void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD.
  out += '"';
  // Most texts are copied whole.
  const std::size_t plain = plain_length(text);
  out += text.substr(0, plain);
  text.remove_prefix(plain);
  const bool sound = text.empty() || is_utf8(text);
  for (const char c : text) {
    const bool beyond_ascii = static_cast<unsigned char>(c) >= 0x80;
    if (beyond_ascii && !sound) {
      out += kReplacement;
    } else if (beyond_ascii || is_plain(c)) {
      out += c;
    } else {
      append_escaped(out, c);
    }
  }
  out += '"';
}

std::string json_text(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string& JsonObject::next(std::string_view name) {
  if (out_.size() > 1) out_ += ',';
  append_quoted(out_, name);
  out_ += ':';
  return out_;
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  append_quoted(next(name), value);
  return *this;
}

JsonObject& JsonObject::integer(std::string_view name, std::int64_t value) {
  next(name) += std::to_string(value);
  return *this;
}

JsonObject& JsonObject::boolean(std::string_view name, bool value) {
  next(name) += value ? "true" : "false";
  return *this;
}

JsonObject& JsonObject::time(std::string_view name, Time value) {
  return text(name, format_time(value));
}

JsonObject& JsonObject::duration(std::string_view name, Duration value) {
  return text(name, std::to_string(value.count()) + "ms");
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view json) {
  next(name) += json;
  return *this;
}

std::string JsonObject::finish() {
  out_ += '}';
  return std::move(out_);
}

std::string stored_as_json(const Bytes& bytes) {
  if (bytes.empty()) return "null";
  if (const Result<Json> json = parse_json(bytes)) return to_line(*json);
  if (is_utf8(bytes)) return json_text(bytes);
  return JsonObject().text("base64", base64_encode(bytes)).finish();
}

}  // namespace once::wire
