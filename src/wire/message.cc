#include "wire/message.h"

#include <algorithm>

#include "base/encoding.h"

namespace once::wire {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same_name(std::string_view a, std::string_view b) {
  if (a == b) return true;  // Usually.
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::executed: return "executed";
    case Outcome::read: return "read";
    case Outcome::passed: return "passed";
    case Outcome::taken_over: return "taken_over";
    case Outcome::replayed: return "replayed";
    case Outcome::unguarded: return "unguarded";
    case Outcome::busy: return "busy";
    case Outcome::mismatch: return "mismatch";
    case Outcome::fenced: return "fenced";
    case Outcome::precondition_failed: return "precondition_failed";
    case Outcome::precondition_required: return "precondition_required";
    case Outcome::not_found: return "not_found";
    case Outcome::invalid: return "invalid";
    case Outcome::too_large: return "too_large";
    case Outcome::contended: return "contended";
    case Outcome::closed: return "closed";
    case Outcome::unauthorized: return "unauthorized";
    case Outcome::forbidden: return "forbidden";
    case Outcome::unsupported: return "unsupported";
    case Outcome::overloaded: return "overloaded";
    case Outcome::handler_failed: return "handler_failed";
    case Outcome::unavailable: return "unavailable";
    case Outcome::unknown: return "unknown";
    case Outcome::corrupt: return "corrupt";
  }
  return "";
}

void Headers::add(std::string name, std::string value) {
  fields_.push_back({std::move(name), std::move(value)});
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (same_name(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      fields_, [&](const Field& field) { return same_name(field.name, name); }));
}

std::string media_type(const Headers& headers) {
  std::string_view type = headers.find("Content-Type").value_or("");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  while (type.starts_with(' ') || type.starts_with('\t')) type.remove_prefix(1);
  std::string out(type);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

std::string path_to(std::string_view noun, std::string_view name, std::string_view action) {
  std::string path = "/v1/";
  path.append(noun).append("/").append(percent_encode(name));
  if (!action.empty()) path.append("/").append(action);
  return path;
}

bool is_replay(const Response& response) {
  return response.headers.find("Idempotent-Replayed") == "true";
}

}  // namespace once::wire
