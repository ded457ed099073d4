#include "primitives/tally_record.h"

#include <algorithm>
#include <array>

#include "primitives/record.h"

namespace once::tallies {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::uint8_t kMetaFormat = 2;  // Of a meta that says more than kind and window.
constexpr std::array kFirstWindows = {TallyWindow::none, TallyWindow::minute, TallyWindow::hour,
                                      TallyWindow::day};
constexpr auto kLastState = static_cast<std::uint64_t>(TallyMeta::State::removed);

// The window's number in the first format.
std::optional<std::uint64_t> first_number(const TallyMeta& meta) {
  const auto* const found = std::ranges::find(kFirstWindows, meta.window);
  const bool plain = meta == TallyMeta{.monoid = meta.monoid, .window = meta.window};
  if (!plain || found == kFirstWindows.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - kFirstWindows.begin());
}

std::unexpected<Error> corrupt(const std::string& what) {
  return failure(ErrorCode::corrupt, "a tally's " + what + " does not parse");
}

Result<RecordReader> open(const Value& value, RecordKind kind, std::uint8_t newest = kFormat) {
  const Bytes* bytes = std::get_if<Bytes>(&value);
  if (bytes == nullptr) return failure(ErrorCode::corrupt, "a tally's record is a number");
  return RecordReader::open(*bytes, kind, newest);
}

InnerId read_id(RecordReader& in) {
  InnerId id;
  id.id = in.bytes();
  id.input_hash = in.bytes();
  id.nonce = in.number();
  id.kept_until = in.time();
  return id;
}

// A bucket that is no integer.
Result<TallyBucket> read_bucket(const Value& value) {
  Result<RecordReader> in = open(value, RecordKind::tally);
  if (!in) return std::unexpected(std::move(in.error()));
  TallyBucket bucket;
  bucket.state = in->bytes();
  bucket.until = in->time();
  const std::uint64_t ids = in->number(kMaxInnerIds);
  for (std::uint64_t i = 0; i < ids; ++i) bucket.ids.push_back(read_id(*in));
  if (!in->sound()) return corrupt("bucket");
  return bucket;
}

}  // namespace

Bytes encode(const TallyMeta& meta) {
  const std::optional<std::uint64_t> first = first_number(meta);
  RecordWriter out(RecordKind::tally_meta, first ? kFormat : kMetaFormat);
  out.bytes(meta.monoid);
  out.number(first ? *first : static_cast<std::uint64_t>(meta.window.length.count()));
  if (first) return out.finish();
  out.number(static_cast<std::uint64_t>(meta.state));
  out.number(meta.life);
  out.time(meta.buckets_until);
  out.time(meta.ids_until);
  return out.finish();
}

Time TallyMeta::expiry() const {
  if (state == State::removing) return kNever;
  return state == State::removed ? ids_until : std::max(buckets_until, ids_until);
}

Result<TallyMeta> decode_meta(const Value& value) {
  Result<RecordReader> in = open(value, RecordKind::tally_meta, kMetaFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  TallyMeta meta;
  meta.monoid = in->bytes();
  if (in->format() == kFormat) {
    meta.window = kFirstWindows[in->number(kFirstWindows.size() - 1)];
    if (!in->sound()) return corrupt("meta");
    return meta;
  }
  constexpr auto kMost = static_cast<std::uint64_t>(Duration(std::chrono::years(10)).count());
  meta.window.length = Duration(static_cast<std::int64_t>(in->number(kMost)));
  meta.state = static_cast<TallyMeta::State>(in->number(kLastState));
  meta.life = in->number();
  meta.buckets_until = in->time();
  meta.ids_until = in->time();
  if (!in->sound() || !is_window(meta.window) || first_number(meta)) return corrupt("meta");
  return meta;
}

Bytes encode(const TallyMarker& marker) {
  RecordWriter out(RecordKind::tally_id, kFormat);
  out.bytes(marker.input_hash);
  out.number(static_cast<std::uint64_t>(marker.bucket));
  out.time(marker.kept_until);
  return out.finish();
}

Result<TallyMarker> decode_marker(const Value& value) {
  Result<RecordReader> in = open(value, RecordKind::tally_id);
  if (!in) return std::unexpected(std::move(in.error()));
  TallyMarker marker;
  marker.input_hash = in->bytes();
  marker.bucket = static_cast<std::int64_t>(in->number());
  marker.kept_until = in->time();
  if (!in->sound() || marker.bucket < 0) return corrupt("id");
  return marker;
}

Value encode(const TallyBucket& bucket, TallyKind kind) {
  if (is_native(kind) && bucket.ids.empty()) return native_of(kind, bucket.state);
  RecordWriter out(RecordKind::tally, kFormat);
  out.bytes(bucket.state);
  out.time(bucket.until);
  out.number(bucket.ids.size());
  for (const InnerId& id : bucket.ids) {
    out.bytes(id.id);
    out.bytes(id.input_hash);
    out.number(id.nonce);
    out.time(id.kept_until);
  }
  return out.finish();
}

Result<TallyBucket> decode_bucket(const Item& item, TallyKind kind, const Monoid& monoid) {
  TallyBucket bucket;
  if (const auto* number = std::get_if<std::int64_t>(&item.value); number && is_native(kind)) {
    bucket.state = state_of_native(kind, *number);
    bucket.until = item.expiry;
    return bucket;
  }
  Result<TallyBucket> read = read_bucket(item.value);
  if (!read) return read;
  const bool one_form =
      !read->ids.empty() || !is_native(kind);  // Otherwise it would be an integer.
  if (!one_form) return corrupt("bucket");
  if (!monoid.validate(read->state)) return corrupt("state");
  return read;
}

Result<TallyBucket> decode_any_bucket(const Value& value) {
  if (std::holds_alternative<std::int64_t>(value)) return TallyBucket{};
  return read_bucket(value);
}

Time expiry_of(const TallyBucket& bucket) {
  Time expiry = bucket.until;
  for (const InnerId& id : bucket.ids) expiry = std::max(expiry, id.kept_until);
  return expiry;
}

Bytes hash_of_input(std::string_view monoid, std::string_view state) {
  RecordWriter both(RecordKind::tally, kFormat);
  both.bytes(monoid);
  both.bytes(state);
  return hash128(both.finish());
}

}  // namespace once::tallies
