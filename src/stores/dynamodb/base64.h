// Binary attributes travel as base64.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace once::dynamodb {

std::string to_base64(std::string_view bytes);

// Nothing for what is not base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace once::dynamodb
