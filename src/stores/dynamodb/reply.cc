#include "stores/dynamodb/reply.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace once::dynamodb {
namespace {

struct Meaning {
  std::string_view type;
  ErrorCode code;
};

// What DynamoDB calls its refusals. All of them come before anything is written, except that a
// transaction in progress is one that was sent before under the same token.
constexpr auto kMeanings = std::to_array<Meaning>({
    {"ProvisionedThroughputExceededException", ErrorCode::unavailable},
    {"ThrottlingException", ErrorCode::unavailable},
    {"Throttling", ErrorCode::unavailable},
    {"RequestLimitExceeded", ErrorCode::unavailable},
    {"LimitExceededException", ErrorCode::unavailable},
    {"TransactionConflictException", ErrorCode::unavailable},
    {"ReplicatedWriteConflictException", ErrorCode::unavailable},
    {"ResourceNotFoundException", ErrorCode::unavailable},
    {"ResourceInUseException", ErrorCode::unavailable},
    {"RequestTimeoutException", ErrorCode::unavailable},
    {"RequestExpired", ErrorCode::unavailable},
    {"TransactionInProgressException", ErrorCode::unknown},
    {"IdempotentParameterMismatchException", ErrorCode::unknown},
    {"ItemCollectionSizeLimitExceededException", ErrorCode::too_large},
    {"AccessDeniedException", ErrorCode::denied},
    {"UnrecognizedClientException", ErrorCode::denied},
    {"InvalidSignatureException", ErrorCode::denied},
    {"IncompleteSignatureException", ErrorCode::denied},
    {"IncompleteSignature", ErrorCode::denied},
    {"MissingAuthenticationTokenException", ErrorCode::denied},
    {"MissingAuthenticationToken", ErrorCode::denied},
    {"InvalidClientTokenId", ErrorCode::denied},
    {"ExpiredTokenException", ErrorCode::denied},
    {"OptInRequired", ErrorCode::denied},
});

std::string member(const Json& body, const char* name) {
  if (!body.is_object()) return "";
  const auto found = body.find(name);
  return found != body.end() && found->is_string() ? found->get<std::string>() : "";
}

// "com.amazonaws.dynamodb.v20120810#ThrottlingException"
std::string type_of(const Json& body) {
  std::string type = member(body, "__type");
  const std::size_t hash = type.rfind('#');
  return hash == std::string::npos ? type : type.substr(hash + 1);
}

std::string message_of(const Json& body) {
  std::string message = member(body, "message");
  return message.empty() ? member(body, "Message") : message;
}

ErrorCode code_of(std::string_view type, const std::string& message, int status) {
  const auto* const known = std::ranges::find(kMeanings, type, &Meaning::type);
  if (known != kMeanings.end()) return known->code;
  if (message.find("Item size") != std::string::npos) return ErrorCode::too_large;
  if (status >= 500) return ErrorCode::unknown;
  if (status == 403) return ErrorCode::denied;
  return ErrorCode::invalid;
}

Reply refusal(const Json& body, int status) {
  const std::string type = type_of(body);
  std::string message = message_of(body);
  Reply reply;
  reply.error.code = code_of(type, message, status);
  reply.error.message = "DynamoDB: ";
  reply.error.message += type.empty() ? std::to_string(status) : type;
  if (!message.empty()) reply.error.message.append(": ").append(message);
  return reply;
}

}  // namespace

Reply read_reply(const Result<aws::Response>& response) {
  if (!response) return {Reply::Kind::failed, {}, response.error()};
  Json body = Json::parse(response->body, nullptr, false);
  if (response->status == 200) {
    if (!body.is_discarded()) return {Reply::Kind::done, std::move(body), {}};
    return {Reply::Kind::failed, {}, {ErrorCode::unknown, "DynamoDB: an answer that is no JSON"}};
  }
  const std::string type = type_of(body);
  if (type == "ConditionalCheckFailedException") {
    return {Reply::Kind::condition_failed, std::move(body), {}};
  }
  if (type == "TransactionCanceledException" && body.contains("CancellationReasons")) {
    return {Reply::Kind::cancelled, std::move(body), {}};
  }
  return refusal(body, response->status);
}

Reply read_reply_to_reading(const Result<aws::Response>& response) {
  Reply reply = read_reply(response);
  if (reply.kind == Reply::Kind::failed && reply.error.code == ErrorCode::unknown) {
    reply.error.code = ErrorCode::unavailable;
  }
  return reply;
}

}  // namespace once::dynamodb
