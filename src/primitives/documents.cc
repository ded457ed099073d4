// Reading a document, and writing it under a condition.
#include "once/documents.h"

#include "primitives/document_change.h"
#include "primitives/keys.h"

namespace once::documents {
namespace {

// A put or a removal, and what it insists on.
struct Wish {
  Call call;
  Modified wanted;               // Content or Clear.
  std::optional<Version> match;  // Nothing: that there is no document. Zero: what never holds.
};

// An ETag that is none of ours matches nothing, which is no reason to find it invalid.
Version match_of(std::string_view etag) { return version_of(etag).value_or(Version{}); }

// What a write is put upon: a guard on what stands there, and the ids it must carry on.
struct Footing {
  Guard guard;
  DocumentRecord last;
};

bool same_guard(const Guard& a, const Guard& b) {
  return a.kind == b.kind && a.version == b.version;
}

bool allows(const Wish& wish, const DocumentRecord& record, const std::optional<Item>& standing) {
  if (!wish.match) return !record.exists;
  return record.exists && standing->version == *wish.match;
}

Result<std::vector<Write>> writes_on(const Footing& footing, const Wish& wish, Time now) {
  const Result<DocumentRecord> record = record_after(footing.last, wish.wanted, wish.call, now);
  if (!record) return std::unexpected(record.error());
  std::vector<Write> writes = {once::put(wish.call.key, encode(*record), footing.guard,
                                         expiry_of(*record, now, wish.call.clock_error))};
  // Tries on different footings share the version: at most one of them lands.
  writes[0].version = wish.call.stamp;
  if (wish.call.has_marker()) writes.push_back(marker_of(wish.call, now));
  return writes;
}

WriteOutcome made_by(const Wish& wish) {
  const Content* content = std::get_if<Content>(&wish.wanted);
  if (content == nullptr) return Updated{};
  return Updated{Document{*content, etag_of(wish.call.stamp)}};
}

// What becomes of a wish that was not fulfilled at once; nothing if it may be tried on `footing`,
// which then is on what stands there. `sent`: an earlier try may have landed, or may yet. One
// without an id is recognised only while it stands; one with an id is known to have failed once
// what it insisted on is gone and then its id is not found (H7).
Plan<std::optional<WriteOutcome>> judge(const Wish& wish, std::optional<Item> standing, bool sent,
                                        Footing& footing) {
  Result<DocumentRecord> record = decode_document(standing);
  if (!record) co_return std::unexpected(record.error());
  const Version version = standing ? standing->version : Version{};
  const Earlier earlier = co_await find_earlier(wish.call, *record);
  const bool ours = earlier == Earlier::ours || version == wish.call.stamp;
  if (earlier == Earlier::mismatch) co_return WriteOutcome(Mismatch{});
  if (ours || earlier == Earlier::replayed) {
    co_return WriteOutcome(Updated{document_in(std::move(*record), version), !ours});
  }
  const bool in_doubt = sent && !wish.call.has_id();
  if (!allows(wish, *record, standing)) {
    if (in_doubt) co_return doubt();
    PreconditionFailed failed;
    if (record->exists) failed.etag = etag_of(version);
    co_return WriteOutcome(std::move(failed));
  }
  const Guard guard = standing ? unchanged(version) : absent();
  if (in_doubt && !same_guard(guard, footing.guard)) co_return doubt();
  footing = {guard, std::move(*record)};
  co_return std::optional<WriteOutcome>();
}

// What stands there after a commit that did not say Committed.
Plan<std::optional<Item>> standing_after(Key key, Result<CommitOutcome> outcome, bool sent) {
  if (outcome && std::get<Lost>(*outcome).write == 0) {
    co_return std::move(std::get<Lost>(*outcome).standing);
  }
  for (int retry = 0;; ++retry) {
    if (!outcome) co_await back_off(retry);
    Result<std::optional<Item>> standing = co_await attempt(once::get(key));
    if (standing || !sent) co_return std::move(standing);
    if (outcome) co_await back_off(retry);
  }
}

Plan<WriteOutcome> fulfil(Wish wish) {
  Footing footing{wish.match ? unchanged(*wish.match) : absent(), {}};
  if (wish.match && (wish.call.ids_in_item || !*wish.match)) {
    std::optional<Item> standing = co_await once::get(wish.call.key);
    std::optional<WriteOutcome> outcome = co_await judge(wish, std::move(standing), false, footing);
    if (outcome) co_return std::move(*outcome);
  }
  for (bool sent = false;;) {
    const Time now = co_await store_now();
    Result<std::vector<Write>> writes = writes_on(footing, wish, now);
    if (!writes) co_return sent ? doubt() : std::unexpected(std::move(writes.error()));
    Result<CommitOutcome> outcome = co_await attempt(commit(*writes));
    if (outcome && committed(*outcome)) co_return made_by(wish);
    sent = sent || (!outcome && outcome.error().code == ErrorCode::unknown);
    if (!outcome && !sent) co_return std::unexpected(std::move(outcome.error()));
    Result<std::optional<Item>> standing =
        co_await attempt(standing_after(wish.call.key, std::move(outcome), sent));
    if (!standing) co_return std::unexpected(std::move(standing.error()));
    Result<std::optional<WriteOutcome>> answer =
        co_await attempt(judge(wish, std::move(*standing), sent, footing));
    if (!answer && !sent) co_return std::unexpected(std::move(answer.error()));
    if (!answer && answer.error().code != ErrorCode::unavailable) co_return doubt();
    if (answer && *answer) co_return std::move(**answer);
  }
}

}  // namespace

Key document_key(std::string_view name_space, std::string_view name) {
  return keys::document(name_space, name);
}

Plan<std::optional<Document>> get(Key key) {
  const std::optional<Item> standing = co_await once::get(key);
  Result<DocumentRecord> record = decode_document(standing);
  if (!record) co_return std::unexpected(std::move(record.error()));
  co_return standing ? document_in(std::move(*record), standing->version) : std::nullopt;
}

Plan<WriteOutcome> put(Key key, Content content, Condition condition, Identity identity) {
  if (const Result<void> ok = check_content(content); !ok) co_return std::unexpected(ok.error());
  std::optional<Version> match;
  if (const IfMatch* wanted = std::get_if<IfMatch>(&condition)) {
    match = match_of(wanted->etag);
  }
  Bytes hash = hash_of_parts({"put", content.type, content.bytes});
  Call call = co_await start_call(std::move(key), std::move(identity), std::move(hash));
  Wish wish{std::move(call), std::move(content), match};
  co_return co_await fulfil(std::move(wish));
}

Plan<WriteOutcome> remove(Key key, std::string etag, Identity identity) {
  Bytes hash = hash_of_parts({"remove"});
  Call call = co_await start_call(std::move(key), std::move(identity), std::move(hash));
  Wish wish{std::move(call), Clear{}, match_of(etag)};
  co_return co_await fulfil(std::move(wish));
}

Plan<WriteOutcome> update_if(Key key, std::string etag, UpdateRequest request) {
  Bytes hash = hash_of_parts({"update", request.body});
  Call call = co_await start_call(std::move(key), std::move(request.identity), std::move(hash));
  Wish wish{std::move(call), Clear{}, match_of(etag)};
  std::optional<Item> standing = co_await once::get(wish.call.key);
  const Version version = standing ? standing->version : Version{};
  Footing footing;
  std::optional<WriteOutcome> outcome = co_await judge(wish, std::move(standing), false, footing);
  if (outcome) co_return std::move(*outcome);
  Result<Modified> wanted = request.modify(footing.last.content);
  if (!wanted) co_return std::unexpected(std::move(wanted.error()));
  if (std::holds_alternative<Keep>(*wanted)) {
    co_return Updated{document_in(std::move(footing.last), version)};
  }
  if (const Content* content = std::get_if<Content>(&*wanted)) {
    if (const Result<void> ok = check_content(*content); !ok) co_return std::unexpected(ok.error());
  }
  wish.wanted = std::move(*wanted);
  co_return co_await fulfil(std::move(wish));
}

}  // namespace once::documents
