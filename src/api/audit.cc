#include "api/audit.h"

#include <array>
#include <cstdio>

#include "api/call.h"
#include "primitives/keys.h"
#include "wire/json.h"

namespace once::api {
namespace {

constexpr std::uint64_t kIpv4 = std::uint64_t{1} << 32;  // As server/connection_seats.cc has it.

// Of a token, which is in no namespace, the name is its id.
std::string event_of(const Key& key, const std::string& head, const std::string& tail) {
  const std::string_view home = key.partition.home;
  JsonObject place;
  if (home.starts_with(keys::kTokens)) {
    place.raw("namespace", "null").text("key", home.substr(keys::kTokens.size()));
  } else {
    place.text("namespace", keys::name_space_in(home)).text("key", keys::name_in(home));
  }
  const std::string members = place.finish();
  return head + members.substr(1, members.size() - 2) + tail;
}

}  // namespace

std::string origin_text(std::uint64_t address) {
  if (address == 0) return "local";
  std::array<char, 64> text{};
  const auto part = [&](int shift, unsigned mask) {
    return static_cast<unsigned>(address >> shift) & mask;
  };
  if ((address >> 32) == 1) {
    (void)std::snprintf(text.data(), text.size(), "%u.%u.%u.%u", part(24, 255), part(16, 255),
                        part(8, 255), part(0, 255));
  } else if (address == 1) {
    return "::/64";
  } else {
    (void)std::snprintf(text.data(), text.size(), "%x:%x:%x:%x::/64", part(48, 0xffff),
                        part(32, 0xffff), part(16, 0xffff), part(0, 0xffff));
  }
  static_assert(kIpv4 >> 32 == 1);
  return text.data();
}

bool is_reserved(std::string_view name_space) { return name_space == kAuditNamespace; }

Recording audit_of(const Call& call, std::string_view action, const std::string& also) {
  JsonObject who;
  if (const auto token = call.token_id()) {
    who.text("token", *token);
  } else {
    who.raw("token", "null");
  }
  who.text("from", origin_text(call.request.peer.address));
  if (call.request_id.empty()) {
    who.raw("request_id", "null");
  } else {
    who.text("request_id", call.request_id);
  }
  const std::string members = who.finish();
  std::string head = R"({"action":)" + json_text(action) + ",";
  std::string tail =
      "," + members.substr(1, members.size() - 2) + (also.empty() ? "" : ",") + also + "}";
  return Recording::in({.log = logs::stream(kAuditNamespace, kAuditLog),
                        .keep = kKeepAudit,
                        .known = &call.service.known_ends(),
                        .event = [head = std::move(head), tail = std::move(tail)](
                                     const Key& key) { return event_of(key, head, tail); },
                        .recorded = call.service.audit_listener()});
}

}  // namespace once::api
