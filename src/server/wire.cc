#include "server/wire.h"

#include <array>
#include <cstdio>

#include "base/header_text.h"

namespace once::server {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Status";
  }
}

// As in HTTP: Sun, 15 Nov 2026 09:30:00 GMT.
std::string date_of(Time now) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(now - day));
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
                                   kDays[std::chrono::weekday(day).c_encoding()],
                                   unsigned(date.day()), kMonths[unsigned(date.month()) - 1],
                                   int(date.year()), int(clock.hours().count()),
                                   int(clock.minutes().count()), int(clock.seconds().count()));
  return {text.data(), static_cast<std::size_t>(length)};
}

// Each thread formats it once a second.
const std::string& cached_date(Time now) {
  thread_local Time second;
  thread_local std::string text;
  const Time this_second = std::chrono::floor<std::chrono::seconds>(now);
  if (text.empty() || this_second != second) {
    second = this_second;
    text = date_of(now);
  }
  return text;
}

void start(std::string& out, int status) {
  out += "HTTP/1.1 ";
  out += std::to_string(status);
  out += ' ';
  out += reason_of(status);
  out += "\r\n";
}

void date(std::string& out, Time now) {
  out += "Date: ";
  out += cached_date(now);
  out += "\r\n";
}

// An answer that a proxy forwards keeps the date of its origin.
void head(std::string& out, const api::Response& response, Time now) {
  start(out, response.status);
  if (!response.headers.find("Date")) date(out, now);
  for (const auto& [name, value] : response.headers.fields()) {
    // Stored content types and answers come from others. None of them begins a header of its own.
    if (!is_header_name(name) || !is_header_value(value)) continue;
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
}

void end_head(std::string& out, const Framing& framing) {
  out += framing.headers;
  if (!framing.keep_alive) {
    out += "Connection: close\r\n";
  } else if (framing.http_1_0) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
}

bool is_bodiless(const api::Response& response) {
  return response.status == 204 || response.status == 304;
}

void append_before_body(std::string& out, const api::Response& response, const Framing& framing,
                        Time now) {
  head(out, response, now);
  // A proxy answers HEAD with the length that the origin gave.
  if (!is_bodiless(response) && !(framing.head && response.headers.find("Content-Length"))) {
    out += "Content-Length: ";
    out += std::to_string(response.body.size());
    out += "\r\n";
  }
  end_head(out, framing);
}

}  // namespace

bool has_body(const api::Response& response, const Framing& framing) {
  return !is_bodiless(response) && !framing.head;
}

std::string encode_before_body(const api::Response& response, const Framing& framing, Time now) {
  std::string out;
  append_before_body(out, response, framing, now);
  return out;
}

std::string encode(const api::Response& response, const Framing& framing, Time now) {
  std::string out;
  out.reserve(256 + response.body.size());
  append_before_body(out, response, framing, now);
  if (has_body(response, framing)) out += response.body;
  return out;
}

bool comes_in_chunks(const api::Response& response, const Framing& framing) {
  return !framing.http_1_0 && !response.headers.find("Content-Length");
}

std::string encode_head(const api::Response& response, const Framing& framing, Time now) {
  std::string out;
  head(out, response, now);
  if (comes_in_chunks(response, framing)) out += "Transfer-Encoding: chunked\r\n";
  end_head(out, framing);
  return out;
}

void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) return;
  std::array<char, 24> size{};
  const int length = std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  out.append(size.data(), static_cast<std::size_t>(length)).append(bytes).append("\r\n");
}

std::string encode_stream_head(std::string_view content_type, std::string_view headers, Time now) {
  std::string out;
  start(out, 200);
  date(out, now);
  out += "Content-Type: ";
  out += content_type;
  out += "\r\nCache-Control: no-store\r\n";
  out += headers;
  out += "Connection: close\r\n\r\n";
  return out;
}

}  // namespace once::server
