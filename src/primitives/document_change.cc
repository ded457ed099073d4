#include "primitives/document_change.h"

#include <algorithm>

#include "primitives/keys.h"

namespace once::documents {
namespace {

// So long that no attempt outlives its id.
constexpr Duration kMinTtl = 2 * kAttemptLife;
constexpr Duration kMaxTtl = std::chrono::days(30);
constexpr Duration kFirstPause{10};
constexpr Duration kLongestPause{1'000};

Result<void> check_identity(const Identity& identity) {
  if (identity.id.empty()) return {};
  if (identity.ttl < kMinTtl || identity.ttl > kMaxTtl) {
    return failure(ErrorCode::invalid, "the ttl of a change's id is 2 minutes to 30 days");
  }
  return keys::check_name(identity.id);
}

Earlier compare(const Bytes& hash, Version stamp, const Call& call) {
  if (stamp == call.stamp) return Earlier::ours;
  return hash == call.hash ? Earlier::replayed : Earlier::mismatch;
}

}  // namespace

Plan<Call> start_call(Key key, Identity identity, Bytes hash) {
  if (const Result<void> ok = check_identity(identity); !ok) co_return std::unexpected(ok.error());
  const Limits* limits = co_await store_limits();
  const Version stamp = co_await fresh_version();
  co_return Call{std::move(key),
                 std::move(identity),
                 std::move(hash),
                 stamp,
                 limits->writes_per_commit == 1,
                 limits->clock_error};
}

Earlier find_in(const DocumentRecord& record, const Call& call, Time now) {
  if (!call.has_id()) return Earlier::no;
  for (const MadeChange& made : record.made) {
    if (made.id != call.identity.id || !remembered(made, now, call.clock_error)) continue;
    return compare(made.hash, made.stamp, call);
  }
  return Earlier::no;
}

Plan<Earlier> find_marker(Call call) {
  const Key key = keys::document_change(call.key, call.identity.id);
  const std::optional<Item> marker = co_await once::get(key);
  if (!marker) co_return Earlier::no;
  const Result<Bytes> hash = decode_marker(*marker);
  if (!hash) co_return std::unexpected(hash.error());
  co_return compare(*hash, marker->version, call);
}

Plan<Earlier> find_earlier(Call call, DocumentRecord record) {
  if (call.has_marker()) co_return co_await find_marker(std::move(call));
  const Time now = co_await store_now();
  co_return find_in(record, call, now);
}

Result<DocumentRecord> record_after(DocumentRecord last, const Modified& wanted, const Call& call,
                                    Time now) {
  const Content* content = std::get_if<Content>(&wanted);
  DocumentRecord next{content != nullptr, call.stamp,
                      content != nullptr ? *content : Content{"", ""}, std::move(last.made)};
  std::erase_if(next.made,
                [&](const MadeChange& made) { return !remembered(made, now, call.clock_error); });
  if (!call.has_id() || !call.ids_in_item) return next;
  if (next.made.size() >= kMaxIdsInItem) {
    return failure(ErrorCode::unavailable, "overloaded: too many recent changes with an id");
  }
  next.made.push_back({call.identity.id, call.hash, call.stamp, later(now, call.identity.ttl)});
  return next;
}

Write marker_of(const Call& call, Time now) {
  Write marker =
      once::put(keys::document_change(call.key, call.identity.id), encode_marker(call.hash),
                absent(), later(later(now, call.identity.ttl), call.clock_error));
  marker.version = call.stamp;
  return marker;
}

Plan<std::monostate> pause_within(Duration bound) {
  const std::uint64_t drawn = co_await random_number();
  co_await pause(
      Duration(static_cast<std::int64_t>(drawn % (static_cast<std::uint64_t>(bound.count()) + 1))));
  co_return std::monostate{};
}

Plan<std::monostate> back_off(int retry) {
  const Duration bound = std::min(kLongestPause, kFirstPause * (1 << std::min(retry, 10)));
  co_return co_await pause_within(bound);
}

std::unexpected<Error> doubt() {
  return failure(ErrorCode::unknown, "a reply was lost; the change may have been made");
}

Result<void> check_content(const Content& content) {
  if (content.type.empty() || content.type.size() > kMaxContentType) {
    return failure(ErrorCode::invalid, "a content type has 1 to 256 bytes");
  }
  return {};
}

}  // namespace once::documents
