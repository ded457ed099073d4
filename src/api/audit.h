// What was taken away, and by whom: forgets, deletions, trims, imports and changes of tokens leave
// an event in the log "audit" of namespace "once", which only the server writes to.
#pragma once

#include <string>
#include <string_view>

#include "primitives/recorded.h"

namespace once::api {

struct Call;
struct Route;

inline constexpr std::string_view kAuditNamespace = "once";
inline constexpr std::string_view kAuditLog = "audit";
inline constexpr Duration kKeepAudit = std::chrono::days(30);

// Records what the call does as {"action","namespace","key","token","from","request_id"}. A change
// of a key is about that key; `also` has further members, as JSON: `"before":101`.
Recording audit_of(const Call& call, std::string_view action, const std::string& also = "");

// Whether the namespace is the server's own, so that callers only read it.
bool is_reserved(std::string_view name_space);

// Where a request came from: "192.0.2.7", the network of an IPv6 address ("2001:db8:0:1::/64"), or
// "local" for one of the same process. `address` is that of wire::Peer.
std::string origin_text(std::uint64_t address);

}  // namespace once::api
