#include "remote/documents.h"

#include <algorithm>
#include <utility>

#include "primitives/keys.h"
#include "remote/reading.h"

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

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  out.append(text).append("\"");
  return out;
}

std::optional<std::string> etag_in(const api::Response& response) {
  const std::optional<std::string_view> etag = response.headers.find("ETag");
  if (!etag || etag->size() < 2) return std::nullopt;
  return std::string(etag->substr(1, etag->size() - 2));
}

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

Result<std::optional<Document>> RemoteDocuments::get(std::string_view name) {
  const Result<api::Request> question = peer_.request("GET", "docs", name);
  if (!question) return std::unexpected(question.error());
  Result<Told> told = peer_.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(std::move(told.error()));
  if (code_of(told->response) == "not_found") return std::nullopt;
  std::optional<std::string> etag = etag_in(told->response);
  const std::optional<std::string_view> type = told->response.headers.find("Content-Type");
  if (!etag || !type) return misunderstanding();
  return Document{{std::move(told->response.body), std::string(*type)}, std::move(*etag)};
}

Result<WriteOutcome> RemoteDocuments::change(std::string_view name, api::Request question,
                                             std::optional<Content> content,
                                             const Identity& identity) {
  if (Result<void> ok = check(identity); !ok) return std::unexpected(std::move(ok.error()));
  const bool own = identity.id.empty();
  question.headers.add("Idempotency-Key", in_quotes(own ? peer_.new_id() : identity.id));
  if (content) {
    question.headers.add("Content-Type", content->type);
    question.body = std::move(content->bytes);
  }
  Result<Told> told = peer_.ask(question, Repeat::safe);
  if (!told) return std::unexpected(std::move(told.error()));
  const std::string code = code_of(told->response);
  if (code == "precondition_failed") return PreconditionFailed{etag_in(told->response)};
  if (code == "mismatch") return documents::Mismatch{};
  if (!code.empty()) return misunderstanding();
  // A replay, even of a repeat of our own, tells the ETag of what stands now; that may be
  // another's.
  if (is_replayed(told->response)) {
    Result<std::optional<Document>> standing = get(name);
    if (!standing) return std::unexpected(std::move(standing.error()));
    return Updated{std::move(*standing), !own};
  }
  if (!content) return Updated{};
  std::optional<std::string> etag = etag_in(told->response);
  if (!etag) return misunderstanding();
  return Updated{Document{{std::move(question.body), std::move(content->type)}, std::move(*etag)}};
}

Result<WriteOutcome> RemoteDocuments::put(std::string_view name, Content content,
                                          Condition condition, Identity identity) {
  Result<api::Request> question = peer_.request("PUT", "docs", name);
  if (!question) return std::unexpected(std::move(question.error()));
  if (const auto* match = std::get_if<IfMatch>(&condition)) {
    question->headers.add("If-Match", in_quotes(match->etag));
  } else {
    question->headers.add("If-None-Match", "*");
  }
  return change(name, std::move(*question), std::move(content), identity);
}

Result<WriteOutcome> RemoteDocuments::remove(std::string_view name, std::string etag,
                                             Identity identity) {
  Result<api::Request> question = peer_.request("DELETE", "docs", name);
  if (!question) return std::unexpected(std::move(question.error()));
  question->headers.add("If-Match", in_quotes(etag));
  return change(name, std::move(*question), std::nullopt, identity);
}

RemoteDocuments::Tried RemoteDocuments::apply(std::string_view name, const Modify& modify,
                                              const std::optional<Document>& standing) {
  Result<Modified> wanted =
      modify(standing ? std::optional(standing->content) : std::optional<Content>());
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  Result<WriteOutcome> made = Updated{standing};
  if (auto* content = std::get_if<Content>(&*wanted)) {
    Condition condition = IfAbsent{};
    if (standing) condition = IfMatch{standing->etag};
    made = put(name, std::move(*content), std::move(condition), {});
  } else if (!standing) {
    return std::nullopt;
  } else if (std::holds_alternative<Clear>(*wanted)) {
    made = remove(name, standing->etag, {});
  }
  if (!made) return std::unexpected(std::move(made.error()));
  return std::move(*made);
}

Result<WriteOutcome> RemoteDocuments::update_if(std::string_view name, std::string etag,
                                                UpdateRequest request) {
  if (Result<void> ok = check(request); !ok) return std::unexpected(std::move(ok.error()));
  const Result<std::optional<Document>> standing = get(name);
  if (!standing) return std::unexpected(standing.error());
  if (!*standing) return PreconditionFailed{};
  if ((*standing)->etag != etag) return PreconditionFailed{(*standing)->etag};
  Tried tried = apply(name, request.modify, *standing);
  if (!tried) return std::unexpected(std::move(tried.error()));
  return std::move(**tried);
}

Result<UpdateOutcome> RemoteDocuments::update(std::string_view name, UpdateRequest request) {
  if (Result<void> ok = check(request); !ok) return std::unexpected(std::move(ok.error()));
  const Key key = documents::document_key(peer_.name_space(), name);
  const Time until = later(peer_.clock().now(), kDeadline);
  Contended contended{.name = std::string(name)};
  for (;;) {
    const Result<std::optional<Document>> standing = get(name);
    if (!standing) return std::unexpected(standing.error());
    Tried tried = apply(name, request.modify, *standing);
    if (!tried) return std::unexpected(std::move(tried.error()));
    if (!*tried) return NotFound{};
    if (auto* updated = std::get_if<Updated>(&**tried)) {
      own_contention().succeeded(key, contended.attempts);
      updated->conflicts = contended.attempts;
      return std::move(*updated);
    }
    if (std::holds_alternative<documents::Mismatch>(**tried)) return misunderstanding();
    const Time now = peer_.clock().now();
    const int conflicts = ++contended.attempts;
    if (*standing) contended.etags.push_back((*standing)->etag);
    if (contended.etags.size() > kMaxEtags) contended.etags.erase(contended.etags.begin());
    if (now >= until || (!request.adaptive && conflicts >= kPlainAttempts)) return contended;
    const Duration bound = request.adaptive ? own_contention().conflicted(key, conflicts, now)
                                            : kPlainBase * (1 << (conflicts - 1));
    peer_.clock().sleep(peer_.entropy().random_below(std::min(bound, until - now)));
  }
}

}  // namespace once::remote
