// Documents as requests and answers of the API. What a request insists on, and the id of a change,
// are headers; the body is the document's own bytes.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <variant>

#include "once/documents.h"
#include "wire/message.h"

namespace once::wire {

struct PutRequest {
  documents::Content content;
  documents::Condition condition;
  std::string id;  // The Idempotency-Key; empty if the header is missing.
};
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

// What a client is told of an outcome. `status` is that of a success: 200, 201 or 204.
WriteAnswer answer_of(const documents::WriteOutcome& outcome);
Response encode(const WriteAnswer& answer, int status);

// `unknown` if the answer is not understood.
Result<WriteAnswer> decode_write_answer(const Response& response);

Response encode(const documents::Document& document);
Response unchanged_document(std::string_view etag);  // 304
Response no_document();                              // 404
Result<std::optional<documents::Document>> decode_document(const Response& response);

}  // namespace once::wire
