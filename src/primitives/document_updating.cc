#include "primitives/document_updating.h"

namespace once::documents {

Came came_by(Earlier earlier) {
  switch (earlier) {
    case Earlier::ours: return Came::ours;
    case Earlier::replayed: return Came::replayed;
    case Earlier::mismatch: return Came::mismatch;
    case Earlier::no: return Came::nowhere;
  }
  return Came::nowhere;
}

Change Updating::attempt_at(Time now) {
  now_ = now;
  came_ = Came::nowhere;
  Change change{call_.key, [this](const std::optional<Item>& item) { return apply(item); }, {}};
  if (call_.has_marker()) change.also.push_back(marker_of(call_, now));
  return change;
}

Result<Edit> Updating::apply(const std::optional<Item>& standing) {
  came_ = Came::failed;
  Result<DocumentRecord> record = decode_document(standing);
  if (!record) return std::unexpected(std::move(record.error()));
  exists_ = record->exists;
  version_ = standing ? standing->version : Version{};
  stamp_ = record->stamp;
  if (call_.ids_in_item) {
    const Earlier earlier = find_in(*record, call_, now_);
    if (earlier != Earlier::no) {
      came_ = came_by(earlier);
      return Keep{};
    }
  }
  Result<Modified> wanted = modify_(exists_ ? std::optional(record->content) : std::nullopt);
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  return edit_for(std::move(*record), *wanted);
}

Result<Edit> Updating::edit_for(DocumentRecord last, const Modified& wanted) {
  const Content* content = std::get_if<Content>(&wanted);
  if (std::holds_alternative<Keep>(wanted) || (content == nullptr && !last.exists)) {
    came_ = last.exists ? Came::kept : Came::missing;
    return Keep{};
  }
  if (content != nullptr) {
    if (Result<void> ok = check_content(*content); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
  }
  Result<DocumentRecord> next = record_after(std::move(last), wanted, call_, now_);
  if (!next) return std::unexpected(std::move(next.error()));
  came_ = Came::made;
  return Replace{encode(*next), expiry_of(*next, now_, call_.clock_error)};
}

bool Updating::made_in(const std::optional<Item>& item, const DocumentRecord& record) const {
  if (!item) return false;
  return record.stamp == call_.stamp || (item->version == version_ && record.stamp != stamp_);
}

bool Updating::applied_to(const std::optional<Item>& item, const DocumentRecord& record) const {
  const Version version = item ? item->version : Version{};
  return version == version_ && record.stamp == stamp_;
}

std::optional<std::string> Updating::etag_seen() const {
  return exists_ ? std::optional(etag_of(version_)) : std::nullopt;
}

}  // namespace once::documents
