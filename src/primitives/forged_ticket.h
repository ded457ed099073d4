// Tickets that no store gave out, as an attacker makes them who knows all of the code.
#pragma once

#include <functional>

#include "base/encoding.h"
#include "primitives/claim_record.h"
#include "primitives/record.h"

namespace once::testing {

using Forgery = std::function<void(claims::OpenTicket&)>;

inline claims::OpenTicket changed(const Ticket& ticket, const Forgery& change) {
  claims::OpenTicket open = claims::unseal(ticket, {}, {}).value();
  change(open);
  return open;
}

// In the form of today, with a code under a secret of the attacker's.
inline Ticket forged(const Ticket& ticket, const Key& key, const Forgery& change) {
  return claims::seal(changed(ticket, change), key, {.key = {4, 2}});
}

// In the form from before there were codes.
inline Ticket old_form(const Ticket& ticket, const Forgery& change = [](claims::OpenTicket&) {}) {
  const claims::OpenTicket open = changed(ticket, change);
  const claims::ClaimRecord& record = open.record;
  RecordWriter out(RecordKind::ticket, 1);
  out.number(open.version.number);
  out.number(static_cast<std::uint64_t>(record.state));
  out.number(static_cast<std::uint64_t>(record.fence));
  out.number(static_cast<std::uint64_t>(record.attempt));
  out.number(record.nonce);
  out.bytes(record.owner);
  out.bytes(record.request);
  out.bytes(record.payload_hash);
  out.number(static_cast<std::uint64_t>(record.ttl.count()));
  out.time(record.claimed);
  out.time(record.lease_until);
  out.time(record.completed);
  out.time(record.kept_until);
  out.bytes(record.result);
  return {base64url_encode(out.finish())};
}

}  // namespace once::testing
