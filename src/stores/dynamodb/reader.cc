#include "stores/dynamodb/reader.h"

#include <charconv>
#include <map>
#include <memory>
#include <utility>

#include "stores/dynamodb/attributes.h"
#include "stores/dynamodb/transport.h"

namespace once::dynamodb {
namespace {

constexpr std::size_t kKeysPerBatch = 100;

aws::Request reading_of(const char* call, const Json& body) {
  aws::Request request = request_of(call, body);
  request.repeatable = true;
  return request;
}

Result<Json> ask(const ReadContext& context, const char* call, const Json& body) {
  const aws::Request request = reading_of(call, body);
  const Responses responses = context.transport.send({&request, 1}, context.deadline);
  Reply reply = read_reply_to_reading(responses.front());
  if (reply.kind == Reply::Kind::done) return std::move(reply.body);
  if (reply.kind == Reply::Kind::failed) return std::unexpected(std::move(reply.error));
  return failure(ErrorCode::unavailable, "DynamoDB: not the answer to a reading");
}

const Json& member(const Json& body, const char* name) {
  static const Json none;
  const auto found = body.find(name);
  return found == body.end() ? none : *found;
}

std::size_t size_of(const Value& value) {
  const Bytes* bytes = std::get_if<Bytes>(&value);
  return bytes == nullptr ? sizeof(std::int64_t) : bytes->size();
}

Result<std::optional<Item>> read_one(const ReadContext& context, const Key& key) {
  Result<Json> attributes = key_attributes(key);
  if (!attributes) return std::unexpected(std::move(attributes.error()));
  const Json body = {
      {"TableName", context.table}, {"Key", std::move(*attributes)}, {"ConsistentRead", true}};
  const Result<Json> answer = ask(context, "GetItem", body);
  if (!answer) return std::unexpected(answer.error());
  if (!answer->contains("Item")) return std::nullopt;
  Result<Item> item = item_in((*answer)["Item"]);
  if (!item) return std::unexpected(std::move(item.error()));
  if (expired(*item, context.now)) return std::nullopt;
  return std::move(*item);
}

// Keys to be asked for, in batches, until DynamoDB has processed all.
class Batches {
 public:
  explicit Batches(const ReadContext& context) : context_(context) {}

  Result<void> want(const Key& key) {
    if (!found_.emplace(key, std::nullopt).second) return {};
    Result<Json> attributes = key_attributes(key);
    if (!attributes) return std::unexpected(std::move(attributes.error()));
    wanted_.push_back(std::move(*attributes));
    return {};
  }

  bool complete() const { return wanted_.empty(); }

  // Asks for all that is wanted; what was not processed is wanted still.
  Result<void> ask_once() {
    std::vector<aws::Request> requests;
    for (std::size_t at = 0; at < wanted_.size(); at += kKeysPerBatch) {
      Json keys = Json::array();
      const std::size_t end = std::min(wanted_.size(), at + kKeysPerBatch);
      for (std::size_t i = at; i < end; ++i) keys.push_back(std::move(wanted_[i]));
      const Json table = {{"Keys", std::move(keys)}, {"ConsistentRead", true}};
      requests.push_back(reading_of("BatchGetItem", {{"RequestItems", {{context_.table, table}}}}));
    }
    wanted_.clear();
    for (const auto& response : context_.transport.send(requests, context_.deadline)) {
      if (Result<void> taken = take(read_reply_to_reading(response)); !taken) return taken;
    }
    return {};
  }

  const std::optional<Item>& at(const Key& key) const { return found_.at(key); }

 private:
  Result<void> take(const Reply& reply) {
    if (reply.kind != Reply::Kind::done) return std::unexpected(reply.error);
    for (const Json& attributes : member(member(reply.body, "Responses"), context_.table.c_str())) {
      Result<Key> key = key_in(attributes);
      Result<Item> item = item_in(attributes);
      if (!key) return std::unexpected(std::move(key.error()));
      if (!item) return std::unexpected(std::move(item.error()));
      if (!expired(*item, context_.now)) found_[std::move(*key)] = std::move(*item);
    }
    const Json& left = member(member(reply.body, "UnprocessedKeys"), context_.table.c_str());
    for (const Json& key : member(left, "Keys")) wanted_.push_back(key);
    return {};
  }

