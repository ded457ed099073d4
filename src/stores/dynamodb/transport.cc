#include "stores/dynamodb/transport.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "aws/configuration.h"
#include "aws/credential_chain.h"
#include "aws/message.h"
#include "kernel/unit_counter.h"

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

enum Unit : std::uint8_t { kRequest, kRead, kWrite };

struct Call {
  std::string_view name;
  StoreOperation operation;
  Unit unit;  // In which its capacity is counted.
};
constexpr std::array<Call, 8> kCalls = {{
    {"GetItem", StoreOperation::get, kRead},
    {"BatchGetItem", StoreOperation::get, kRead},
    {"Query", StoreOperation::scan, kRead},
    {"Scan", StoreOperation::list, kRead},
    {"PutItem", StoreOperation::commit, kWrite},
    {"UpdateItem", StoreOperation::commit, kWrite},
    {"DeleteItem", StoreOperation::commit, kWrite},
    {"TransactWriteItems", StoreOperation::commit, kWrite},
}};

constexpr std::string_view kTarget = "DynamoDB_20120810.";

// Null for a call that is not about items, and costs no capacity.
const Call* call_named(std::string_view name) {
  const auto* const found = std::ranges::find(kCalls, name, &Call::name);
  return found != kCalls.end() ? found : nullptr;
}

const Call* call_in(const aws::Request& request) {
  std::string_view target = aws::header_of(request.headers, "X-Amz-Target");
  if (!target.starts_with(kTarget)) return nullptr;
  return call_named(target.substr(kTarget.size()));
}

// What the answer says of capacity. No item can contain this text: in one, quotes are escaped.
double told_units(std::string_view body) {
  constexpr std::string_view kUnits = "\"CapacityUnits\":";
  double units = 0;
  for (std::size_t at = body.find(kUnits); at != std::string_view::npos;
       at = body.find(kUnits, at + 1)) {
    double some = 0;
    const std::string_view rest = body.substr(at + kUnits.size());
    std::from_chars(std::to_address(rest.begin()), std::to_address(rest.end()), some);
    units += some;
  }
  return units;
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Of a transaction. Each write and each check counts twice, which DynamoDB Local does not tell.
double least_units(const aws::Request& request) {
  return 2 * static_cast<double>(count_of(request.body, "\"TableName\":"));
}

// Amazon charges a failed condition by the size of the current item, and all of a cancelled
// transaction, but does not tell in the answer. Bytes of a value are longer by a third in JSON.
double refused_units(const aws::Request& request, const aws::Response& response) {
  constexpr double kUnitBytes = 1'024;
  const std::string_view body = response.body;
  const double units =
      std::max(1.0, std::ceil(static_cast<double>(body.size()) * 3 / 4 / kUnitBytes));
  if (body.find("ConditionalCheckFailedException") != std::string_view::npos) return units;
  if (body.find("TransactionCanceledException") == std::string_view::npos) return 0;
  return std::max(2 * units, least_units(request));
}

double units_of(const Call& call, const aws::Request& request, const aws::Response& response) {
  if (response.status != 200) return refused_units(request, response);
  const double told = told_units(response.body);
  return call.name == "TransactWriteItems" ? std::max(told, least_units(request)) : told;
}

class Wire final : public Transport {
 public:
  explicit Wire(std::unique_ptr<aws::Client> client) : client_(std::move(client)) {}

  Responses send(std::span<const aws::Request> requests, aws::Deadline deadline) override {
    Responses responses = client_->send(requests, deadline);
    for (std::size_t i = 0; i < requests.size(); ++i) count(requests[i], responses[i]);
    return responses;
  }

  const ServerOffset& server_offset() const override { return client_->server_offset(); }

  DynamoDbCounts counts() const override {
    return {static_cast<std::uint64_t>(units_.sum(kRequest)), units_.sum(kRead),
            units_.sum(kWrite)};
  }
  StoreUnits units() const override { return units_.rows(); }

 private:
  void count(const aws::Request& request, const Result<aws::Response>& response) {
    const Call* const call = call_in(request);
    units_.add(call != nullptr ? call->operation : StoreOperation::other, kRequest);
    if (call == nullptr || !response) return;
    units_.add(call->operation, call->unit, units_of(*call, request, *response));
  }

  const std::unique_ptr<aws::Client> client_;
  UnitCounter units_{"request", "read", "write"};
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
  std::string target(kTarget);
  target += call;
  std::string text = body.dump();
  if (call_named(call) != nullptr) text.insert(1, R"("ReturnConsumedCapacity":"TOTAL",)");
  return {.headers = {{"Content-Type", "application/x-amz-json-1.0"},
                      {"X-Amz-Target", std::move(target)}},
          .body = std::move(text)};
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
  return std::make_unique<Wire>(std::move(*client));
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
