#include "primitives/claim_record.h"

#include <algorithm>
#include <array>

#include "base/encoding.h"
#include "base/siphash.h"
#include "primitives/record.h"

namespace once::claims {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::uint8_t kFormatWithReceipt = 2;
constexpr std::uint8_t kFormatWithPrevious = 3;
constexpr std::uint8_t kVouchedTicket = 2;  // A record of a ticket that a code follows.
constexpr std::uint8_t kPartOfRecord = 3;   // The same, of a record that has more.
constexpr std::size_t kCodeBytes = sizeof(SipCode);
constexpr std::uint64_t kHalf = 0xffff'ffffU;
constexpr auto kLastState = static_cast<std::uint64_t>(ClaimRecord::State::failed);

// Enough for all of a record of a claim, or of its ticket, and little more.
std::size_t room_for(const ClaimRecord& record) {
  constexpr std::size_t kNumbersAndTimes = 112;
  return kNumbersAndTimes + record.owner.size() + record.request.size() +
         record.payload_hash.size() + record.result.size() + record.receipt.size() +
         (record.previous ? record.previous->failure.size() : 0);
}

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
  const bool earlier = !record.previous || record.previous->attempt >= 0;
  return earlier && record.fence >= 0 && record.attempt >= 0 && record.ttl.count() >= 0;
}

// `memory` is how long the item outlives the mark.
Result<ClaimRecord> read_mark(Duration ttl, Time expiry, Duration memory) {
  const bool fits = ttl.count() >= 0 && expiry >= Time{} && expiry != kNever &&
                    ttl <= expiry.time_since_epoch() - memory;
  if (!fits) return failure(ErrorCode::corrupt, "a mark does not fit its expiry");
  return mark_at(expiry - memory - ttl, ttl);
}

// Whether the ttl and the expiry are enough to restore the record.
bool is_plain_mark(const ClaimRecord& record) {
  return record.completed >= Time{} && record == mark_at(record.completed, record.ttl) &&
         expiry_of_mark(record) != kNever;
}

Result<ClaimRecord> read_record(const Bytes& bytes) {
  Result<RecordReader> in = RecordReader::open(bytes, RecordKind::claim, kFormatWithPrevious);
  if (!in) return std::unexpected(std::move(in.error()));
  ClaimRecord record = read_fields(*in);
  const bool receipt = in->format() == kFormatWithReceipt;
  if (receipt) record.receipt = in->bytes();
  if (in->format() == kFormatWithPrevious) {
    record.previous.emplace();
    record.previous->failure = in->bytes();
    record.previous->failed = in->time();
    record.previous->attempt = static_cast<std::int64_t>(in->number());
  }
  if (!in->sound() || !sensible(record) || receipt == record.receipt.empty()) {
    return failure(ErrorCode::corrupt, "a claim's record does not parse");
  }
  return record;
}

std::int64_t milliseconds_of(Time time) { return time.time_since_epoch().count(); }

enum class CodeOf : std::uint64_t { ticket = 1, nonce = 2 };

// Begins a code over something that concerns this key.
SipHash begin_code(CodeOf what, const Key& key, const StoreSecret& secret) {
  SipHash code(secret.key);
  code.add(static_cast<std::uint64_t>(what));
  code.add(key.partition.home.size());
  code.add(key.partition.home);
  return code;
}

SipCode code_of(std::string_view record, const Key& key, const StoreSecret& secret) {
  SipHash code = begin_code(CodeOf::ticket, key, secret);
  code.add(record);
  return code.finish();
}

using CodeBytes = std::array<char, kCodeBytes>;

CodeBytes bytes_of(const SipCode& code) {
  CodeBytes bytes;
  for (std::size_t i = 0; i < kCodeBytes; ++i) {
    bytes[i] = static_cast<char>(code[i / 8] >> (56 - 8 * (i % 8)));
  }
  return bytes;
}

// The half of a nonce that is a code over the other half.
std::uint64_t nonce_code(std::uint64_t half, std::int64_t fence, const Key& key,
                         const StoreSecret& secret) {
  SipHash code = begin_code(CodeOf::nonce, key, secret);
  code.add(static_cast<std::uint64_t>(fence));
  code.add(half);
  return code.finish()[0] & ~kHalf;
}

// In a time that does not tell how much of them is equal.
bool same_code(std::string_view a, std::string_view b) {
  int differs = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) differs |= a[i] ^ b[i];
  return differs == 0;
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
  const bool receipt = !record.receipt.empty();
  const std::uint8_t format = record.previous ? kFormatWithPrevious
                              : receipt       ? kFormatWithReceipt
                                              : kFormat;
  RecordWriter out(RecordKind::claim, format, room_for(record));
  write_fields(out, record);
  if (record.previous) {
    out.bytes(record.previous->failure);
    out.time(record.previous->failed);
    out.number(static_cast<std::uint64_t>(record.previous->attempt));
  } else if (receipt) {
    out.bytes(record.receipt);
  }
  return out.finish();
}

