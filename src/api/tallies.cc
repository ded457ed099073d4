#include "once/tallies.h"

#include <map>

#include "api/call.h"
#include "primitives/keys.h"
#include "wire/tallies.h"

namespace once::api {
namespace {

Plan<Response> answer_merge(Key key, TallyRequest request, DataForm form,
                            tallies::KnownTallies* known) {
  const TallyOutcome outcome = co_await tallies::merge(std::move(key), request, known);
  co_return wire::encode(request, outcome, form);
}

// Whether a bloom filter may have the item. No other kind can be asked for one.
Response item_response(const TallyReading& reading, const std::string& item) {
  const auto* filter = std::get_if<BloomAnswer>(&reading.value);
  if (filter == nullptr) return problem(Code::invalid, "item is for a bloom filter");
  return wire::encode_contains(reading.kind, filter->may_contain(item));
}

Plan<Response> answer_read_tally(Key key, TallyRange range, std::optional<std::string> item,
                                 DataForm form) {
  const std::shared_ptr<const Monoid> none;
  const auto reading = co_await tallies::read(std::move(key), range, none);
  if (!reading) co_return wire::no_tally();
  if (item) co_return item_response(*reading, *item);
  if (reading->kind == TallyKind::bloom && form == DataForm::json) {
    co_return problem(Code::invalid, "a bloom filter is asked for an item");
  }
  co_return wire::encode(*reading, form);
}

// `order` has the index of each answer's tally in `keys`.
Plan<Response> answer_read_all(std::vector<Key> keys, std::vector<std::size_t> order,
                               TallyRange range, DataForm form, std::size_t most_bytes) {
  const std::shared_ptr<const Monoid> none;
  const auto readings = co_await tallies::read_all(std::move(keys), range, none, most_bytes);
  co_return wire::encode(readings, order, form);
}

}  // namespace

Answer add_to_tally(Call& call) {
  Result<TallyRequest> request = wire::decode_tally_request(call.request.body, call.form);
  if (!request) return problem(request.error());
  return answer_merge(tallies::tally_key(call.name_space, call.name), std::move(*request),
                      call.form, &call.service.known_tallies());
}

Answer read_tally(Call& call) {
  const auto from = call.time("from");
  if (!from) return problem(from.error());
  const auto to = call.time("to");
  if (!to) return problem(to.error());
  return answer_read_tally(tallies::tally_key(call.name_space, call.name), {*from, *to},
                           call.parameter("item"), call.form);
}

Answer read_tallies(Call& call) {
  const Result<wire::TalliesReadRequest> request =
      wire::decode_tallies_read_request(call.request.body);
  if (!request) return problem(request.error());
  std::map<std::string_view, std::size_t> known;
  std::vector<Key> keys;
  std::vector<std::size_t> order;
  for (const std::string& name : request->keys) {
    if (Result<void> ok = keys::check_name(name); !ok) return problem(ok.error());
    const auto [at, is_new] = known.try_emplace(name, keys.size());
    if (is_new) keys.push_back(tallies::tally_key(call.name_space, name));
    order.push_back(at->second);
  }
  return answer_read_all(std::move(keys), std::move(order), request->range, call.form,
                         call.service.options().tally_bytes);
}

}  // namespace once::api
