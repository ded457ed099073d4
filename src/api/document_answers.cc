#include "api/document_answers.h"

#include "api/conditions.h"

namespace once::api {

Response document_response(const documents::Document& document) {
  Response response{200, {}, document.content.bytes};
  response.headers.add("Content-Type", document.content.type);
  response.headers.add("ETag", quoted_etag(document.etag));
  return response;
}

Response with_etag(Response response, const std::optional<documents::Document>& document) {
  if (document) response.headers.add("ETag", quoted_etag(document->etag));
  return response;
}

Response no_document() { return problem(Code::not_found, "there is no such document"); }

Response other_change() {
  return problem(Code::mismatch, "the Idempotency-Key was used for another change");
}

Plan<Response> lost_response(documents::PreconditionFailed failed, HotSpot spot) {
  const Time now = co_await store_now();
  spot.conflicted(now);
  Problem answer(Code::precondition_failed,
                 failed.etag ? "the document has another ETag" : "there is no such document");
  if (failed.etag) answer.header("ETag", quoted_etag(*failed.etag));
  Response response = answer.finish();
  response.notes.conflicts = 1;
  co_return response;
}

}  // namespace once::api
