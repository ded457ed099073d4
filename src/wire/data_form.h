// How a program's own bytes are sent: results, failures, payloads, events, the documents of a
// commit, the items of a tally and the state of a filter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/json.h"
#include "wire/message.h"

namespace once::wire {

inline constexpr std::string_view kDataHeader = "Once-Bytes";
inline constexpr std::string_view kExactData = "base64url";

enum class DataForm : std::uint8_t {
  json,   // As JSON, for people and programs in any language. Its spaces are not kept.
  exact,  // As a base64url string of exactly these bytes. The library asks for this.
};

// The form that the request's Once-Bytes asks for. Its answer has the same form.
Result<DataForm> form_in(const Headers& headers);

// Stored bytes in a request; nothing if the field is missing or not in this form.
std::optional<Bytes> take_data(Fields& fields, std::string_view name, DataForm form);

// The same for a field that is a string in both forms.
std::optional<Bytes> take_text(Fields& fields, std::string_view name, DataForm form);

// A string that was an element of an array; nothing if it is not in this form.
std::optional<Bytes> text_in(std::string text, DataForm form);

// Stored bytes in an answer.
Bytes read_data(JsonReader& answer, std::string_view name, DataForm form);
Bytes read_text(JsonReader& answer, std::string_view name, DataForm form);

std::string data_json(const Bytes& bytes, DataForm form);
std::string text_json(const Bytes& bytes, DataForm form);

}  // namespace once::wire
