#include "stores/dynamodb/table.h"

#include <utility>

#include "base/backoff.h"
#include "stores/dynamodb/reader.h"
#include "stores/dynamodb/transport.h"

namespace once::dynamodb {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr Duration kLook = std::chrono::milliseconds(200);

const Key& format_key() {
  static const Key key{{"once/format", ""}, kOwnSort};
  return key;
}

aws::Deadline deadline_of(const DynamoDbOptions& options) {
  return std::chrono::steady_clock::now() + options.timeout;
}

// Answered "not now, but perhaps later". That a table is missing, or exists already, will not pass.
bool is_put_off(const Reply& reply) {
  return reply.kind == Reply::Kind::failed && reply.error.code == ErrorCode::unavailable &&
         !reply.type.empty() && reply.type != "ResourceNotFoundException" &&
         reply.type != "ResourceInUseException";
}

// Asks for what may be asked again.
Reply ask(Transport& transport, const DynamoDbOptions& options, const char* call,
          const Json& body) {
  const aws::Deadline until = deadline_of(options);
  const aws::Request request = request_of(call, body);
  Clock& clock = system_clock();
  Backoff backoff({.first = Duration(20), .longest = Duration(2'000)}, clock, system_entropy(),
                  later(clock.now(), options.timeout));
  for (;;) {
    Reply reply = read_reply_to_reading(transport.send({&request, 1}, until).front());
    if (!is_put_off(reply) || !backoff.pause()) return reply;
  }
}

// In words that say what to do about it.
Error explained(const Reply& reply, const DynamoDbOptions& options) {
  Error error = reply.error;
  const std::string table = "table \"" + options.table + "\"";
  if (reply.type == "ResourceNotFoundException") {
    error.message = "there is no " + table +
                    " in DynamoDB here; make it with: once table create --store dynamodb://" +
                    options.table;
  } else if (error.code == ErrorCode::invalid) {
    error.message = table +
                    " is not one for Once (its keys are to be pk, a string, and sk, a number): " +
                    error.message;
  }
  return error;
}

Result<void> write_format(Transport& transport, const DynamoDbOptions& options) {
  Json item = *key_attributes(format_key());
  add_item(item, {kFormat, Version{1}, kNever});
  const Reply reply = ask(transport, options, "PutItem",
                          {{"TableName", options.table},
                           {"Item", std::move(item)},
                           {"ConditionExpression", "attribute_not_exists(pk)"}});
  if (reply.kind == Reply::Kind::failed) return std::unexpected(explained(reply, options));
  return {};  // Or another process wrote it at the same time.
}

Result<Json> described(Transport& transport, const DynamoDbOptions& options) {
  const Reply reply = ask(transport, options, "DescribeTable", {{"TableName", options.table}});
  if (reply.kind == Reply::Kind::done) return reply.body.value("Table", Json::object());
  return std::unexpected(explained(reply, options));
}

Result<void> await_active(Transport& transport, const DynamoDbOptions& options) {
  constexpr auto kPatience = std::chrono::minutes(2);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    const Result<Json> table = described(transport, options);
    if (table && table->value("TableStatus", "") == "ACTIVE") return {};
    if (!table && table.error().code != ErrorCode::unavailable) {
      return std::unexpected(table.error());
    }
    system_clock().sleep(kLook);
  }
  return failure(ErrorCode::unavailable, "the table was not ready within two minutes");
}

bool removes_expired(Transport& transport, const DynamoDbOptions& options) {
  const Reply reply = ask(transport, options, "DescribeTimeToLive", {{"TableName", options.table}});
  if (reply.kind != Reply::Kind::done) return false;
  const Json ttl = reply.body.value("TimeToLiveDescription", Json::object());
  const std::string status = ttl.value("TimeToLiveStatus", "");
  return (status == "ENABLED" || status == "ENABLING") && ttl.value("AttributeName", "") == "ttl";
}

Result<void> remove_expired(Transport& transport, const DynamoDbOptions& options) {
  if (removes_expired(transport, options)) return {};
  const Reply reply =
      ask(transport, options, "UpdateTimeToLive",
          {{"TableName", options.table},
           {"TimeToLiveSpecification", {{"Enabled", true}, {"AttributeName", "ttl"}}}});
  if (reply.kind == Reply::Kind::failed) return std::unexpected(reply.error);
  return {};
}

Json creation_of(const std::string& table) {
  const auto attribute = [](const char* name, const char* type) {
    return Json{{"AttributeName", name}, {"AttributeType", type}};
  };
  const auto key = [](const char* name, const char* type) {
    return Json{{"AttributeName", name}, {"KeyType", type}};
  };
  return {{"TableName", table},
          {"AttributeDefinitions", {attribute("pk", "S"), attribute("sk", "N")}},
          {"KeySchema", {key("pk", "HASH"), key("sk", "RANGE")}},
          {"BillingMode", "PAY_PER_REQUEST"}};
}

}  // namespace

Result<void> check_format(Transport& transport, const DynamoDbOptions& options) {
  const Reply reply = ask(transport, options, "GetItem",
                          {{"TableName", options.table},
                           {"Key", *key_attributes(format_key())},
                           {"ConsistentRead", true}});
  if (reply.kind != Reply::Kind::done) return std::unexpected(explained(reply, options));
  if (!reply.body.contains("Item")) return write_format(transport, options);
  const std::optional<std::int64_t> format = number_in(reply.body["Item"]);
  if (format && *format == kFormat) return {};
  if (format && *format > kFormat) {
    return failure(ErrorCode::unsupported, "the table was written by a newer version of Once");
  }
  return failure(ErrorCode::corrupt, "the table's record of its format is damaged");
}

Result<void> create_table(Transport& transport, const DynamoDbOptions& options) {
  const Reply reply = ask(transport, options, "CreateTable", creation_of(options.table));
  if (reply.kind == Reply::Kind::failed && reply.type != "ResourceInUseException") {
    return std::unexpected(reply.error);
  }
  if (Result<void> active = await_active(transport, options); !active) return active;
  if (Result<void> format = check_format(transport, options); !format) return format;
  return remove_expired(transport, options);
}

Result<std::string> describe_table(Transport& transport, const DynamoDbOptions& options) {
  const Result<Json> table = described(transport, options);
  if (!table) return std::unexpected(table.error());
  const std::string status = table->value("TableStatus", "");
  if (status != "ACTIVE" && status != "UPDATING") {
    return failure(ErrorCode::unavailable, "the table is " + status);
  }
  if (Result<void> ours = check_format(transport, options); !ours) {
    return std::unexpected(std::move(ours.error()));
  }
  if (!removes_expired(transport, options)) {
    return failure(ErrorCode::invalid,
                   "expired items are not removed: time to live is to be on, by attribute \"ttl\"");
  }
  return "table " + options.table + " is " + status + "\nformat " + std::to_string(kFormat) +
         "\nexpired items are removed\n";
}

}  // namespace once::dynamodb
