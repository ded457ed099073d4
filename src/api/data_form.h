// How the bytes that programs keep travel: results, failures, payloads, events, the documents of a
// commit, the items of a tally and the state of a filter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/json.h"
#include "api/message.h"

namespace once::api {

inline constexpr std::string_view kDataHeader = "Once-Bytes";
inline constexpr std::string_view kExactData = "base64url";

enum class DataForm : std::uint8_t {
  json,   // As JSON, for people and programs in any language. Spaces in it are not kept.
  exact,  // As a string that holds the very bytes, armored. A program's library asks for this.
};

// As the request's Once-Bytes says, which goes for its answer, too.
Result<DataForm> form_in(const Headers& headers);

// Stored bytes, from a field of this name; nothing if it is not there, or not in this form.
std::optional<Bytes> take_data(Fields& fields, std::string_view name, DataForm form);

// The same where JSON has texts only.
std::optional<Bytes> take_text(Fields& fields, std::string_view name, DataForm form);

// A text that came as an element of an array; nothing if it is not in this form.
std::optional<Bytes> text_in(std::string text, DataForm form);

std::string data_json(const Bytes& bytes, DataForm form);
std::string text_json(const Bytes& bytes, DataForm form);

}  // namespace once::api
