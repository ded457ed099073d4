#include "wire/documents.h"

#include <utility>

#include "wire/conditions.h"
#include "wire/json.h"
#include "wire/listing.h"
#include "wire/problem.h"
#include "wire/text.h"

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
  if (put.content.ttl) {
    request.headers.add("Once-TTL", std::to_string(put.content.ttl->count()) + "ms");
  }
  request.headers.add("Content-Type", put.content.type);
  request.body = put.content.bytes;
}

void encode(const RemoveRequest& removal, Request& request) {
  request.headers.add("If-Match", quoted_etag(removal.etag));
  add_id(removal.id, request);
}

Result<std::optional<Duration>> document_ttl(const Headers& headers) {
  const std::optional<std::string_view> written = headers.find("Once-TTL");
  if (!written) return std::nullopt;
  const std::optional<Duration> ttl = parse_duration_or_seconds(*written);
  if (ttl && *ttl > Duration::zero()) return ttl;
  return failure(ErrorCode::invalid, "Once-TTL is not a duration such as 30s, 24h or 7d");
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
  const Result<std::optional<Duration>> ttl = document_ttl(request.headers);
  if (!ttl) return std::unexpected(problem(ttl.error()));
  return PutRequest{{request.body, std::move(*type), *ttl}, std::move(**condition), std::move(*id)};
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

std::optional<std::string> etag_of(const Condition& condition) {
  const auto* match = std::get_if<IfMatch>(&condition);
  return match != nullptr ? std::optional(match->etag) : std::nullopt;
}

Problem precondition_problem(std::string_view detail, const Expected& expected,
                             const std::optional<std::string>& etag) {
  Problem refusal(Code::precondition_failed, detail);
  refusal.text("key", expected.key);
  refusal.text_or_null("expected", expected.etag).text_or_null("current", etag);
  if (etag) refusal.header("ETag", quoted_etag(*etag));
  return refusal;
}

Response encode(const WriteAnswer& answer, int status, const Expected& expected) {
  if (const auto* failed = std::get_if<PreconditionFailed>(&answer)) {
    const std::string_view detail =
        failed->etag ? "the document has another ETag" : "there is no such document";
    return precondition_problem(detail, expected, failed->etag).finish();
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

Response encode(const documents::DocumentPage& page) {
  JsonObject body;
  body.raw("docs", json_array(page.documents, [](const documents::ListedDocument& document) {
             JsonObject row;
             row.text("key", document.name).text("etag", document.etag);
             row.integer("bytes", static_cast<std::int64_t>(document.bytes));
             row.text("content_type", document.content_type);
             if (document.is_corrupt) row.boolean("corrupt", true);
             return row.finish();
           }));
  add_cursor(body, page.cursor);
  return json_response(200, body.finish());
}

Result<documents::DocumentPage> decode_document_page(const Response& response) {
  JsonReader body(response.body);
  documents::DocumentPage page;
  body.each("docs", [&](JsonReader& row) {
    documents::ListedDocument document{.name = row.text("key"), .etag = row.text("etag")};
    document.bytes = static_cast<std::size_t>(row.integer("bytes"));
    document.content_type = row.text("content_type");
    document.is_corrupt = row.any("corrupt").has_value();
    page.documents.push_back(std::move(document));
  });
  page.cursor = read_cursor(body);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return page;
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
