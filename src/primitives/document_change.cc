#include "primitives/document_change.h"

#include "base/header_text.h"
#include "primitives/keys.h"

namespace once::documents {
namespace {

constexpr Duration kMinIdTtl = 2 * kAttemptLife;  // No attempt outlives its id.
constexpr Duration kMaxIdTtl = std::chrono::days(30);
constexpr Duration kMaxDocumentTtl = std::chrono::years(10);

Result<void> check_identity(const Identity& identity) {
  if (identity.id.empty()) return {};
  if (identity.ttl < kMinIdTtl || identity.ttl > kMaxIdTtl) {
    return failure(ErrorCode::invalid, "the ttl of a change's id is 2 minutes to 30 days");
  }
  return keys::check_name(identity.id);
}

EarlierChange compare(const Bytes& hash, Version stamp, const ChangeCall& call) {
  if (stamp == call.stamp) return EarlierChange::ours;
  return hash == call.hash ? EarlierChange::replayed : EarlierChange::mismatch;
}

}  // namespace

Plan<ChangeCall> start_call(Key key, Identity identity, Bytes hash) {
  if (const Result<void> ok = check_identity(identity); !ok) co_return std::unexpected(ok.error());
  const Limits* limits = co_await store_limits();
  const Version stamp = co_await fresh_version();
  co_return ChangeCall{std::move(key),
                       std::move(identity),
                       std::move(hash),
                       stamp,
                       limits->writes_per_commit == 1,
                       limits->clock_error};
}

EarlierChange find_in_record(const DocumentRecord& record, const ChangeCall& call, Time now) {
  if (!call.has_id()) return EarlierChange::none;
  for (const MadeChange& made : record.made) {
    if (made.id != call.identity.id || !is_remembered(made, now, call.clock_error)) continue;
    return compare(made.hash, made.stamp, call);
  }
  return EarlierChange::none;
}

Result<EarlierChange> earlier_by(const std::optional<Item>& marker, const ChangeCall& call) {
  if (!marker) return EarlierChange::none;
  const Result<Bytes> hash = decode_marker(*marker);
  if (!hash) return std::unexpected(hash.error());
  return compare(*hash, marker->version, call);
}

Plan<EarlierChange> find_marker(ChangeCall call) {
  const Key key = keys::document_change(call.key, call.identity.id);
  const std::optional<Item> marker = co_await once::get(key);
  co_return earlier_by(marker, call);
}

Plan<EarlierChange> find_earlier(ChangeCall call, DocumentRecord record) {
  if (call.has_marker()) co_return co_await find_marker(std::move(call));
  const Time now = co_await store_now();
  co_return find_in_record(record, call, now);
}

Result<DocumentRecord> record_after(DocumentRecord last, const Modified& wanted,
                                    const ChangeCall& call, Time now) {
  const Content* content = std::get_if<Content>(&wanted);
  DocumentRecord next{content != nullptr, call.stamp,
                      content != nullptr ? *content : Content{"", ""}, std::move(last.made)};
  if (content != nullptr) {
    next.until = content->ttl ? later(now, *content->ttl) : call.keeps_end ? last.until : kNever;
    next.content.ttl.reset();
  }
  std::erase_if(next.made, [&](const MadeChange& made) {
    return !is_remembered(made, now, call.clock_error);
  });
  if (!call.has_id() || !call.ids_in_item) return next;
  if (next.made.size() >= kMaxIdsInItem) {
    return failure(ErrorCode::unavailable, "overloaded: too many recent changes with an id");
  }
  next.made.push_back({call.identity.id, call.hash, call.stamp, later(now, call.identity.ttl)});
  return next;
}

Write marker_of(const ChangeCall& call, Time now) {
  Write marker =
      once::put(keys::document_change(call.key, call.identity.id), encode_marker(call.hash),
                absent(), later(later(now, call.identity.ttl), call.clock_error));
  marker.version = call.stamp;
  return marker;
}

std::unexpected<Error> outcome_unknown() {
  return failure(ErrorCode::unknown, "a reply was lost; the change may have been made");
}

Result<void> check_content(const Content& content) {
  if (content.type.empty() || content.type.size() > kMaxContentType) {
    return failure(ErrorCode::invalid, "a content type has 1 to 256 bytes");
  }
  if (content.ttl && (*content.ttl < Duration(1) || *content.ttl > kMaxDocumentTtl)) {
    return failure(ErrorCode::invalid, "a document's ttl is 1 ms to 10 years");
  }
  if (!is_header_value(content.type)) {
    return failure(ErrorCode::invalid, "a content type has no control characters");
  }
  return {};
}

}  // namespace once::documents
