// Listing documents, and removing many of them.
#include <algorithm>
#include <span>
#include <utility>

#include "once/documents.h"
#include "primitives/document_change.h"
#include "primitives/keys.h"
#include "primitives/listing.h"
#include "primitives/recorded.h"

namespace once::documents {
namespace {

struct FoundDocument {
  Key key;
  Version version;
  Result<DocumentRecord> record;
};

// A page of documents, those that cannot be read among them.
struct FoundPage {
  std::vector<FoundDocument> documents;
  std::string cursor;
};

Plan<FoundPage> find_documents(std::string name_space, Listing listing) {
  FoundPage page;
  WalkRequest request{keys::document_prefix(name_space) + listing.prefix, std::move(listing.cursor),
                      listing.limit};
  IsFound is_found = [&page](ListPage::Listed& listed, Time now) -> Result<bool> {
    if (!listed.key.partition.part.empty() || listed.key.sort != 0) return false;
    Result<DocumentRecord> record = decode_document(listed.item, now);
    if (record && !record->exists) return false;
    page.documents.push_back({listed.key, listed.item.version, std::move(record)});
    return true;
  };
  page.cursor = co_await walk(std::move(request), std::move(is_found));
  co_return std::move(page);
}

ListedDocument listed(const FoundDocument& found) {
  ListedDocument document{.name = std::string(keys::name_in(found.key.partition.home)),
                          .etag = etag_of(found.version)};
  document.is_corrupt = !found.record;
  if (!found.record) return document;
  document.bytes = found.record->content.bytes.size();
  document.content_type = found.record->content.type;
  return document;
}

// Where the document is still as it was found.
Write removal_of(const FoundDocument& found, const Limits& limits, Version stamp, Time now) {
  const ChangeCall call{.key = found.key, .stamp = stamp, .clock_error = limits.clock_error};
  const DocumentRecord record =
      *record_after(found.record.value_or(DocumentRecord()), Clear{}, call, now);
  Write write = once::put(found.key, encode(record), unchanged(found.version),
                          expiry_of(record, now, limits.clock_error));
  write.version = stamp;
  return write;
}

// Removes what another changed in the meantime. False if it is gone.
Plan<bool> remove_changed(Key key, Contention& contention) {
  UpdateRequest request{.modify = [](const std::optional<Content>& current) -> Result<Modified> {
    if (!current) return Keep{};
    return Clear{};
  }};
  const UpdateOutcome outcome = co_await update(std::move(key), std::move(request), contention);
  if (std::holds_alternative<Contended>(outcome)) {
    co_return failure(ErrorCode::unavailable, "others always changed a document first");
  }
  co_return std::holds_alternative<Updated>(outcome);
}

// The same, recorded.
Plan<bool> remove_recorded(Key key, Recording recording) {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    const std::optional<Document> current = co_await documents::get(key);
    if (!current) co_return false;
    std::string etag = current->etag;
    Identity none;
    const WriteOutcome outcome = co_await remove(key, std::move(etag), std::move(none), recording);
    if (std::holds_alternative<Updated>(outcome)) co_return true;
  }
  co_return failure(ErrorCode::unavailable, "others always changed a document first");
}

}  // namespace

Plan<DocumentPage> list(std::string name_space, Listing listing) {
  FoundPage found = co_await find_documents(std::move(name_space), std::move(listing));
  DocumentPage page{.cursor = std::move(found.cursor)};
  for (const FoundDocument& document : found.documents) page.documents.push_back(listed(document));
  co_return std::move(page);
}

Plan<BulkRemoved> remove_all(std::string name_space, Listing listing, BulkRun run,
                             Contention& contention) {
  return remove_all(std::move(name_space), std::move(listing), run, contention, Recording{});
}

Plan<BulkRemoved> remove_all(std::string name_space, Listing listing, BulkRun run,
                             Contention& contention, Recording recording) {
  FoundPage found = co_await find_documents(std::move(name_space), std::move(listing));
  BulkRemoved removed{.cursor = std::move(found.cursor)};
  if (run == BulkRun::dry) {
    removed.count = found.documents.size();
    co_return std::move(removed);
  }
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  std::vector<Write> writes;
  for (const FoundDocument& document : found.documents) {
    const Version stamp = co_await fresh_version();
    writes.push_back(removal_of(document, *limits, stamp, now));
  }
  const std::vector<Result<CommitOutcome>> outcomes =
      co_await commit_each_recorded(writes, recording);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (!outcomes[i]) co_return std::unexpected(outcomes[i].error());
    bool gone = committed(*outcomes[i]);
    if (!gone && recording) gone = co_await remove_recorded(writes[i].key, recording);
    if (!gone && !recording) gone = co_await remove_changed(writes[i].key, contention);
    removed.count += gone ? 1 : 0;
  }
  co_return std::move(removed);
}

}  // namespace once::documents
