// JSON in and out. A request is read strictly (Fields), an answer leniently (JsonReader), so that a
// newer server may add fields.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "once/error.h"
#include "once/item.h"
#include "once/time.h"

namespace once::wire {

using once::Json;
using once::parse_json;
using once::to_line;

// As parse_json(), except that an empty body is an object without fields.
Result<Json> parse_body(std::string_view body);

// The fields of a request. Each is taken by its name; the first fault is remembered, and a faulty
// field reads as absent. finish() reports that fault, or a field that was there twice or that
// nobody took, so that a typo is not silently ignored.
class Fields {
 public:
  // `where` begins every message, such as "events[2].".
  explicit Fields(Json object, std::string where = "");

  std::optional<std::string> text(std::string_view name);
  std::optional<Duration> duration(std::string_view name);  // Text, or a number of seconds.
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

  // The fields of an element of the array `name`. absorb() makes their fault the fault of this.
  Fields element(std::string_view name, std::size_t index, Json object) const;
  void absorb(Fields inner);

  Result<void> finish();

 private:
  std::string where_;
  std::vector<std::pair<std::string_view, Json>> fields_;
  std::vector<bool> taken_;
  std::optional<Error> wrong_;
};

// The fields of an answer. Unknown fields are ignored. A field that is missing or of another type
// makes the whole answer unreadable, and reads as an empty value.
class JsonReader {
 public:
  // It and what is taken from it live until the same thread parses another text.
  explicit JsonReader(std::string_view text);
  explicit JsonReader(Json value) : value_(value) {}

  std::string text(std::string_view name);
  std::int64_t integer(std::string_view name);
  double number(std::string_view name);
  bool boolean(std::string_view name);
  Time time(std::string_view name);
  std::vector<Json> array(std::string_view name);
  std::optional<Json> any(std::string_view name);    // Nothing if it is missing or null.
  std::optional<Json> value(std::string_view name);  // As any(), but null is a value.

  // Calls `read` with a reader of each element of the array `name`.
  template <class Read>
  void each(std::string_view name, Read read) {
    for (const Json element : array(name)) {
      JsonReader one(element);
      read(one);
      if (!one.readable()) fail();
    }
  }

  void fail() { readable_ = false; }
  bool readable() const { return readable_; }

  // `unknown` if the answer was unreadable: the request may have been carried out.
  Result<void> finish() const;

 private:
  std::optional<Json> value_;
  bool readable_ = true;
};

std::unexpected<Error> unreadable_answer();

// Builds one object. Values are escaped. Bytes that are not UTF-8 become U+FFFD: a program may
// label what it stores with any bytes. raw() takes JSON as it is.
class JsonObject {
 public:
  JsonObject& text(std::string_view name, std::string_view value);
  JsonObject& integer(std::string_view name, std::int64_t value);
  JsonObject& boolean(std::string_view name, bool value);
  JsonObject& time(std::string_view name, Time value);
  JsonObject& duration(std::string_view name, Duration value);  // In milliseconds: "250ms".
  JsonObject& raw(std::string_view name, std::string_view json);
  std::string finish();  // Ends it.

 private:
  std::string& next(std::string_view name);
  std::string out_ = "{";
};

void append_quoted(std::string& out, std::string_view text);
std::string json_text(std::string_view text);
std::string base64(std::string_view bytes);
std::string number_text(double value);  // The shortest that reads back the same.

// A time of a request. `invalid` if RFC 3339 cannot express it: before 1970 or after 9999.
Result<std::string> request_time(Time time);

template <class Values, class Each>
std::string json_array(const Values& values, Each each) {
  std::string out = "[";
  for (const auto& value : values) {
    if (out.size() > 1) out += ',';
    out += each(value);
  }
  return out += ']';
}

// Stored bytes as JSON: unchanged if they are JSON, a string if they are text, and otherwise
// {"base64": ...}, because a program may store any bytes. Empty bytes are null.
std::string stored_as_json(const Bytes& bytes);

}  // namespace once::wire

namespace once::api {
using namespace wire;
}
