// The header of a request, judged as bytes before anything reads its fields. Whatever two servers
// could frame differently is refused here, so nothing that is smuggled in a request gets any
// further: not to the API, and not through a proxy (docs/hazards.md#h42).
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "wire/message.h"

namespace once::server {

// Finds the end of a header that arrives in pieces.
class HeaderScan {
 public:
  // `bytes` are all that arrived since the request began. The length of the header with the empty
  // line that ends it; nothing if more has to come. An error says why it is no header: a line
  // that ends in anything but CR LF, or that continues the line before it.
  std::expected<std::optional<std::size_t>, std::string_view> find_end(std::string_view bytes);

 private:
  std::size_t line_ = 0;     // Where the current line begins.
  std::size_t scanned_ = 0;  // Everything before it was looked at.
};

// Why a whole header is refused; nothing if it is not. It is if it does not tell beyond doubt where
// the body ends (Transfer-Encoding, Content-Length) and whom it is for (Host, an absolute target).
std::optional<api::Response> judge_header(std::string_view header);

// The target without the scheme and host that a client may send, as to a proxy.
std::string origin_form(std::string_view target);

// A CR or LF that is alone. `bytes` may end in the middle of a line end.
bool has_bare_line_end(std::string_view bytes);

}  // namespace once::server
