#include "wire/bulk.h"

#include "base/encoding.h"
#include "base/names.h"
#include "once/store.h"
#include "wire/listing.h"
#include "wire/problem.h"

namespace once::wire {

std::string encode(const BulkRemoval& removal) {
  const Listing& listing = removal.listing;
  JsonObject body;
  body.text("prefix", listing.prefix).integer("limit", static_cast<std::int64_t>(listing.limit));
  if (!listing.cursor.empty()) body.text("cursor", base64url_encode(listing.cursor));
  if (removal.run == BulkRun::dry) body.boolean("dry_run", true);
  return body.finish();
}

Result<BulkRemoval> decode_bulk_removal(std::string_view body) {
  const Result<Json> json = parse_body(body);
  if (!json) return std::unexpected(json.error());
  Fields fields(*json);
  fields.require("prefix");
  BulkRemoval removal;
  removal.listing.prefix = fields.text("prefix").value_or("");
  if (removal.listing.prefix.empty()) fields.complain("prefix", "is empty");
  if (const Result<void> ok = keys::check_prefix(removal.listing.prefix); !ok) {
    fields.complain("prefix", ok.error().message);
  }
  removal.listing.limit = take_limit(fields);
  if (fields.boolean("dry_run").value_or(false)) removal.run = BulkRun::dry;
  removal.listing.cursor = take_cursor(fields);
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return removal;
}

Response encode(const BulkRemoved& removed) {
  JsonObject body;
  body.integer("deleted", static_cast<std::int64_t>(removed.count));
  add_cursor(body, removed.cursor);
  return json_response(200, body.finish());
}

Result<BulkRemoved> decode_bulk_removed(const Response& response) {
  JsonReader body(response.body);
  BulkRemoved removed;
  removed.count = static_cast<std::size_t>(body.integer("deleted"));
  removed.cursor = read_cursor(body);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return removed;
}

}  // namespace once::wire
