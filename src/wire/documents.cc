#include "wire/documents.h"

#include <utility>

#include "wire/conditions.h"
#include "wire/json.h"
#include "wire/problem.h"

namespace once::wire {
namespace {

using documents::Condition;
using documents::Document;
using documents::IfAbsent;
using documents::IfMatch;
using documents::PreconditionFailed;
using documents::Updated;

// What a put insists on; nothing if it does not say.
Result<std::optional<Condition>> condition_in(const Headers& headers) {
  Result<std::optional<std::string>> match = if_match_in(headers);
  if (!match) return std::unexpected(std::move(match.error()));
  const Result<std::optional<Etags>> none_match = etags_in(headers, "If-None-Match");
  if (!none_match) return std::unexpected(none_match.error());
  if (*none_match && (*match || !(*none_match)->any)) {
    return failure(ErrorCode::invalid, "a change takes If-Match, or If-None-Match: *");
  }
  if (*none_match) return IfAbsent{};
  if (*match) return IfMatch{std::move(**match)};
  return std::nullopt;
}

// Unchanged, unless it could never be sent back.
Result<std::string> content_type(const Headers& headers) {
  const std::string_view type = headers.find("Content-Type").value_or("application/octet-stream");
  if (is_content_type(type)) return std::string(type);
  return failure(ErrorCode::invalid, "Content-Type is not printable");
}

void add_id(const std::string& id, Request& request) {
  if (!id.empty()) request.headers.add("Idempotency-Key", quoted_etag(id));
}

std::optional<std::string> etag_in(const Response& response) {
  const std::optional<std::string_view> etag = response.headers.find("ETag");
  if (!etag || etag->size() < 2) return std::nullopt;
  return std::string(etag->substr(1, etag->size() - 2));
}

// Anybody who may write can store a page. In a browser it must not act as a page of this server:
// its type is not guessed, and it runs no script.
void add_page_guards(Response& response) {
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.headers.add("Content-Security-Policy", "sandbox");
}

}  // namespace

void encode(const PutRequest& put, Request& request) {
  if (const auto* match = std::get_if<IfMatch>(&put.condition)) {
    request.headers.add("If-Match", quoted_etag(match->etag));
  } else {
    request.headers.add("If-None-Match", "*");
  }
  add_id(put.id, request);
  request.headers.add("Content-Type", put.content.type);
  request.body = put.content.bytes;
}

void encode(const RemoveRequest& removal, Request& request) {
  request.headers.add("If-Match", quoted_etag(removal.etag));
  add_id(removal.id, request);
}

std::expected<PutRequest, Response> decode_put_request(const Request& request) {
  Result<std::optional<Condition>> condition = condition_in(request.headers);
  if (!condition) return std::unexpected(problem(condition.error()));
  if (!*condition) {
    return std::unexpected(
        problem(Code::precondition_required, "a put takes If-Match, or If-None-Match: *"));
  }
  Result<std::string> type = content_type(request.headers);
  if (!type) return std::unexpected(problem(type.error()));
  Result<std::string> id = idempotency_key(request.headers);
  if (!id) return std::unexpected(problem(id.error()));
  return PutRequest{{request.body, std::move(*type)}, std::move(**condition), std::move(*id)};
}

std::expected<RemoveRequest, Response> decode_remove_request(const Request& request) {
  Result<std::optional<std::string>> match = if_match_in(request.headers);
  if (!match) return std::unexpected(problem(match.error()));
  if (!*match) {
    return std::unexpected(problem(Code::precondition_required, "a removal takes If-Match"));
  }
  Result<std::string> id = idempotency_key(request.headers);
  if (!id) return std::unexpected(problem(id.error()));
  return RemoveRequest{std::move(**match), std::move(*id)};
}

WriteAnswer answer_of(const documents::WriteOutcome& outcome) {
  if (const auto* failed = std::get_if<PreconditionFailed>(&outcome)) return *failed;
  if (std::holds_alternative<documents::Mismatch>(outcome)) return documents::Mismatch{};
  const auto& updated = std::get<Updated>(outcome);
  Written written{.replayed = updated.replayed};
  if (updated.document) written.etag = updated.document->etag;
  return written;
}

Response encode(const WriteAnswer& answer, int status) {
  if (const auto* failed = std::get_if<PreconditionFailed>(&answer)) {
    Problem refusal(Code::precondition_failed,
                    failed->etag ? "the document has another ETag" : "there is no such document");
    if (failed->etag) refusal.header("ETag", quoted_etag(*failed->etag));
    return refusal.finish();
  }
  if (std::holds_alternative<documents::Mismatch>(answer)) {
    return problem(Code::mismatch, "the Idempotency-Key was used for another change");
  }
  const auto& written = std::get<Written>(answer);
  Response response{status, {}, ""};
  const bool removed = status == 204;
  if (written.etag && !removed) response.headers.add("ETag", quoted_etag(*written.etag));
  return written.replayed ? replayed(std::move(response)) : response;
}

Result<WriteAnswer> decode_write_answer(const Response& response) {
  const std::optional<Code> code = problem_code(response);
  if (code == Code::precondition_failed) return PreconditionFailed{etag_in(response)};
  if (code == Code::mismatch) return documents::Mismatch{};
  if (response.status >= 300) return unreadable_answer();
  return Written{etag_in(response), is_replay(response)};
}

Response encode(const Document& document) {
  Response response{200, {}, document.content.bytes};
  response.headers.add("Content-Type", document.content.type);
  response.headers.add("ETag", quoted_etag(document.etag));
  add_page_guards(response);
  return response;
}

Response unchanged_document(std::string_view etag) {
  Response response{304, {}, ""};
  response.headers.add("ETag", quoted_etag(etag));
  add_page_guards(response);
  return response;
}

Response no_document() { return problem(Code::not_found, "there is no such document"); }

Result<std::optional<Document>> decode_document(const Response& response) {
  if (problem_code(response) == Code::not_found) return std::nullopt;
  std::optional<std::string> etag = etag_in(response);
  const std::optional<std::string_view> type = response.headers.find("Content-Type");
  if (!etag || !type) return unreadable_answer();
  return Document{{response.body, std::string(*type)}, std::move(*etag)};
}

}  // namespace once::wire
