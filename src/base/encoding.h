// Bytes written as text: base64, percent-encoding and hexadecimal digits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "once/item.h"

namespace once {

// Base64 in its URL alphabet and without padding (RFC 4648, section 5): fits into a JSON string, a
// header and a shell word.
std::string base64url_encode(std::string_view bytes);

// Empty unless `text` is exactly what base64url_encode() makes of some bytes.
std::optional<Bytes> base64url_decode(std::string_view text);

// Base64 in its first alphabet and with padding (RFC 4648, section 4).
std::string base64_encode(std::string_view bytes);

// Empty unless `text` is exactly what base64_encode() makes of some bytes.
std::optional<Bytes> base64_decode(std::string_view text);

// Everything but the unreserved characters of RFC 3986 (letters, digits and -._~) as %XX, in upper
// case.
std::string percent_encode(std::string_view text);

// Empty if a % is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

// Two digits a byte, in lower case.
std::string hex_encode(std::string_view bytes);

// Appends `part` with its length in front. So a name made of "a" and "bc" is not the one made of
// "ab" and "c" (docs/hazards.md#h32).
void append_part(std::string& name, std::string_view part);

}  // namespace once
