// Answers as bytes of HTTP/1.1.
#pragma once

#include <string>
#include <string_view>

#include "api/message.h"
#include "once/time.h"

namespace once::server {

// What of a request decides how its answer is framed.
struct Framing {
  bool head = false;       // The answer has no body, but the length it would have.
  bool keep_alive = true;  // Otherwise the connection ends with this answer.
  bool http_1_0 = false;
};

std::string encode(const api::Response& response, const Framing& framing, Time now);

// The head of an answer whose body goes on until the connection ends.
std::string encode_stream_head(std::string_view content_type, Time now);

}  // namespace once::server
