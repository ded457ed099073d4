#include "once/documents.h"

#include "api/audit.h"
#include "api/call.h"
#include "primitives/keys.h"
#include "wire/bulk.h"
#include "wire/conditions.h"
#include "wire/documents.h"
#include "wire/patch.h"

namespace once::api {
namespace {

using documents::Document;
using documents::Identity;
using documents::IfAbsent;

Plan<Response> answer_get(Key key, std::optional<Etags> known) {
  std::optional<Document> document = co_await documents::get(std::move(key));
  if (!document) co_return wire::no_document();
  if (known && matches_weakly(*known, document->etag)) {
    co_return wire::unchanged_document(document->etag);
  }
  co_return wire::encode(*document);
}

std::string name_of(const Key& document) {
  return std::string(keys::name_in(document.partition.home));
}

// The answer to a change; `status` is that of a success. A refusal counts as a conflict of `spot`.
Plan<Response> answer_write(documents::WriteOutcome outcome, int status, wire::Expected expected,
                            HotSpot spot) {
  const wire::WriteAnswer answer = wire::answer_of(outcome);
  Response response = wire::encode(answer, status, expected);
  if (std::holds_alternative<documents::PreconditionFailed>(outcome)) {
    const Time now = co_await store_now();
    spot.conflicted(now);
    response.telemetry.conflicts = 1;
  }
  co_return response;
}

Plan<Response> answer_put(Key key, wire::PutRequest request, HotSpot spot) {
  const int status = std::holds_alternative<IfAbsent>(request.condition) ? 201 : 200;
  wire::Expected expected{name_of(key), wire::etag_of(request.condition)};
  Identity identity{.id = std::move(request.id)};
  documents::WriteOutcome outcome =
      co_await documents::put(std::move(key), std::move(request.content),
                              std::move(request.condition), std::move(identity));
  co_return co_await answer_write(std::move(outcome), status, std::move(expected), std::move(spot));
}

Plan<Response> answer_remove(Key key, wire::RemoveRequest request, HotSpot spot,
                             Recording recording) {
  wire::Expected expected{name_of(key), request.etag};
  Identity identity{.id = std::move(request.id)};
  documents::WriteOutcome outcome = co_await documents::remove(
      std::move(key), std::move(request.etag), std::move(identity), std::move(recording));
  co_return co_await answer_write(std::move(outcome), 204, std::move(expected), std::move(spot));
}

using documents::Updated;

constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kJsonPatch = "application/json-patch+json";

// The patched document. A replay answers with the current one, which may be missing.
Response patched_response(const Updated& updated) {
  Response response = updated.document ? wire::encode(*updated.document) : Response{};
  response.telemetry.conflicts = static_cast<std::uint32_t>(updated.conflicts);
  return updated.replayed ? replayed(std::move(response)) : response;
}

// The patch as a change. What does not apply is remembered, to be told from other errors.
documents::Modify modify_by(Patch patch, std::optional<Duration> ttl, bool& refused) {
  return [patch = std::move(patch), ttl, &refused](
             const std::optional<documents::Content>& current) -> Result<documents::Modified> {
    if (!current) return Keep{};
    Result<std::string> patched = patch(current->bytes);
    refused = !patched && patched.error().code == ErrorCode::invalid;
    if (!patched) return std::unexpected(std::move(patched.error()));
    return documents::Content{std::move(*patched), current->type, ttl};
  };
}

Response error_response(const Error& error, bool refused) {
  if (!refused) return problem(error);
  return Problem(Code::invalid, error.message).status(422).finish();
}

struct PatchRequest {
  Patch patch;
  Bytes body;
  documents::Identity identity;
  std::optional<Duration> ttl;
  bool adaptive = true;
};

documents::UpdateRequest update_by(PatchRequest wanted, bool& refused) {
  const std::size_t weight = wanted.patch.weight;
  return {.modify = modify_by(std::move(wanted.patch), wanted.ttl, refused),
          .identity = std::move(wanted.identity),
          .body = std::move(wanted.body),
          .adaptive = wanted.adaptive,
          .weight = weight};
}

Plan<Response> answer_patch_if(Key key, std::string etag, PatchRequest wanted, HotSpot spot) {
  bool refused = false;
  wire::Expected expected{name_of(key), etag};
  documents::UpdateRequest request = update_by(std::move(wanted), refused);
  Result<documents::WriteOutcome> outcome =
      co_await attempt(documents::update_if(std::move(key), std::move(etag), std::move(request)));
  if (!outcome) co_return error_response(outcome.error(), refused);
  if (const auto* updated = std::get_if<Updated>(&*outcome)) co_return patched_response(*updated);
  const auto* const failed = std::get_if<documents::PreconditionFailed>(&*outcome);
  if (failed != nullptr && !failed->etag) co_return wire::no_document();
  co_return co_await answer_write(std::move(*outcome), 200, std::move(expected), std::move(spot));
}

Plan<Response> answer_contended(documents::Contended lost, HotSpot spot) {
  const Time now = co_await store_now();
  spot.conflicted(now);
  Response response = Problem(Code::contended, "others always changed the document first")
                          .text("key", lost.name)
                          .integer("attempts", lost.attempts)
                          .raw("etags", json_array(lost.etags, json_text))
                          .retry_after(std::chrono::seconds(1))
                          .finish();
  response.telemetry.conflicts = static_cast<std::uint32_t>(lost.attempts);
  co_return response;
}

Plan<Response> answer_patch(Key key, PatchRequest wanted, documents::Contention& contention,
                            HotSpot spot) {
  bool refused = false;
  documents::UpdateRequest request = update_by(std::move(wanted), refused);
  Result<documents::UpdateOutcome> outcome =
      co_await attempt(documents::update(std::move(key), std::move(request), contention));
  if (!outcome) co_return error_response(outcome.error(), refused);
  if (auto* lost = std::get_if<documents::Contended>(&*outcome)) {
    co_return co_await answer_contended(std::move(*lost), std::move(spot));
  }
  if (std::holds_alternative<documents::NotFound>(*outcome)) co_return wire::no_document();
  if (const auto* updated = std::get_if<Updated>(&*outcome)) co_return patched_response(*updated);
  const wire::Expected any;
  co_return wire::encode(wire::WriteAnswer(documents::Mismatch{}), 200, any);
}

Plan<Response> answer_list_documents(std::string name_space, Listing listing) {
  const documents::DocumentPage page =
      co_await documents::list(std::move(name_space), std::move(listing));
  co_return wire::encode(page);
}

Plan<Response> answer_remove_documents(std::string name_space, wire::BulkRemoval removal,
                                       documents::Contention& contention, Recording recording) {
  const BulkRemoved removed =
      co_await documents::remove_all(std::move(name_space), std::move(removal.listing), removal.run,
                                     contention, std::move(recording));
  co_return wire::encode(removed);
}

// How a patch without If-Match meets other writers: by default its pauses adapt to them until ten
// seconds are over; fixed is four tries.
Result<bool> is_adaptive(const Headers& headers) {
  const std::string_view policy = headers.find("Once-Retry").value_or("adaptive");
  if (policy == "adaptive" || policy == "fixed") return policy == "adaptive";
  return failure(ErrorCode::invalid, "Once-Retry is adaptive or fixed");
}

// What the key stands for is the patch, its type and how long the document is kept.
Result<PatchRequest> patch_request_of(const Call& call, const std::string& type) {
  const std::string& text = call.request.body;
  Result<std::string> id = idempotency_key(call.request.headers);
  if (!id) return std::unexpected(std::move(id.error()));
  Result<Patch> patch = type == kMergePatch ? merge_patch(text) : json_patch(text);
  if (!patch) return std::unexpected(std::move(patch.error()));
  const Result<std::optional<Duration>> ttl = wire::document_ttl(call.request.headers);
  if (!ttl) return std::unexpected(ttl.error());
  const Result<bool> adaptive = is_adaptive(call.request.headers);
  if (!adaptive) return std::unexpected(adaptive.error());
  std::string body = type;
  if (*ttl) body.append(";ttl=").append(std::to_string((*ttl)->count()));
  body.append("\n").append(text);
  return PatchRequest{std::move(*patch), std::move(body), {.id = std::move(*id)}, *ttl, *adaptive};
}

}  // namespace

Answer get_document(Call& call) {
  Result<std::optional<Etags>> known = etags_in(call.request.headers, "If-None-Match");
  if (!known) return problem(known.error());
  return answer_get(documents::document_key(call.name_space, call.name), std::move(*known));
}

Answer list_documents(Call& call) {
  const Result<Listing> listing = listing_of(call);
  if (!listing) return problem(listing.error());
  return answer_list_documents(call.name_space, *listing);
}

Answer remove_documents(Call& call) {
  Result<wire::BulkRemoval> removal = wire::decode_bulk_removal(call.request.body);
  if (!removal) return problem(removal.error());
  return answer_remove_documents(call.name_space, std::move(*removal), call.service.contention(),
                                 audit_of(call, "doc.delete"));
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
                       call.hot_spot("docs"), audit_of(call, "doc.delete"));
}

Answer patch_document(Call& call) {
  const std::string type = media_type(call.request.headers);
  if (type != kMergePatch && type != kJsonPatch) {
    const std::string known = std::string(kMergePatch) + ", " + std::string(kJsonPatch);
    return Problem(Code::invalid, "a patch is one of " + known)
        .status(415)
        .header("Accept-Patch", known)
        .finish();
  }
  if (call.request.headers.find("If-None-Match")) {
    return problem(Code::invalid, "a patch takes If-Match only");
  }
  Result<std::optional<std::string>> match = if_match_in(call.request.headers);
  if (!match) return problem(match.error());
  Result<PatchRequest> wanted = patch_request_of(call, type);
  if (!wanted) return problem(wanted.error());
  Key key = documents::document_key(call.name_space, call.name);
  const std::size_t weight =
      documents::weight_of_update(call.request.body.size()) + wanted->patch.weight;
  Answer answer = *match ? answer_patch_if(std::move(key), std::move(**match), std::move(*wanted),
                                           call.hot_spot("docs"))
                         : answer_patch(std::move(key), std::move(*wanted),
                                        call.service.contention(), call.hot_spot("docs"));
  answer.weight = weight;
  return answer;
}

}  // namespace once::api