Result<ClaimRecord> decode_claim(const Item& item) {
  if (const Bytes* const bytes = std::get_if<Bytes>(&item.value)) return read_record(*bytes);
  return read_mark(Duration(std::get<std::int64_t>(item.value)), item.expiry, kFenceMemory);
}

bool is_old_mark(const ClaimRecord& record) {
  return record.state == ClaimRecord::State::done && record.nonce == 0;
}

std::optional<PlainMark> plain_mark(Time now, Duration ttl) {
  const Time expiry = later(later(now, ttl), kReplyMemory);
  if (now < Time{} || expiry == kNever) return std::nullopt;
  return PlainMark{ttl.count(), expiry};
}

Value encode_mark(const ClaimRecord& record) {
  if (is_plain_mark(record)) return record.ttl.count();
  return encode(record);
}

Result<ClaimRecord> decode_mark(const Item& item) {
  if (const Bytes* const bytes = std::get_if<Bytes>(&item.value)) return read_record(*bytes);
  return read_mark(Duration(std::get<std::int64_t>(item.value)), item.expiry, kReplyMemory);
}

Time expiry_of_mark(const ClaimRecord& record) { return later(record.kept_until, kReplyMemory); }

Bytes hash_of(std::string_view payload) { return hash128(payload); }

Time expiry_of(const ClaimRecord& record, Time now) {
  switch (record.state) {
    case ClaimRecord::State::busy: return kNever;
    case ClaimRecord::State::free:
      return std::max(later(now, kFenceMemory), later(record.kept_until, kReplyMemory));
    case ClaimRecord::State::done:
    case ClaimRecord::State::failed: break;
  }
  const bool rises_by_time = record.fence <= milliseconds_of(record.kept_until);
  return later(record.kept_until, rises_by_time ? kReplyMemory : kFenceMemory);
}

Time expiry_of_busy(const ClaimRecord& record, Duration keep_abandoned) {
  return later(later(record.lease_until, keep_abandoned), kFenceMemory);
}

Time ended_at(const Item& busy) {
  return busy.expiry == kNever ? kNever : busy.expiry - kFenceMemory;
}

bool same_claim(const ClaimRecord& a, const ClaimRecord& b) {
  return a.fence == b.fence && a.nonce == b.nonce;
}

ClaimRecord with_outcome(ClaimRecord record, ClaimRecord::State state, Bytes result, Time now) {
  record.state = state;
  record.completed = now;
  record.kept_until = later(now, record.ttl);
  record.result = std::move(result);
  record.previous.reset();
  return record;
}

std::uint64_t nonce_for(std::uint64_t random, std::int64_t fence, const Key& key,
                        const StoreSecret& secret) {
  const std::uint64_t half = random & kHalf;
  return half | nonce_code(half, fence, key, secret);
}

Ticket seal(const OpenTicket& ticket, const Key& key, const StoreSecret& secret) {
  const std::uint8_t format = ticket.whole ? kVouchedTicket : kPartOfRecord;
  RecordWriter out(RecordKind::ticket, format, room_for(ticket.record) + kCodeBytes);
  out.number(ticket.version.number);
  write_fields(out, ticket.record);
  Bytes bytes = out.finish();
  const CodeBytes code = bytes_of(code_of(bytes, key, secret));
  bytes.append(code.data(), code.size());
  return {base64url_encode(bytes)};
}

Result<OpenTicket> unseal(const Ticket& ticket, const Key& key, const StoreSecret& secret) {
  const auto bad = failure(ErrorCode::invalid, "not a ticket");
  const std::optional<Bytes> bytes = base64url_decode(ticket.text);
  if (!bytes || bytes->size() < kCodeBytes) return bad;
  const bool has_code = (*bytes)[1] >= static_cast<char>(kVouchedTicket);
  const std::string_view record =
      std::string_view(*bytes).substr(0, bytes->size() - (has_code ? kCodeBytes : 0));
  Result<RecordReader> in = RecordReader::open(record, RecordKind::ticket, kPartOfRecord);
  if (!in) return bad;
  OpenTicket open;
  open.whole = in->format() != kPartOfRecord;
  open.version = {in->number()};
  open.record = read_fields(*in);
  const bool busy = open.record.state == ClaimRecord::State::busy;
  if (!in->sound() || !sensible(open.record) || !busy || !open.version) return bad;
  const std::string_view code = std::string_view(*bytes).substr(record.size());
  const CodeBytes ours = bytes_of(code_of(record, key, secret));
  open.vouched = has_code && same_code(code, {ours.data(), ours.size()});
  return open;
}

bool is_ticket_of(const OpenTicket& ticket, const ClaimRecord& current, const Key& key,
                  const StoreSecret& secret) {
  if (!same_claim(current, ticket.record)) return false;
  return ticket.vouched || current.nonce != nonce_for(current.nonce, current.fence, key, secret);
}

}  // namespace once::claims
