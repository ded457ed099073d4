// The raw items of the store, for `once export` and `once import`, which give the guarantees: a
// single page is no snapshot.
#include <algorithm>

#include "api/audit.h"
#include "api/call.h"
#include "api/stored_items.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "primitives/keys.h"
#include "wire/items.h"
#include "wire/text.h"

namespace once::api {
namespace {

constexpr std::int64_t kMaxItems = 10'000;
constexpr std::size_t kStride = 100;          // Items may be large, so few are read at a time.
constexpr std::size_t kPageBytes = 1U << 20;  // A page ends when it is this large.

// The prefixes of the items' homes: of the given namespace, or of all.
std::vector<std::string> prefixes_of(const Call& call) {
  const bool named = call.request.headers.find("Once-Namespace").has_value();
  return named ? keys::prefixes(call.name_space) : std::vector<std::string>{""};
}

// The position in a walk through the prefixes. As text: the prefix's number and the store's cursor.
struct Place {
  std::size_t prefix = 0;
  std::string cursor;
};

std::string to_text(const Place& place) {
  return base64url_encode(std::to_string(place.prefix) + ":" + place.cursor);
}

std::optional<Place> parse_place(const std::string& text, std::size_t prefixes) {
  const std::optional<Bytes> bytes = base64url_decode(text);
  const std::size_t colon = bytes ? bytes->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  const auto prefix = parse_integer(std::string_view(*bytes).substr(0, colon));
  if (!prefix || *prefix < 0 || *prefix >= static_cast<std::int64_t>(prefixes)) {
    return std::nullopt;
  }
  return Place{static_cast<std::size_t>(*prefix), bytes->substr(colon + 1)};
}

Plan<Response> listed(std::vector<std::string> prefixes, Place place, std::size_t limit) {
  const Time now = co_await store_now();
  std::string items;
  std::size_t examined = 0;
  while (place.prefix < prefixes.size() && examined < limit && items.size() < kPageBytes) {
    const std::size_t stride = std::min(kStride, limit - examined);
    const ListRequest request{prefixes[place.prefix], place.cursor, stride};
    const ListPage page = co_await list(request);
    for (const Listed& item : page.items) {
      if (keys::is_of_store(item.key)) continue;
      items.append(items.empty() ? "" : ",").append(item_json(item));
    }
    examined += stride;
    place.cursor = page.cursor;
    if (place.cursor.empty()) ++place.prefix;
  }
  JsonObject body;
  body.raw("items", "[" + items + "]").time("time", now);
  if (place.prefix < prefixes.size()) {
    body.text("cursor", to_text(place));
  } else {
    body.raw("cursor", "null");
  }
  co_return json_response(200, body.finish());
}

Write write_of(Listed listed) {
  Write write =
      put(std::move(listed.key), std::move(listed.item.value), absent(), listed.item.expiry);
  write.version = listed.item.version;
  return write;
}

// Writes each item, with its version, where its key is free. Sending it twice changes nothing, so a
// client that lost the answer sends it again. Recorded before it is done, under the hash of all.
Plan<Response> imported(std::vector<Write> writes, Key about, std::string id, Recording recording) {
  co_await record(std::move(about), std::move(id), std::move(recording));
  std::vector<std::span<Write>> each;
  for (Write& write : writes) each.emplace_back(&write, 1);
  const std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(each);
  std::int64_t fresh = 0;
  std::int64_t known = 0;
  std::int64_t refused = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i]) co_return std::unexpected(outcomes[i].error());
    const auto* lost = std::get_if<Lost>(&*outcomes[i]);
    const bool same =
        lost != nullptr && lost->current && lost->current->version == writes[i].version;
    ++(lost == nullptr ? fresh : same ? known : refused);
  }
  JsonObject body;
  body.integer("imported", fresh).integer("known", known).integer("refused", refused);
  co_return json_response(200, body.finish());
}

bool is_among(const std::string& home, const std::vector<std::string>& prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](const std::string& prefix) { return home.starts_with(prefix); });
}

}  // namespace

Answer list_items(Call& call) {
  const auto limit = call.integer("limit");
  if (!limit) return problem(limit.error());
  const std::int64_t most = limit->value_or(1'000);
  if (most < 1 || most > kMaxItems) return problem(Code::invalid, "limit is 1 to 10000");
  std::vector<std::string> prefixes = prefixes_of(call);
  Place place;
  if (const auto cursor = call.parameter("cursor")) {
    const auto parsed = parse_place(*cursor, prefixes.size());
    if (!parsed) return problem(Code::invalid, "not a cursor");
    place = *parsed;
  }
  return listed(std::move(prefixes), std::move(place), static_cast<std::size_t>(most));
}

Answer import_items(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  fields.require("items");
  const std::vector<Json> items = fields.array("items").value_or(std::vector<Json>());
  const bool with_tokens = fields.boolean("with_tokens").value_or(false);
  if (items.size() > kMaxItems) return problem(Code::invalid, "at most 10000 items at once");
  const std::vector<std::string> prefixes = prefixes_of(call);
  std::vector<Write> writes;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Fields item = fields.element("items", i, items[i]);
    Listed listed = take_item(item);
    if (const Result<void> ok = check_stored(listed); !ok) {
      item.complain("home", "of " + once::to_text(listed.key) + ": " + ok.error().message);
    }
    if (is_token(listed) && !with_tokens) {
      item.complain("home", "is a token, which comes in with with_tokens only");
    }
    if (!is_among(listed.key.partition.home, prefixes)) {
      item.complain("home", "is in another namespace");
    }
    writes.push_back(write_of(in_today_form(std::move(listed))));
    fields.absorb(std::move(item));
  }
  if (Result<void> ok = fields.finish(); !ok) return problem(ok.error());
  if (writes.empty()) return problem(Code::invalid, "items is empty");
  const bool named = call.request.headers.find("Once-Namespace").has_value();
  // Stands for all that is imported; no key is like it.
  const Key about{{"import/" + (named ? call.name_space : "*") + "/*", ""}, 0};
  const std::string also = "\"items\":" + std::to_string(writes.size());
  return imported(std::move(writes), about, sha256_hex(call.request.body),
                  audit_of(call, "import", also));
}

}  // namespace once::api
