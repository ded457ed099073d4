// Claims as requests and answers of the API. The server decodes requests and encodes answers; a
// client does the reverse, through the same functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/claims.h"
#include "wire/data_form.h"
#include "wire/listing.h"
#include "wire/message.h"

namespace once::wire {

inline constexpr Duration kDefaultLease = std::chrono::seconds(30);
inline constexpr Duration kDefaultTtl = std::chrono::hours(24);

// Bodies of requests. A field that a request leaves out has the value that it has here.
struct TakeRequest {
  ClaimRequest claim{.lease = kDefaultLease, .ttl = kDefaultTtl};
  Duration wait{};
};
struct RenewRequest {
  Ticket ticket;
  Duration lease = kDefaultLease;
};
struct CompleteRequest {
  Ticket ticket;
  Bytes result;  // JSON null if it is left out in JSON form.
};
struct ReleaseRequest {
  Ticket ticket;
  Bytes failure;  // As a result.
  Release how = Release::retryable;
};
struct SeenRequest {
  std::vector<std::string> ids;
  Duration ttl = kDefaultTtl;
  std::string request;
};
using claims::BulkRequest;

std::string encode(const TakeRequest& request, DataForm form);
std::string encode(const RenewRequest& request);
std::string encode(const CompleteRequest& request, DataForm form);
std::string encode(const ReleaseRequest& request, DataForm form);
std::string encode(const SeenRequest& request);
std::string encode(const BulkRequest& request);

// `invalid` says which field is wrong.
Result<TakeRequest> decode_take_request(std::string_view body, DataForm form);
Result<RenewRequest> decode_renew_request(std::string_view body);
Result<CompleteRequest> decode_complete_request(std::string_view body, DataForm form);
Result<ReleaseRequest> decode_release_request(std::string_view body, DataForm form);
Result<SeenRequest> decode_seen_request(std::string_view body);
Result<BulkRequest> decode_bulk_request(std::string_view body);

// A page of a listing has no body but a target, "/v1/claims?limit=...".
struct ClaimListRequest {
  claims::ClaimFilter filter;
  std::string cursor;
  std::size_t limit = 1'000;
};
std::string target_of(const ClaimListRequest& request);
Result<ClaimState::Kind> decode_claim_kind(std::string_view name);

// Answers. `now` is the store's time, from which a busy claim's Retry-After counts. `settled` is
// the state of a claim after a request that settled it: "done", "failed" or "free".
Response encode(const ClaimOutcome& outcome, Time now, DataForm form);
Response encode(const RenewOutcome& outcome);
Response encode(const SettleOutcome& outcome, std::string_view settled);
Response encode(std::string_view name, const ClaimState& state, DataForm form);
Response encode(const claims::ClaimPage& page, DataForm form);
Response encode(const claims::Seen& seen);
Response encode(std::string_view id, const claims::SeenMark& mark);
Response no_claim();  // 404
Response not_seen();  // 404

// `counted` is what the count is called: "forgotten" or "retried".
Response encode(const claims::BulkOutcome& outcome, std::string_view counted);

// 204. In exact form a header tells that there was nothing to forget: the library says so, and asks
// only once, because a repeat might forget what another has claimed since.
Response encode_forgotten(bool found, DataForm form);
bool decode_forgotten(const Response& response);
Response fenced();

// `unknown` if the answer is not understood. An answer does not tell since when a claim is busy.
Result<ClaimOutcome> decode_claim_outcome(const Response& response, DataForm form);
Result<RenewOutcome> decode_renew_outcome(const Response& response);
Result<SettleOutcome> decode_settle_outcome(const Response& response);
Result<std::optional<ClaimState>> decode_claim_state(const Response& response, DataForm form);
Result<claims::ClaimPage> decode_claim_page(const Response& response, DataForm form);
Result<claims::Seen> decode_seen(const Response& response, std::size_t ids);
Result<std::optional<claims::SeenMark>> decode_seen_mark(const Response& response);
Result<claims::BulkOutcome> decode_bulk_outcome(const Response& response, std::string_view counted);

}  // namespace once::wire
