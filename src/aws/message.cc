#include "aws/message.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

namespace once::aws {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

using namespace std::string_view_literals;
using nlohmann::json;

// Nothing was done: too much load, or a conflict with others.
constexpr std::array kNotNow = {"ProvisionedThroughputExceeded"sv,
                                "Throttling"sv,
                                "ThrottledException"sv,
                                "RequestThrottled"sv,
                                "RequestThrottledException"sv,
                                "RequestLimitExceeded"sv,
                                "LimitExceeded"sv,
                                "TooManyRequests"sv,
                                "SlowDown"sv,
                                "BandwidthLimitExceeded"sv,
                                "OverLimit"sv,
                                "PriorRequestNotComplete"sv,
                                "TransactionConflict"sv,
                                "TransactionCanceled"sv,
                                "ReplicatedWriteConflict"sv,
                                "OperationAborted"sv,
                                "ConditionalRequestConflict"sv,
                                "ConcurrentModification"sv,
                                "RequestTimeout"sv};

// The same of the service that has the key of encrypted data, without "KMS": SQS, S3 and DynamoDB
// pass its refusals on in several spellings (docs/hazards.md#h39).
constexpr std::array kKeyServiceNotNow = {"Throttling"sv,        "Throttled"sv, "LimitExceeded"sv,
                                          "DependencyTimeout"sv, "Internal"sv,  "KeyUnavailable"sv};

constexpr std::array kDenied = {"AccessDenied"sv,          "UnrecognizedClient"sv,
                                "InvalidSignature"sv,      "SignatureDoesNotMatch"sv,
                                "InvalidAccessKeyId"sv,    "InvalidClientTokenId"sv,
                                "MissingAuthentication"sv, "MissingAuthenticationToken"sv,
                                "IncompleteSignature"sv,   "ExpiredToken"sv,
                                "InvalidToken"sv,          "TokenRefreshRequired"sv,
                                "NotAuthorized"sv,         "OptInRequired"sv,
                                "RequestTimeTooSkewed"sv,  "RequestExpired"sv,
                                "RequestInTheFuture"sv};

constexpr std::array kTooLarge = {"EntityTooLarge"sv, "RequestEntityTooLarge"sv,
                                  "RequestTooLarge"sv, "ItemCollectionSizeLimitExceeded"sv};

constexpr std::array kUnsupported = {"NotImplemented"sv, "UnknownOperation"sv,
                                     "MethodNotAllowed"sv};

// Still going on, or may have been done.
constexpr std::array kUnknown = {"TransactionInProgress"sv, "InternalServerError"sv,
                                 "InternalError"sv, "InternalFailure"sv};

bool in(std::span<const std::string_view> codes, std::string_view code) {
  return std::ranges::find(codes, code) != codes.end();
}

bool remove_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The code of the key service: "Throttling" of "KMS.ThrottlingException", "KMSThrottling" or
// "KMS.KMSThrottling". Empty if it is another's.
std::string_view key_service_code(std::string_view code) {
  bool is_key_service = remove_prefix(code, "KMS.");
  is_key_service |= remove_prefix(code, "KMS") || remove_prefix(code, "Kms");
  return is_key_service ? code : std::string_view();
}

// JSON protocols end a code with "Exception", XML ones do not.
std::string_view stem(std::string_view code) {
  if (code.ends_with("Exception")) code.remove_suffix("Exception"sv.size());
  return code;
}

std::string text_at(const json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// "com.amazonaws.dynamodb.v20120810#ThrottlingException:http://..." in the worst case.
std::string bare(std::string_view code) {
  code = code.substr(0, code.find(':'));
  const std::size_t hash = code.rfind('#');
  return std::string(hash == std::string_view::npos ? code : code.substr(hash + 1));
}

std::string element(std::string_view xml, std::string_view name) {
  const std::string open = std::string("<").append(name).append(">");
  const std::string close = std::string("</").append(name).append(">");
  const std::size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return "";
  const std::size_t end = xml.find(close, begin);
  if (end == std::string_view::npos) return "";
  return std::string(xml.substr(begin + open.size(), end - begin - open.size()));
}

ErrorCode by_status(int status) {
  if (status == 401 || status == 403 || status == 407) return ErrorCode::denied;
  if (status == 408 || status == 409 || status == 429) return ErrorCode::unavailable;
  if (status == 413) return ErrorCode::too_large;
  if (status == 405 || status == 501) return ErrorCode::unsupported;
  // May come from a load balancer, which does not know what the service did.
  if (status >= 500) return ErrorCode::unknown;
  return ErrorCode::invalid;
}

ErrorCode code_of(int status, const ServiceError& error) {
  const std::string_view code = stem(error.code);
  // It was asked before anything was done. What it refuses for longer is an operator's matter, and
  // not the request's.
  if (const std::string_view of_key = key_service_code(code); !of_key.empty()) {
    return in(kKeyServiceNotNow, of_key) ? ErrorCode::unavailable : ErrorCode::denied;
  }
  if (in(kNotNow, code)) return ErrorCode::unavailable;
  if (in(kDenied, code)) return ErrorCode::denied;
  if (in(kTooLarge, code)) return ErrorCode::too_large;
  if (in(kUnsupported, code)) return ErrorCode::unsupported;
  if (in(kUnknown, code)) return ErrorCode::unknown;
  // DynamoDB has no code of its own for it.
  if (code == "Validation" && error.message.find("size") != std::string::npos &&
      error.message.find("exceeded") != std::string::npos) {
    return ErrorCode::too_large;
  }
  return by_status(status);
}

// One line of bounded length.
std::string for_people(std::string_view text) {
  constexpr std::size_t kLength = 300;
  std::string line(text.substr(0, kLength));
  std::ranges::replace_if(line, [](char c) { return c >= '\0' && c < ' '; }, ' ');
  return line;
}

}  // namespace

std::string lowered(std::string_view text) {
  std::string copy(text);
  std::ranges::transform(copy, copy.begin(), lower);
  return copy;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view header_of(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (std::ranges::equal(header.name, name, {}, lower, lower)) return header.value;
  }
  return "";
}

ServiceError service_error(const Response& response) {
  ServiceError error;
  const json body = json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (body.is_object()) {
    error.code = bare(text_at(body, "__type"));
    error.message = text_at(body, body.contains("message") ? "message" : "Message");
  } else if (response.body.find("<Error>") != std::string::npos) {
    error.code = bare(element(response.body, "Code"));
    error.message = element(response.body, "Message");
  }
  if (error.code.empty()) error.code = bare(header_of(response.headers, "x-amzn-ErrorType"));
  return error;
}

Error error_of(const Response& response) {
  const ServiceError error = service_error(response);
  std::string message = "the service answered ";
  message.append(std::to_string(response.status));
  if (!error.code.empty()) message.append(" ").append(for_people(error.code));
  if (!error.message.empty()) message.append(": ").append(for_people(error.message));
  return {code_of(response.status, error), std::move(message)};
}

bool wants_other_time(const ServiceError& error) {
  const std::string_view code = stem(error.code);
  if (code == "RequestTimeTooSkewed" || code == "RequestExpired" || code == "RequestInTheFuture") {
    return true;
  }
  return (code == "InvalidSignature" || code == "SignatureDoesNotMatch") &&
         (error.message.starts_with("Signature expired") ||
          error.message.starts_with("Signature not yet current"));
}

bool wants_newer_keys(const ServiceError& error) {
  const std::string_view code = stem(error.code);
  return code == "ExpiredToken" || code == "TokenRefreshRequired";
}

}  // namespace once::aws
