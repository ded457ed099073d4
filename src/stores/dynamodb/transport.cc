#include "stores/dynamodb/transport.h"

#include <atomic>
#include <utility>

#include "aws/configuration.h"
#include "aws/credential_chain.h"
#include "aws/message.h"

namespace once::dynamodb {
namespace {

std::string region_of(const DynamoDbOptions& options) {
  return options.region.empty() ? aws::configured_region(aws::process_environment())
                                : options.region;
}

std::string endpoint_of(const DynamoDbOptions& options, const std::string& region) {
  if (!options.endpoint.empty()) return options.endpoint;
  return aws::endpoint_in(aws::process_environment(), "dynamodb", region);
}

double units_in(const Json& consumed) {
  double units = 0;
  if (consumed.is_array()) {
    for (const Json& one : consumed) units += units_in(one);
  } else if (consumed.is_object() && consumed.contains("CapacityUnits")) {
    units = consumed["CapacityUnits"].get<double>();
  }
  return units;
}

class Wire final : public Transport {
 public:
  Wire(std::unique_ptr<aws::Client> client, bool measures)
      : client_(std::move(client)), measures_(measures) {}

  Responses send(std::span<const aws::Request> requests, aws::Deadline deadline) override {
    requests_ += requests.size();
    if (!measures_) return client_->send(requests, deadline);
    std::vector<aws::Request> asking(requests.begin(), requests.end());
    for (aws::Request& request : asking) {
      Json body = Json::parse(request.body);
      body["ReturnConsumedCapacity"] = "TOTAL";
      request.body = body.dump();
    }
    Responses responses = client_->send(asking, deadline);
    for (const auto& response : responses) measure(response);
    return responses;
  }

  Duration clock_offset() const override { return client_->clock_offset(); }
  std::optional<Duration> clock_error() const override { return client_->clock_error(); }

  DynamoDbCounts counts() const override { return {requests_, units_}; }

 private:
  void measure(const Result<aws::Response>& response) {
    if (!response) return;
    const Json body = Json::parse(response->body, nullptr, false);
    if (body.is_object() && body.contains("ConsumedCapacity")) {
      units_ += units_in(body["ConsumedCapacity"]);
    }
  }

  const std::unique_ptr<aws::Client> client_;
  const bool measures_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<double> units_ = 0;
};

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

aws::Request request_of(const char* call, const Json& body) {
  std::string target = "DynamoDB_20120810.";
  target += call;
  return {.headers = {{"Content-Type", "application/x-amz-json-1.0"},
                      {"X-Amz-Target", std::move(target)}},
          .body = body.dump()};
}

Result<std::unique_ptr<Transport>> connect(const DynamoDbOptions& options) {
  const std::string region = region_of(options);
  if (region.empty()) {
    return failure(ErrorCode::invalid,
                   "dynamodb: no region; say dynamodb://TABLE?region=REGION set AWS_REGION, or "
                   "name one in a profile");
  }
  auto client = aws::Client::open({.endpoint = endpoint_of(options, region),
                                   .region = region,
                                   .service = "dynamodb",
                                   .credentials = aws::default_credentials(),
                                   .connections = options.connections});
  if (!client) return std::unexpected(std::move(client.error()));
  return std::make_unique<Wire>(std::move(*client), options.measure_capacity);
}

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
