#include "once/documents.h"

#include "api/call.h"
#include "api/conditions.h"
#include "api/document_answers.h"

namespace once::api {
namespace {

using documents::Document;
using documents::Identity;
using documents::IfAbsent;
using documents::IfMatch;
using documents::PreconditionFailed;
using documents::Updated;

Plan<Response> got(Key key, std::optional<Etags> known) {
  std::optional<Document> document = co_await documents::get(std::move(key));
  if (!document) co_return no_document();
  if (known && matches_weakly(*known, document->etag)) {
    co_return with_etag(Response{304, {}, ""}, document);
  }
  co_return document_response(*document);
}

// The answer to a change that may have been refused; `made` is what to say if it was not.
Plan<Response> answer_to(documents::WriteOutcome outcome, Response made, HotSpot spot) {
  if (auto* failed = std::get_if<PreconditionFailed>(&outcome)) {
    co_return co_await lost_response(std::move(*failed), std::move(spot));
  }
  if (std::holds_alternative<documents::Mismatch>(outcome)) co_return other_change();
  co_return std::get<Updated>(outcome).replayed ? replayed(std::move(made)) : std::move(made);
}

Plan<Response> put(Key key, documents::Content content, documents::Condition condition,
                   Identity identity, HotSpot spot) {
  const int status = std::holds_alternative<IfAbsent>(condition) ? 201 : 200;
  documents::WriteOutcome outcome = co_await documents::put(
      std::move(key), std::move(content), std::move(condition), std::move(identity));
  Response made{status, {}, ""};
  if (const auto* updated = std::get_if<Updated>(&outcome)) {
    made = with_etag(std::move(made), updated->document);
  }
  co_return co_await answer_to(std::move(outcome), std::move(made), std::move(spot));
}

Plan<Response> removed(Key key, std::string etag, Identity identity, HotSpot spot) {
  documents::WriteOutcome outcome =
      co_await documents::remove(std::move(key), std::move(etag), std::move(identity));
  Response made{204, {}, ""};
  co_return co_await answer_to(std::move(outcome), std::move(made), std::move(spot));
}

// What a put insists on; nothing if it does not say.
Result<std::optional<documents::Condition>> condition_in(const Headers& headers) {
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

// As it came, unless it could never be sent again.
Result<std::string> content_type(const Headers& headers) {
  const std::string_view type = headers.find("Content-Type").value_or("application/octet-stream");
  if (is_content_type(type)) return std::string(type);
  return failure(ErrorCode::invalid, "Content-Type is not printable");
}

Response no_condition(std::string_view wanted) {
  return problem(Code::precondition_required, wanted);
}

}  // namespace

Answer get_document(Call& call) {
  Result<std::optional<Etags>> known = etags_in(call.request.headers, "If-None-Match");
  if (!known) return problem(known.error());
  return got(documents::document_key(call.name_space, call.name), std::move(*known));
}

Answer put_document(Call& call) {
  Result<std::optional<documents::Condition>> condition = condition_in(call.request.headers);
  if (!condition) return problem(condition.error());
  if (!*condition) return no_condition("a put takes If-Match, or If-None-Match: *");
  Result<std::string> type = content_type(call.request.headers);
  if (!type) return problem(type.error());
  Result<std::string> id = idempotency_key(call.request.headers);
  if (!id) return problem(id.error());
  return put(documents::document_key(call.name_space, call.name),
             {call.request.body, std::move(*type)}, std::move(**condition), {.id = std::move(*id)},
             call.hot_spot("docs"));
}

Answer remove_document(Call& call) {
  Result<std::optional<std::string>> match = if_match_in(call.request.headers);
  if (!match) return problem(match.error());
  if (!*match) return no_condition("a removal takes If-Match");
  Result<std::string> id = idempotency_key(call.request.headers);
  if (!id) return problem(id.error());
  return removed(documents::document_key(call.name_space, call.name), std::move(**match),
                 {.id = std::move(*id)}, call.hot_spot("docs"));
}

}  // namespace once::api
