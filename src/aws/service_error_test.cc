#include "aws/message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace once::aws {
namespace {

Response json_error(int status, const std::string& type, const std::string& message = "") {
  return {.status = status,
          .body = R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + type + R"(","message":")" +
                  message + R"("})"};
}

Response xml_error(int status, const std::string& code) {
  return {.status = status,
          .body = "<?xml version=\"1.0\"?>\n<Error><Code>" + code +
                  "</Code><Message>Why not.</Message></Error>"};
}

TEST(ServiceError, EachErrorOfDynamoDbNamesTheNextMove) {
  for (const auto& [status, type, code] : std::vector<std::tuple<int, std::string, ErrorCode>>{
           {400, "AccessDeniedException", ErrorCode::denied},
           {400, "UnrecognizedClientException", ErrorCode::denied},
           {400, "ExpiredTokenException", ErrorCode::denied},
           {400, "InvalidSignatureException", ErrorCode::denied},
           {400, "MissingAuthenticationTokenException", ErrorCode::denied},
           {400, "ThrottlingException", ErrorCode::unavailable},
           {400, "ProvisionedThroughputExceededException", ErrorCode::unavailable},
           {400, "RequestLimitExceeded", ErrorCode::unavailable},
           {400, "TransactionConflictException", ErrorCode::unavailable},
           {400, "TransactionInProgressException", ErrorCode::unknown},
           {400, "ValidationException", ErrorCode::invalid},
           {400, "IdempotentParameterMismatchException", ErrorCode::invalid},
           {400, "ResourceNotFoundException", ErrorCode::invalid},
           {400, "ItemCollectionSizeLimitExceededException", ErrorCode::too_large},
           {400, "UnknownOperationException", ErrorCode::unsupported},
           {500, "InternalServerError", ErrorCode::unknown},
           {503, "ServiceUnavailable", ErrorCode::unknown}}) {
    EXPECT_EQ(error_of(json_error(status, type)).code, code) << type;
  }
}

TEST(ServiceError, AnItemThatIsTooLargeIsNotMerelyInvalid) {
  for (const char* message : {"Item size has exceeded the maximum allowed size",
                              "Item size to update has exceeded the maximum allowed size"}) {
    EXPECT_EQ(error_of(json_error(400, "ValidationException", message)).code, ErrorCode::too_large);
  }
}

TEST(ServiceError, EachErrorInXmlNamesTheNextMove) {
  for (const auto& [status, code, ours] : std::vector<std::tuple<int, std::string, ErrorCode>>{
           {403, "AccessDenied", ErrorCode::denied},
           {403, "SignatureDoesNotMatch", ErrorCode::denied},
           {503, "SlowDown", ErrorCode::unavailable},
           {409, "ConditionalRequestConflict", ErrorCode::unavailable},
           {409, "ConcurrentModification", ErrorCode::unavailable},
           {400, "RequestTimeout", ErrorCode::unavailable},
           {400, "EntityTooLarge", ErrorCode::too_large},
           {501, "NotImplemented", ErrorCode::unsupported},
           {404, "NoSuchBucket", ErrorCode::invalid},
           {500, "InternalError", ErrorCode::unknown}}) {
    const Error error = error_of(xml_error(status, code));
    EXPECT_EQ(error.code, ours) << code;
    EXPECT_EQ(error.message,
              "the service answered " + std::to_string(status) + " " + code + ": Why not.");
  }
}

TEST(ServiceError, H39_AThrottledKeyServiceIsNotNowAndNeverTheRequestsFault) {
  for (const auto& [code, ours] : std::vector<std::pair<std::string, ErrorCode>>{
           {"KMS.ThrottlingException", ErrorCode::unavailable},
           {"KMSThrottlingException", ErrorCode::unavailable},
           {"KmsThrottled", ErrorCode::unavailable},
           {"KMS.KMSInternalException", ErrorCode::unavailable},
           {"KMS.DependencyTimeoutException", ErrorCode::unavailable},
           {"KMS.DisabledException", ErrorCode::denied},
           {"KMS.KMSInvalidStateException", ErrorCode::denied},
           {"KmsAccessDenied", ErrorCode::denied},
           {"KMS.NotFoundException", ErrorCode::denied}}) {
    EXPECT_EQ(error_of(xml_error(400, code)).code, ours) << code;
    EXPECT_EQ(error_of(json_error(400, code)).code, ours) << code;
  }
}

TEST(ServiceError, AnAnswerWithoutAReasonIsJudgedByItsStatus) {
  for (const auto& [status, code] :
       std::vector<std::pair<int, ErrorCode>>{{301, ErrorCode::invalid},
                                              {400, ErrorCode::invalid},
                                              {401, ErrorCode::denied},
                                              {403, ErrorCode::denied},
                                              {413, ErrorCode::too_large},
                                              {429, ErrorCode::unavailable},
                                              {500, ErrorCode::unknown},
                                              {502, ErrorCode::unknown},
                                              {503, ErrorCode::unknown},
                                              {504, ErrorCode::unknown}}) {
    EXPECT_EQ(error_of({.status = status}).code, code) << status;
    EXPECT_EQ(error_of({.status = status, .body = "<html>no</html>"}).code, code) << status;
    EXPECT_EQ(error_of({.status = status, .body = R"({"__type":7,"message":[]})"}).code, code)
        << status;
  }
}

TEST(ServiceError, AMessageIsOneLineOfBoundedLength) {
  const Error error = error_of(json_error(400, "ValidationException", std::string(5'000, 'x')));
  EXPECT_LT(error.message.size(), 500U);
  EXPECT_EQ(error_of({.status = 400, .body = "<Error><Message>a\nb</Message></Error>"}).message,
            "the service answered 400: a b");
}

TEST(ServiceError, AWrongClockAndExpiredKeysAreTold) {
  EXPECT_TRUE(wants_other_time(service_error(xml_error(403, "RequestTimeTooSkewed"))));
  EXPECT_TRUE(wants_other_time(service_error(
      json_error(400, "InvalidSignatureException",
                 "Signature expired: 20150830T123600Z is now earlier than 20150830T124600Z"))));
  EXPECT_FALSE(wants_other_time(service_error(
      json_error(400, "InvalidSignatureException", "The request signature we calculated"))));
  EXPECT_TRUE(wants_newer_keys(service_error(json_error(400, "ExpiredTokenException"))));
  EXPECT_TRUE(wants_newer_keys(service_error(xml_error(400, "ExpiredToken"))));
  EXPECT_FALSE(wants_newer_keys(service_error(json_error(400, "AccessDeniedException"))));
}

}  // namespace
}  // namespace once::aws
