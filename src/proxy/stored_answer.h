// An upstream's answer as it is stored and replayed. docs/formats.md draws the bytes.
#pragma once

#include <string>
#include <string_view>

#include "once/error.h"
#include "once/item.h"
#include "wire/message.h"

namespace once::proxy {

struct StoredAnswer {
  api::Response response;

  // The body had more bytes than the store takes; only how many is known.
  bool without_body = false;
  std::uint64_t body_bytes = 0;
};

Bytes encode(const api::Response& response);
Bytes encode_without_body(const api::Response& response);  // Its status and length, no headers.
Bytes encode_without_body(int status, std::uint64_t body_bytes);
Result<StoredAnswer> decode_answer(std::string_view record);

}  // namespace once::proxy
