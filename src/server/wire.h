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

// The head of an answer whose body is still to come, and what then has to be done to its pieces. It
// is as long as its Content-Length says, if it says so; otherwise it ends with its last chunk or,
// where the peer knows no chunks, with the connection.
std::string encode_head(const api::Response& response, const Framing& framing, Time now);
bool comes_in_chunks(const api::Response& response, const Framing& framing);
void append_chunk(std::string& out, std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// The head of an answer whose body goes on until the connection ends.
std::string encode_stream_head(std::string_view content_type, Time now);

}  // namespace once::server
