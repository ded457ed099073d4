// Bytes as text that fits in a JSON string, a header and a shell word: base64 in its URL alphabet,
// without padding (RFC 4648, section 5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "once/item.h"

namespace once {

std::string armored(std::string_view bytes);

// Empty unless `text` is just what armored() makes of some bytes.
std::optional<Bytes> unarmored(std::string_view text);

}  // namespace once
