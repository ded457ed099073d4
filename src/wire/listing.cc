#include "wire/listing.h"

#include "base/encoding.h"
#include "once/store.h"

namespace once::wire {

std::string query_of(const ListingRequest& request) {
  std::string query = "limit=" + std::to_string(request.limit);
  if (!request.prefix.empty()) query.append("&prefix=").append(percent_encode(request.prefix));
  if (!request.cursor.empty()) query.append("&cursor=").append(base64url_encode(request.cursor));
  return query;
}

std::size_t take_limit(Fields& fields) {
  const std::int64_t limit = fields.integer("limit").value_or(1'000);
  if (limit >= 1 && limit <= static_cast<std::int64_t>(kMaxPage)) {
    return static_cast<std::size_t>(limit);
  }
  fields.complain("limit", "is not 1 to 10000");
  return 1;
}

Result<std::string> decode_cursor(std::string_view text) {
  std::optional<Bytes> cursor = base64url_decode(text);
  if (cursor) return std::move(*cursor);
  return failure(ErrorCode::invalid, "not a cursor");
}

std::string take_cursor(Fields& fields) {
  const std::optional<Json> value = fields.any("cursor");
  if (!value || value->is_null()) return "";
  std::string_view text;
  const bool is_text = value->get(text) == simdjson::SUCCESS;
  Result<std::string> cursor = decode_cursor(text);
  if (!is_text || !cursor) fields.complain("cursor", "is not a cursor");
  return cursor.value_or("");
}

void add_cursor(JsonObject& body, const std::string& cursor) {
  if (cursor.empty()) {
    body.raw("cursor", "null");
  } else {
    body.text("cursor", base64url_encode(cursor));
  }
}

std::string read_cursor(JsonReader& body) {
  if (!body.any("cursor")) return "";
  const Result<std::string> cursor = decode_cursor(body.text("cursor"));
  if (!cursor) body.fail();
  return cursor.value_or("");
}

}  // namespace once::wire
