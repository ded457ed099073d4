#include "stores/dynamodb/reply.h"

#include <utility>

#include "aws/service_error.h"

namespace once::dynamodb {
namespace {

// What only DynamoDB means so.
ErrorCode code_of(const std::string& type, ErrorCode general) {
  // The table may be under way, or back when it was made.
  if (type == "ResourceNotFoundException" || type == "ResourceInUseException") {
    return ErrorCode::unavailable;
  }
  // The token's first request may have been performed.
  if (type == "IdempotentParameterMismatchException") return ErrorCode::unknown;
  return general;
}

}  // namespace

Reply read_reply(const Result<aws::Response>& response) {
  Reply reply;
  if (!response) {
    reply.error = response.error();
    return reply;
  }
  reply.body = Json::parse(response->body, nullptr, false);
  if (response->status == 200 && reply.body.is_object()) {
    reply.kind = Reply::Kind::done;
    return reply;
  }
  if (response->status == 200) {
    reply.error = {ErrorCode::unknown, "the service's answer is no JSON"};
    return reply;
  }
  reply.type = aws::service_error(*response).code;
  if (reply.type == "ConditionalCheckFailedException") {
    reply.kind = Reply::Kind::condition_failed;
  } else if (reply.type == "TransactionCanceledException" &&
             reply.body.contains("CancellationReasons")) {
    reply.kind = Reply::Kind::cancelled;
  } else {
    reply.error = aws::error_of(*response);
    reply.error.code = code_of(reply.type, reply.error.code);
  }
  return reply;
}

Reply read_reply_to_reading(const Result<aws::Response>& response) {
  Reply reply = read_reply(response);
  if (reply.kind == Reply::Kind::failed && reply.error.code == ErrorCode::unknown) {
    reply.error.code = ErrorCode::unavailable;
  }
  return reply;
}

}  // namespace once::dynamodb
