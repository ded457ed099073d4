#include "remote/documents.h"

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "remote/listing.h"
#include "wire/documents.h"
#include "wire/json.h"

namespace once::remote {
namespace {

using documents::Condition;
using documents::Contended;
using documents::Content;
using documents::Document;
using documents::Identity;
using documents::IfAbsent;
using documents::IfMatch;
using documents::Modified;
using documents::Modify;
using documents::NotFound;
using documents::PreconditionFailed;
using documents::Updated;
using documents::UpdateOutcome;
using documents::UpdateRequest;
using documents::WriteOutcome;

// As updates in this process.
constexpr Duration kDeadline = std::chrono::seconds(10);
constexpr int kPlainAttempts = 4;
constexpr Duration kPlainBase{100};
constexpr std::size_t kMaxEtags = 16;
constexpr std::size_t kMaxId = 255;  // Bytes of an Idempotency-Key.

Result<void> check(const Identity& identity) {
  if (identity.id.empty()) return {};
  if (Result<void> ok = keys::check_name(identity.id); !ok) return ok;
  if (identity.id.size() > kMaxId) {
    return failure(ErrorCode::unsupported, "through a server an id has at most 255 bytes");
  }
  if (identity.ttl == Identity{}.ttl) return {};
  return failure(ErrorCode::unsupported, "a server remembers an id for a day, and no other time");
}

// An id stands for what it was first used with; what a function made of a document is something
// else each time.
Result<void> check(const UpdateRequest& request) {
  if (request.identity.id.empty()) return {};
  return failure(ErrorCode::unsupported,
                 "an update by a function has no id through a server; a put or a patch may");
}

}  // namespace

Result<std::optional<Document>> RemoteDocuments::get(std::string_view name, Duration within) {
  const Result<wire::Request> request = server_.request("GET", "docs", name);
  if (!request) return std::unexpected(request.error());
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_document(called->response);
}

Result<WriteOutcome> RemoteDocuments::change(std::string_view name, wire::Request request,
                                             OwnId own_id, Duration within) {
  const Deadline deadline(server_.clock(), within);
  const Result<CallResult> called = server_.call(request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  const Result<wire::WriteAnswer> answer = wire::decode_write_answer(called->response);
  if (!answer) return std::unexpected(answer.error());
  if (const auto* failed = std::get_if<PreconditionFailed>(&*answer)) return *failed;
  if (std::holds_alternative<documents::Mismatch>(*answer)) return documents::Mismatch{};
  const auto& written = std::get<wire::Written>(*answer);
  // A replay, even of our own first try, has the ETag of the current document, which may be
  // another's.
  if (written.replayed) {
    Result<std::optional<Document>> current = get(name, deadline.left());
    if (!current) {  // Not `unavailable`, which would say that nothing was written.
      return failure(
          ErrorCode::unknown,
          "the change was made, but the document could not be read: " + current.error().message);
    }
    const bool by_another = own_id == OwnId::no && !called->was_retried;
    return Updated{std::move(*current), by_another};
  }
  const std::optional<std::string_view> type = request.headers.find("Content-Type");
  if (!type) return Updated{};
  if (!written.etag) return wire::unreadable_answer();
  Content content{std::move(request.body), std::string(*type)};
  return Updated{Document{std::move(content), *written.etag}};
}

Result<WriteOutcome> RemoteDocuments::put(std::string_view name, Content content,
                                          Condition condition, Identity identity, Duration within) {
  if (Result<void> ok = check(identity); !ok) return std::unexpected(std::move(ok.error()));
  Result<wire::Request> request = server_.request("PUT", "docs", name);
  if (!request) return std::unexpected(std::move(request.error()));
  const OwnId own_id = identity.id.empty() ? OwnId::yes : OwnId::no;
  const bool wants_id = identity.ttl > Duration::zero();
  if (own_id == OwnId::yes && wants_id) identity.id = server_.new_id();
  wire::encode(wire::PutRequest{std::move(content), std::move(condition), std::move(identity.id)},
               *request);
  return change(name, std::move(*request), own_id, within);
}

Result<WriteOutcome> RemoteDocuments::remove(std::string_view name, std::string etag,
                                             Identity identity, Duration within) {
  if (Result<void> ok = check(identity); !ok) return std::unexpected(std::move(ok.error()));
  Result<wire::Request> request = server_.request("DELETE", "docs", name);
  if (!request) return std::unexpected(std::move(request.error()));
  const OwnId own_id = identity.id.empty() ? OwnId::yes : OwnId::no;
  if (own_id == OwnId::yes) identity.id = server_.new_id();
  wire::encode(wire::RemoveRequest{std::move(etag), std::move(identity.id)}, *request);
  return change(name, std::move(*request), own_id, within);
}

RemoteDocuments::Tried RemoteDocuments::apply(std::string_view name, const Modify& modify,
                                              const std::optional<Document>& standing,
                                              Duration within) {
  Result<Modified> wanted =
      modify(standing ? std::optional(standing->content) : std::optional<Content>());
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  Result<WriteOutcome> made = Updated{standing};
  if (auto* content = std::get_if<Content>(&*wanted)) {
    Condition condition = IfAbsent{};
    if (standing) condition = IfMatch{standing->etag};
    made = put(name, std::move(*content), std::move(condition), {}, within);
  } else if (!standing) {
    return std::nullopt;
  } else if (std::holds_alternative<Clear>(*wanted)) {
    made = remove(name, standing->etag, {}, within);
  }
  if (!made) return std::unexpected(std::move(made.error()));
  return std::move(*made);
}

Result<WriteOutcome> RemoteDocuments::update_if(std::string_view name, std::string etag,
                                                UpdateRequest request, Duration within) {
  if (Result<void> ok = check(request); !ok) return std::unexpected(std::move(ok.error()));
  const Deadline deadline(server_.clock(), within);
  const Result<std::optional<Document>> standing = get(name, within);
  if (!standing) return std::unexpected(standing.error());
  if (!*standing) return PreconditionFailed{};
  if ((*standing)->etag != etag) return PreconditionFailed{(*standing)->etag};
  Tried tried = apply(name, request.modify, *standing, deadline.left());
  if (!tried) return std::unexpected(std::move(tried.error()));
  return std::move(**tried);
}

Result<UpdateOutcome> RemoteDocuments::update(std::string_view name, UpdateRequest request,
                                              Duration within) {
  if (Result<void> ok = check(request); !ok) return std::unexpected(std::move(ok.error()));
  const Key key = documents::document_key(server_.name_space(), name);
  const Deadline deadline(server_.clock(), within);
  const Deadline contention(server_.clock(), std::min(within, kDeadline));
  Contended contended{.name = std::string(name)};
  for (;;) {
    const Result<std::optional<Document>> standing = get(name, deadline.left());
    if (!standing) return std::unexpected(standing.error());
    Tried tried = apply(name, request.modify, *standing, deadline.left());
    if (!tried) return std::unexpected(std::move(tried.error()));
    if (!*tried) return NotFound{};
    if (auto* updated = std::get_if<Updated>(&**tried)) {
      contention_.succeeded(key, contended.attempts);
      updated->conflicts = contended.attempts;
      return std::move(*updated);
    }
    if (std::holds_alternative<documents::Mismatch>(**tried)) return wire::unreadable_answer();
    const int conflicts = ++contended.attempts;
    if (*standing) contended.etags.push_back((*standing)->etag);
    if (contended.etags.size() > kMaxEtags) contended.etags.erase(contended.etags.begin());
    const Duration left = contention.left();
    if (left == Duration::zero() || (!request.adaptive && conflicts >= kPlainAttempts))
      return contended;
    const Duration bound = request.adaptive
                               ? contention_.conflicted(key, conflicts, server_.clock().now())
                               : kPlainBase * (1 << (conflicts - 1));
    server_.clock().sleep(server_.entropy().random_below(std::min(bound, left)));
  }
}

Result<documents::DocumentPage> RemoteDocuments::list(const Listing& listing, Duration within) {
  const Result<CallResult> called = list_page(server_, "docs", listing, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_document_page(called->response);
}

Result<BulkRemoved> RemoteDocuments::remove_all(const Listing& listing, BulkRun run,
                                                Duration within) {
  return remove_page(server_, "docs", listing, run, within);
}

}  // namespace once::remote
