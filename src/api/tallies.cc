#include "once/tallies.h"

#include "api/call.h"
#include "api/tally_text.h"
#include "primitives/keys.h"

namespace once::api {
namespace {

Plan<Response> merged(Key key, TallyRequest request, tallies::KnownTallies* known) {
  const TallyOutcome outcome = co_await tallies::merge(std::move(key), request, known);
  if (const auto* other = std::get_if<OtherTally>(&outcome)) {
    co_return other_tally(*other).finish();
  }
  if (std::holds_alternative<TallyMismatch>(outcome)) {
    co_return problem(Code::mismatch, "the id was used for another input");
  }
  if (std::holds_alternative<TooManyIds>(outcome)) {
    co_return problem(Code::overloaded, "the tally knows too many ids already");
  }
  const auto& tallied = std::get<Tallied>(outcome);
  Response response = json_response(200, merged_json(request, tallied.value));
  co_return tallied.replayed ? replayed(std::move(response)) : std::move(response);
}

// Whether a bloom filter may have the item; any other kind has none to be asked for.
Response item_response(const TallyReading& reading, const std::string& item) {
  const auto* filter = std::get_if<BloomAnswer>(&reading.value);
  if (filter == nullptr) return problem(Code::invalid, "item is for a bloom filter");
  return json_response(200, JsonObject()
                                .text("kind", name_of(reading.kind))
                                .boolean("value", filter->may_contain(item))
                                .finish());
}

Plan<Response> shown(Key key, TallyRange range, std::optional<std::string> item) {
  const std::shared_ptr<const Monoid> none;
  const auto reading = co_await tallies::read(std::move(key), range, none);
  if (!reading) co_return problem(Code::not_found, "there is no such tally");
  if (item) co_return item_response(*reading, *item);
  if (reading->kind == TallyKind::bloom) {
    co_return problem(Code::invalid, "a bloom filter is asked for an item");
  }
  co_return json_response(200, tally_json(reading->kind, reading->window, reading->value));
}

Plan<Response> all_shown(std::vector<Key> keys, TallyRange range) {
  const std::shared_ptr<const Monoid> none;
  const auto readings = co_await tallies::read_all(std::move(keys), range, none);
  std::string values = json_array(readings, [](const std::optional<TallyReading>& reading) {
    return reading ? tally_json(reading->kind, reading->window, reading->value) : "null";
  });
  co_return json_response(200, JsonObject().raw("values", values).finish());
}

}  // namespace

Answer add_to_tally(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  TallyRequest request = take_tally(fields);
  if (Result<void> ok = fields.finish(); !ok) return problem(ok.error());
  return merged(tallies::tally_key(call.name_space, call.name), std::move(request),
                &call.service.known_tallies());
}

Answer read_tally(Call& call) {
  const auto from = call.time("from");
  if (!from) return problem(from.error());
  const auto to = call.time("to");
  if (!to) return problem(to.error());
  return shown(tallies::tally_key(call.name_space, call.name), {*from, *to},
               call.parameter("item"));
}

Answer read_tallies(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  fields.require("keys");
  const auto names = fields.texts("keys").value_or(std::vector<std::string>());
  const TallyRange range{fields.time("from"), fields.time("to")};
  if (names.size() > tallies::kMaxReads) fields.complain("keys", "are more than 10000");
  if (Result<void> ok = fields.finish(); !ok) return problem(ok.error());
  std::vector<Key> keys;
  keys.reserve(names.size());
  for (const std::string& name : names) {
    if (Result<void> ok = keys::check_name(name); !ok) return problem(ok.error());
    keys.push_back(tallies::tally_key(call.name_space, name));
  }
  return all_shown(std::move(keys), range);
}

}  // namespace once::api
