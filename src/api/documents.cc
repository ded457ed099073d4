#include "once/documents.h"

#include "api/call.h"
#include "api/document_answers.h"
#include "wire/conditions.h"

namespace once::api {
namespace {

using documents::Document;
using documents::Identity;
using documents::IfAbsent;

Plan<Response> answer_get(Key key, std::optional<Etags> known) {
  std::optional<Document> document = co_await documents::get(std::move(key));
  if (!document) co_return wire::no_document();
  if (known && matches_weakly(*known, document->etag)) {
    Response unchanged{304, {}, ""};
    unchanged.headers.add("ETag", quoted_etag(document->etag));
    co_return unchanged;
  }
  co_return wire::encode(*document);
}

Plan<Response> answer_put(Key key, wire::PutRequest request, HotSpot spot) {
  const int status = std::holds_alternative<IfAbsent>(request.condition) ? 201 : 200;
  Identity identity{.id = std::move(request.id)};
  documents::WriteOutcome outcome =
      co_await documents::put(std::move(key), std::move(request.content),
                              std::move(request.condition), std::move(identity));
  co_return co_await written_response(std::move(outcome), status, std::move(spot));
}

Plan<Response> answer_remove(Key key, wire::RemoveRequest request, HotSpot spot) {
  Identity identity{.id = std::move(request.id)};
  documents::WriteOutcome outcome =
      co_await documents::remove(std::move(key), std::move(request.etag), std::move(identity));
  co_return co_await written_response(std::move(outcome), 204, std::move(spot));
}

}  // namespace

Plan<Response> written_response(documents::WriteOutcome outcome, int status, HotSpot spot) {
  const wire::WriteAnswer answer = wire::answer_of(outcome);
  Response response = wire::encode(answer, status);
  if (std::holds_alternative<documents::PreconditionFailed>(outcome)) {
    const Time now = co_await store_now();
    spot.conflicted(now);
    response.telemetry.conflicts = 1;
  }
  co_return response;
}

Answer get_document(Call& call) {
  Result<std::optional<Etags>> known = etags_in(call.request.headers, "If-None-Match");
  if (!known) return problem(known.error());
  return answer_get(documents::document_key(call.name_space, call.name), std::move(*known));
}

Answer put_document(Call& call) {
  auto request = wire::decode_put_request(call.request);
  if (!request) return std::move(request.error());
  return answer_put(documents::document_key(call.name_space, call.name), std::move(*request),
                    call.hot_spot("docs"));
}

Answer remove_document(Call& call) {
  auto request = wire::decode_remove_request(call.request);
  if (!request) return std::move(request.error());
  return answer_remove(documents::document_key(call.name_space, call.name), std::move(*request),
                       call.hot_spot("docs"));
}

}  // namespace once::api
