#include "primitives/claim_record.h"

#include <algorithm>

#include "base/encoding.h"
#include "primitives/record.h"

namespace once::claims {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::uint8_t kFormatWithReceipt = 2;
constexpr auto kLastState = static_cast<std::uint64_t>(ClaimRecord::State::failed);

void write_fields(RecordWriter& out, const ClaimRecord& record) {
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
}

ClaimRecord read_fields(RecordReader& in) {
  ClaimRecord record;
  record.state = static_cast<ClaimRecord::State>(in.number(kLastState));
  record.fence = static_cast<std::int64_t>(in.number());
  record.attempt = static_cast<std::int64_t>(in.number());
  record.nonce = in.number();
  record.owner = in.bytes();
  record.request = in.bytes();
  record.payload_hash = in.bytes();
  record.ttl = Duration(static_cast<std::int64_t>(in.number()));
  record.claimed = in.time();
  record.lease_until = in.time();
  record.completed = in.time();
  record.kept_until = in.time();
  record.result = in.bytes();
  return record;
}

bool sensible(const ClaimRecord& record) {
  return record.fence >= 0 && record.attempt >= 0 && record.ttl.count() >= 0;
}

Result<ClaimRecord> read_mark(Duration ttl, Time expiry) {
  const bool fits = ttl.count() >= 0 && expiry >= Time{} && expiry != kNever &&
                    ttl <= expiry.time_since_epoch() - kFenceMemory;
  if (!fits) return failure(ErrorCode::corrupt, "a claim's mark does not fit its expiry");
  return mark_at(expiry - kFenceMemory - ttl, ttl);
}

// Whether the ttl and the expiry are enough to restore the record.
bool is_mark(const ClaimRecord& record) {
  return record.completed >= Time{} && record == mark_at(record.completed, record.ttl) &&
         expiry_of(record, record.completed) != kNever;
}

}  // namespace

ClaimRecord mark_at(Time now, Duration ttl) {
  return {.state = ClaimRecord::State::done,
          .fence = std::max<std::int64_t>(1, now.time_since_epoch().count()),
          .attempt = 1,
          .ttl = ttl,
          .claimed = now,
          .completed = now,
          .kept_until = later(now, ttl)};
}

Value encode(const ClaimRecord& record) {
  if (is_mark(record)) return record.ttl.count();
  const bool receipt = !record.receipt.empty();
  RecordWriter out(RecordKind::claim, receipt ? kFormatWithReceipt : kFormat);
  write_fields(out, record);
  if (receipt) out.bytes(record.receipt);
  return out.finish();
}

Result<ClaimRecord> decode_claim(const Item& item) {
  const Bytes* bytes = std::get_if<Bytes>(&item.value);
  if (bytes == nullptr) return read_mark(Duration(std::get<std::int64_t>(item.value)), item.expiry);
  Result<RecordReader> in = RecordReader::open(*bytes, RecordKind::claim, kFormatWithReceipt);
  if (!in) return std::unexpected(std::move(in.error()));
  ClaimRecord record = read_fields(*in);
  const bool receipt = in->format() == kFormatWithReceipt;
  if (receipt) record.receipt = in->bytes();
  if (!in->sound() || !sensible(record) || receipt == record.receipt.empty()) {
    return failure(ErrorCode::corrupt, "a claim's record does not parse");
  }
  return record;
}

Bytes hash_of(std::string_view payload) { return hash128(payload); }

Time expiry_of(const ClaimRecord& record, Time now) {
  switch (record.state) {
    case ClaimRecord::State::busy: return kNever;
    case ClaimRecord::State::free: return later(now, kFenceMemory);
    case ClaimRecord::State::done:
    case ClaimRecord::State::failed: return later(record.kept_until, kFenceMemory);
  }
  return kNever;
}

bool same_claim(const ClaimRecord& a, const ClaimRecord& b) {
  return a.fence == b.fence && a.nonce == b.nonce;
}

ClaimRecord with_outcome(ClaimRecord record, ClaimRecord::State state, Bytes result, Time now) {
  record.state = state;
  record.completed = now;
  record.kept_until = later(now, record.ttl);
  record.result = std::move(result);
  return record;
}

Ticket seal(const OpenTicket& ticket) {
  RecordWriter out(RecordKind::ticket, kFormat);
  out.number(ticket.version.number);
  write_fields(out, ticket.record);
  return {base64url_encode(out.finish())};
}

Result<OpenTicket> unseal(const Ticket& ticket) {
  const auto bad = failure(ErrorCode::invalid, "not a ticket");
  const std::optional<Bytes> bytes = base64url_decode(ticket.text);
  if (!bytes) return bad;
  Result<RecordReader> in = RecordReader::open(*bytes, RecordKind::ticket, kFormat);
  if (!in) return bad;
  OpenTicket open;
  open.version = {in->number()};
  open.record = read_fields(*in);
  const bool busy = open.record.state == ClaimRecord::State::busy;
  if (!in->sound() || !sensible(open.record) || !busy || !open.version) return bad;
  return open;
}

}  // namespace once::claims
