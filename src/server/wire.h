// Answers as bytes of HTTP/1.1.
#pragma once

#include <string>
#include <string_view>

#include "once/time.h"
#include "wire/message.h"

namespace once::server {

// Properties of a request that decide how its answer is framed.
struct Framing {
  bool head = false;       // HEAD: the answer has a length but no body.
  bool keep_alive = true;  // Otherwise the connection ends with this answer.
  bool http_1_0 = false;
  std::string headers;  // Lines, each with its end, that are added to those of the answer.
};

std::string encode(const api::Response& response, const Framing& framing, Time now);

// The same in two parts, so that a long body need not be copied.
std::string encode_before_body(const api::Response& response, const Framing& framing, Time now);
bool has_body(const api::Response& response, const Framing& framing);

// The head of an answer whose body follows in pieces. The body ends after its Content-Length, if it
// has one; otherwise with the last chunk or, if the peer knows no chunks, with the connection.
std::string encode_head(const api::Response& response, const Framing& framing, Time now);
bool comes_in_chunks(const api::Response& response, const Framing& framing);
void append_chunk(std::string& out, std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// The head of an answer whose body ends with the connection. `headers` as in Framing.
std::string encode_stream_head(std::string_view content_type, std::string_view headers, Time now);

}  // namespace once::server
