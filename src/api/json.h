// JSON in and out. What comes in is read field by field, and a field that nobody asks for is an
// error, so that a typo is not silently ignored. Numbers beyond 64 bits, nesting deeper than 100,
// duplicate fields and bad UTF-8 are refused.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "once/item.h"
#include "once/time.h"

namespace once::api {

// A parsed text. It and what is taken from it live until the same thread parses another.
using Json = simdjson::dom::element;
Result<Json> parse_json(std::string_view text);

// As one line, without spaces: what is stored, and what is answered.
std::string to_line(Json value);

// The fields of an object. Each is taken by its name; the first thing wrong is remembered, and what
// cannot be taken is nothing. finish() tells what was wrong, or which field nobody took.
class Fields {
 public:
  // `where` begins every complaint, such as "events[2].".
  explicit Fields(Json object, std::string where = "");

  std::optional<std::string> text(std::string_view name);
  std::optional<Duration> duration(std::string_view name);
  std::optional<Time> time(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name);
  std::optional<double> number(std::string_view name);
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::vector<Json>> array(std::string_view name);
  std::optional<std::vector<std::string>> texts(std::string_view name);
  std::optional<Json> object(std::string_view name);
  std::optional<Json> any(std::string_view name);

  void require(std::string_view name);  // Complains unless the field is there.
  void complain(std::string_view name, std::string_view problem);

  // The fields of an element of the array `name`; what is wrong with them is wrong here once they
  // are absorbed.
  Fields element(std::string_view name, std::size_t index, Json object) const;
  void absorb(Fields inner);

  Result<void> finish();

 private:
  std::string where_;
  std::vector<std::pair<std::string_view, Json>> fields_;
  std::vector<bool> taken_;
  std::optional<Error> wrong_;
};

// Builds one object. Values are escaped, and what is not UTF-8 is made so: a program may label what
// it stores with any bytes. raw() takes JSON as it is.
class JsonObject {
 public:
  JsonObject& text(std::string_view name, std::string_view value);
  JsonObject& integer(std::string_view name, std::int64_t value);
  JsonObject& boolean(std::string_view name, bool value);
  JsonObject& time(std::string_view name, Time value);
  JsonObject& raw(std::string_view name, std::string_view json);
  std::string finish();  // Ends it.

 private:
  std::string& next(std::string_view name);
  std::string out_ = "{";
};

void append_quoted(std::string& out, std::string_view text);
std::string json_text(std::string_view text);
std::string base64(std::string_view bytes);
std::string number_text(double value);  // Shortest that reads back the same.

template <class Values, class Each>
std::string json_array(const Values& values, Each each) {
  std::string out = "[";
  for (const auto& value : values) {
    if (out.size() > 1) out += ',';
    out += each(value);
  }
  return out += ']';
}

// Stored bytes as JSON: as they are if they are JSON, as a string if they are text, and otherwise
// as {"base64": ...}: a program may store what it likes. Nothing stored is null.
std::string stored_as_json(const Bytes& bytes);

}  // namespace once::api
