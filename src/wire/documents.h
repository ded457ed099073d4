// Documents as requests and answers of the API. What a request insists on, and the id of a change,
// are headers; the body is the document's own bytes.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <variant>

#include "once/documents.h"
#include "wire/message.h"
#include "wire/problem.h"

namespace once::wire {

struct PutRequest {
  documents::Content content;
  documents::Condition condition;
  std::string id;  // The Idempotency-Key; empty if the header is missing.
};

// Once-TTL: how long a document is kept from this change on. Nothing if the header is missing.
Result<std::optional<Duration>> document_ttl(const Headers& headers);

struct RemoveRequest {
  std::string etag;
  std::string id;
};

// Adds headers and body to a request that has its method and target.
void encode(const PutRequest& put, Request& request);
void encode(const RemoveRequest& removal, Request& request);

// What was asked for, or the problem that answers a bad request.
std::expected<PutRequest, Response> decode_put_request(const Request& request);
std::expected<RemoveRequest, Response> decode_remove_request(const Request& request);

// The answer to a change. It does not repeat the document.
struct Written {
  std::optional<std::string> etag;  // Nothing once the document is removed.
  bool replayed = false;

  friend bool operator==(const Written&, const Written&) = default;
};
using WriteAnswer = std::variant<Written, documents::PreconditionFailed, documents::Mismatch>;

// What a change insists on: the document, and its ETag; without one, that there is none.
struct Expected {
  std::string key;
  std::optional<std::string> etag;
};
std::optional<std::string> etag_of(const documents::Condition& condition);

// 412: what was expected, and what there is. `etag` is the current one.
Problem precondition_problem(std::string_view detail, const Expected& expected,
                             const std::optional<std::string>& etag);

// What a client is told of an outcome. `status` is that of a success: 200, 201 or 204.
WriteAnswer answer_of(const documents::WriteOutcome& outcome);
Response encode(const WriteAnswer& answer, int status, const Expected& expected);

// `unknown` if the answer is not understood.
Result<WriteAnswer> decode_write_answer(const Response& response);

// {"docs":[{"key","etag","bytes","content_type"}],"cursor"}
Response encode(const documents::DocumentPage& page);
Result<documents::DocumentPage> decode_document_page(const Response& response);

Response encode(const documents::Document& document);
Response unchanged_document(std::string_view etag);  // 304
Response no_document();                              // 404
Result<std::optional<documents::Document>> decode_document(const Response& response);

}  // namespace once::wire
