#include "server/trace.h"

#include <algorithm>

#include "once/entropy.h"
#include "wire/text.h"

namespace once::server {
namespace {

constexpr std::size_t kLength = 55;  // 00-(32)-(16)-01

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '0'; });
}

// Later versions may append more after a dash.
bool has_length_of_its_version(std::string_view text) {
  if (text.size() == kLength) return true;
  return text.size() > kLength && !text.starts_with("00") && text[kLength] == '-';
}

}  // namespace

std::optional<Trace> parse_traceparent(std::string_view text) {
  if (!has_length_of_its_version(text)) return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(3, 32);
  const std::string_view parent = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  if (!is_hex(version) || version == "ff" || !is_hex(flags)) return std::nullopt;
  if (!is_hex(trace) || is_zero(trace) || !is_hex(parent) || is_zero(parent)) return std::nullopt;
  const char last = flags[1];
  const int bits = last <= '9' ? last - '0' : last - 'a' + 10;
  return Trace{std::string(trace), std::string(parent), bits % 2 == 1};
}

std::string format_traceparent(const Trace& trace) {
  std::string text = "00-";
  text.append(trace.trace_id).append("-").append(trace.parent_id);
  return text.append(trace.sampled ? "-01" : "-00");
}

std::string new_span_id() { return api::hex_text(system_entropy().random() | 1U); }

}  // namespace once::server