  const ReadContext& context_;
  std::map<Key, std::optional<Item>> found_;
  std::vector<Json> wanted_;
};

// A page of DynamoDB's own, at most 1 MiB.
struct RawPage {
  Json items;
  Json last;  // Null at the end.
};

Result<RawPage> read_page(const ReadContext& context, const char* call, const Json& body) {
  Result<Json> answer = ask(context, call, body);
  if (!answer) return std::unexpected(std::move(answer.error()));
  return RawPage{member(*answer, "Items"), member(*answer, "LastEvaluatedKey")};
}

Result<Json> query_of(const ReadContext& context, const ScanRequest& request) {
  Result<Json> key = key_attributes({request.partition, 0});
  if (!key) return std::unexpected(std::move(key.error()));
  return Json{
      {"TableName", context.table},
      {"KeyConditionExpression", "pk = :pk AND sk BETWEEN :first AND :last"},
      {"ExpressionAttributeValues",
       {{":pk", (*key)["pk"]}, {":first", number(request.first)}, {":last", number(request.last)}}},
      {"ScanIndexForward", request.direction == Direction::ascending},
      {"ConsistentRead", true}};
}

// A cursor is where DynamoDB stopped: the sort, a space, the partition's name.
Result<std::string> cursor_of(const Json& last) {
  if (last.is_null()) return "";
  const Result<Key> key = key_in(last);
  if (!key) return std::unexpected(key.error());
  std::string cursor = std::to_string(key->sort);
  cursor.append(" ").append(encode_partition(key->partition));
  return cursor;
}

std::optional<Json> start_of(const std::string& cursor) {
  std::int64_t sort = 0;
  const char* const end = std::to_address(cursor.end());
  const auto [stopped, error] = std::from_chars(std::to_address(cursor.begin()), end, sort);
  if (error != std::errc() || stopped == end || *stopped != ' ' || sort < kOwnSort) {
    return std::nullopt;
  }
  const std::string name(stopped + 1, end);
  if (!decode_partition(name) || name.size() > kMaxNameBytes) return std::nullopt;
  return Json{{"pk", {{"S", name}}}, {"sk", number(sort)}};
}

}  // namespace

Result<std::vector<std::optional<Item>>> read_items(const ReadContext& context,
                                                    std::span<const Key> keys, aws::Pauses pauses) {
  std::vector<std::optional<Item>> items;
  if (keys.size() == 1) {
    Result<std::optional<Item>> item = read_one(context, keys[0]);
    if (!item) return std::unexpected(std::move(item.error()));
    items.push_back(std::move(*item));
    return items;
  }
  Batches batches(context);
  for (const Key& key : keys) {
    if (Result<void> wanted = batches.want(key); !wanted) {
      return std::unexpected(std::move(wanted.error()));
    }
  }
  for (bool first = true; !batches.complete(); first = false) {
    if (!first && !pauses.pause()) {
      return failure(ErrorCode::unavailable, "DynamoDB left keys unprocessed");
    }
    if (Result<void> asked = batches.ask_once(); !asked) {
      return std::unexpected(std::move(asked.error()));
    }
  }
  items.reserve(keys.size());
  for (const Key& key : keys) items.push_back(batches.at(key));
  return items;
}

Result<ScanPage> read_scan(const ReadContext& context, const ScanRequest& request) {
  ScanPage page;
  if (request.first > request.last) return page;
  Result<Json> query = query_of(context, request);
  if (!query) return std::unexpected(std::move(query.error()));
  std::size_t bytes = 0;
  for (;;) {
    (*query)["Limit"] = request.limit - page.entries.size();
    Result<RawPage> raw = read_page(context, "Query", *query);
    if (!raw) return std::unexpected(std::move(raw.error()));
    for (const Json& attributes : raw->items) {
      Result<Key> key = key_in(attributes);
      Result<Item> item = item_in(attributes);
      if (!key) return std::unexpected(std::move(key.error()));
      if (!item) return std::unexpected(std::move(item.error()));
      if (expired(*item, context.now)) continue;
      if (!page.entries.empty() && bytes + size_of(item->value) > request.max_bytes) {
        page.more = true;
        return page;
      }
      bytes += size_of(item->value);
      page.entries.push_back({key->sort, std::move(*item)});
    }
    if (raw->last.is_null()) return page;
    if (page.entries.size() == request.limit) {
      page.more = true;
      return page;
    }
    (*query)["ExclusiveStartKey"] = std::move(raw->last);
  }
}

Result<ListPage> read_list(const ReadContext& context, const ListRequest& request) {
  Json scan = {{"TableName", context.table}, {"Limit", request.limit}, {"ConsistentRead", true}};
  if (!request.cursor.empty()) {
    std::optional<Json> start = start_of(request.cursor);
    if (!start) return failure(ErrorCode::invalid, "not a cursor of this store");
    scan["ExclusiveStartKey"] = std::move(*start);
  }
  const std::string prefix = encode_home_prefix(request.home_prefix);
  if (!prefix.empty()) {
    scan["FilterExpression"] = "begins_with(pk, :prefix)";
    scan["ExpressionAttributeValues"] = {{":prefix", {{"S", prefix}}}};
  }
  const Result<RawPage> raw = read_page(context, "Scan", scan);
  if (!raw) return std::unexpected(raw.error());
  ListPage page;
  for (const Json& attributes : raw->items) {
    Result<Key> key = key_in(attributes);
    if (!key) return std::unexpected(std::move(key.error()));
    if (key->sort == kOwnSort || !key->partition.home.starts_with(request.home_prefix)) continue;
    Result<Item> item = item_in(attributes);
    if (!item) return std::unexpected(std::move(item.error()));
    if (!expired(*item, context.now)) page.items.push_back({std::move(*key), std::move(*item)});
  }
  Result<std::string> cursor = cursor_of(raw->last);
  if (!cursor) return std::unexpected(std::move(cursor.error()));
  page.cursor = std::move(*cursor);
  return page;
}

}  // namespace once::dynamodb
