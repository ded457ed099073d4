// Reading a document, and writing it under a condition.
#include "once/documents.h"

#include "primitives/commit_resolved.h"
#include "primitives/document_change.h"
#include "primitives/keys.h"
#include "primitives/recorded.h"

namespace once::documents {
namespace {

// A put or a removal with its condition.
struct ConditionalWrite {
  ChangeCall call;
  Modified wanted;               // Content or Clear.
  std::optional<Version> match;  // Empty: no document may exist. Zero: matches nothing.
  Recording recording = {};      // Of a removal.
};

// A text that is not an ETag of ours is valid, and matches nothing.
Version match_of(std::string_view etag) { return version_of(etag).value_or(Version{}); }

// The item being replaced: its guard, and its record, whose ids must be kept.
struct WriteBase {
  Guard guard;
  DocumentRecord last;
};

bool same_guard(const Guard& a, const Guard& b) {
  return a.kind == b.kind && a.version == b.version;
}

bool condition_holds(const ConditionalWrite& write, const DocumentRecord& record,
                     const std::optional<Item>& current) {
  if (!write.match) return !record.exists;
  return record.exists && current->version == *write.match;
}

Result<std::vector<Write>> writes_on(const WriteBase& base, const ConditionalWrite& write,
                                     Time now) {
  const ChangeCall& call = write.call;
  const Result<DocumentRecord> record = record_after(base.last, write.wanted, call, now);
  if (!record) return std::unexpected(record.error());
  std::vector<Write> writes = {
      once::put(call.key, encode(*record), base.guard, expiry_of(*record, now, call.clock_error))};
  // Tries on different bases share the version: at most one of them is written.
  writes[0].version = call.stamp;
  if (call.has_marker()) writes.push_back(marker_of(call, now));
  return writes;
}

WriteOutcome updated_by(const ConditionalWrite& write) {
  const Content* content = std::get_if<Content>(&write.wanted);
  if (content == nullptr) return Updated{};
  Document document{*content, etag_of(write.call.stamp)};
  document.content.ttl.reset();
  return Updated{std::move(document)};
}

// The answer after a failed try; empty: retry on `base`, which is then the current item. `sent`: an
// earlier try may have been written, or may yet be. Without an id, a write is recognised only while
// it is the current item. With an id, it is known to have failed once its condition no longer holds
// and the id is not found after that (docs/hazards.md#h7).
Plan<std::optional<WriteOutcome>> answer_after_failure(const ConditionalWrite& write,
                                                       std::optional<Item> current, bool sent,
                                                       WriteBase& base) {
  const Time now = co_await store_now();
  Result<DocumentRecord> record = decode_document(current, now);
  if (!record) co_return std::unexpected(record.error());
  const Version version = current ? current->version : Version{};
  const EarlierChange earlier = co_await find_earlier(write.call, *record);
  const bool ours = earlier == EarlierChange::ours || version == write.call.stamp;
  if (earlier == EarlierChange::mismatch) co_return WriteOutcome(Mismatch{});
  // What this call wrote, even if another has replaced it since: the caller takes the ETag for that
  // of its own bytes.
  if (ours) co_return updated_by(write);
  if (earlier == EarlierChange::replayed) {
    co_return WriteOutcome(Updated{document_in(std::move(*record), version), true});
  }
  const bool in_doubt = sent && !write.call.has_id();
  if (!condition_holds(write, *record, current)) {
    if (in_doubt) co_return outcome_unknown();
    PreconditionFailed failed;
    if (record->exists) failed.etag = etag_of(version);
    co_return WriteOutcome(std::move(failed));
  }
  const Guard guard = current ? unchanged(version) : absent();
  if (in_doubt && !same_guard(guard, base.guard)) co_return outcome_unknown();
  base = {guard, std::move(*record)};
  co_return std::optional<WriteOutcome>();
}

// The current item after a commit that did not succeed.
Plan<std::optional<Item>> current_after(Key key, Result<CommitOutcome> outcome, bool sent) {
  if (outcome && std::get<Lost>(*outcome).write == 0) {
    co_return std::move(std::get<Lost>(*outcome).current);
  }
  for (int retry = 0;; ++retry) {
    if (!outcome) co_await back_off(retry);
    Result<std::optional<Item>> current = co_await attempt(once::get(key));
    if (current || !sent) co_return std::move(current);
    if (outcome) co_await back_off(retry);
  }
}

// Looked for by its caller, if it is not a removal that is recorded.
Plan<CommitOutcome> commit_change(std::vector<Write>& writes, Recording recording) {
  if (recording) co_return co_await commit_recorded(writes, recording);
  co_return co_await commit(writes);
}

Plan<WriteOutcome> write_conditionally(ConditionalWrite write) {
  WriteBase base{write.match ? unchanged(*write.match) : absent(), {}};
  if (write.match && (write.call.ids_in_item || !*write.match || write.recording)) {
    std::optional<Item> current = co_await once::get(write.call.key);
    std::optional<WriteOutcome> outcome =
        co_await answer_after_failure(write, std::move(current), false, base);
    if (outcome) co_return std::move(*outcome);
  }
  for (bool sent = false;;) {
    const Time now = co_await store_now();
    Result<std::vector<Write>> writes = writes_on(base, write, now);
    if (!writes) co_return sent ? outcome_unknown() : std::unexpected(std::move(writes.error()));
    Result<CommitOutcome> outcome = co_await attempt(commit_change(*writes, write.recording));
    if (outcome && committed(*outcome)) co_return updated_by(write);
    sent = sent || (!outcome && outcome.error().code == ErrorCode::unknown);
    if (!outcome && !sent) co_return std::unexpected(std::move(outcome.error()));
    Result<std::optional<Item>> current =
        co_await attempt(current_after(write.call.key, std::move(outcome), sent));
    if (!current) co_return std::unexpected(std::move(current.error()));
    Result<std::optional<WriteOutcome>> answer =
        co_await attempt(answer_after_failure(write, std::move(*current), sent, base));
    if (!answer && !sent) co_return std::unexpected(std::move(answer.error()));
    if (!answer && answer.error().code != ErrorCode::unavailable) co_return outcome_unknown();
    if (answer && *answer) co_return std::move(**answer);
  }
}

}  // namespace

Key document_key(std::string_view name_space, std::string_view name) {
  return keys::document(name_space, name);
}

Plan<std::optional<Document>> get(Key key) {
  const std::optional<Item> current = co_await once::get(key);
  const Time now = co_await store_now();
  Result<DocumentRecord> record = decode_document(current, now);
  if (!record) co_return std::unexpected(std::move(record.error()));
  co_return current ? document_in(std::move(*record), current->version) : std::nullopt;
}

Plan<WriteOutcome> put(Key key, Content content, Condition condition, Identity identity) {
  if (const Result<void> ok = check_content(content); !ok) co_return std::unexpected(ok.error());
  std::optional<Version> match;
  if (const IfMatch* wanted = std::get_if<IfMatch>(&condition)) {
    match = match_of(wanted->etag);
  }
  Bytes hash = content.ttl ? hash_of_parts({"put", content.type, content.bytes,
                                            std::to_string(content.ttl->count())})
                           : hash_of_parts({"put", content.type, content.bytes});
  ChangeCall call = co_await start_call(std::move(key), std::move(identity), std::move(hash));
  ConditionalWrite write{std::move(call), std::move(content), match};
  co_return co_await write_conditionally(std::move(write));
}

Plan<WriteOutcome> remove(Key key, std::string etag, Identity identity) {
  return remove(std::move(key), std::move(etag), std::move(identity), Recording{});
}

Plan<WriteOutcome> remove(Key key, std::string etag, Identity identity, Recording recording) {
  Bytes hash = hash_of_parts({"remove"});
  ChangeCall call = co_await start_call(std::move(key), std::move(identity), std::move(hash));
  ConditionalWrite write{std::move(call), Clear{}, match_of(etag), std::move(recording)};
  co_return co_await write_conditionally(std::move(write));
}

Plan<WriteOutcome> update_if(Key key, std::string etag, UpdateRequest request) {
  Bytes hash = hash_of_parts({"update", request.body});
  ChangeCall call =
      co_await start_call(std::move(key), std::move(request.identity), std::move(hash));
  call.keeps_end = true;
  ConditionalWrite write{std::move(call), Clear{}, match_of(etag)};
  std::optional<Item> current = co_await once::get(write.call.key);
  const Version version = current ? current->version : Version{};
  WriteBase base;
  std::optional<WriteOutcome> outcome =
      co_await answer_after_failure(write, std::move(current), false, base);
  if (outcome) co_return std::move(*outcome);
  Result<Modified> wanted = request.modify(base.last.content);
  if (!wanted) co_return std::unexpected(std::move(wanted.error()));
  if (std::holds_alternative<Keep>(*wanted)) {
    co_return Updated{document_in(std::move(base.last), version)};
  }
  if (const Content* content = std::get_if<Content>(&*wanted)) {
    if (const Result<void> ok = check_content(*content); !ok) co_return std::unexpected(ok.error());
  }
  write.wanted = std::move(*wanted);
  co_return co_await write_conditionally(std::move(write));
}

}  // namespace once::documents
