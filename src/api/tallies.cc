#include "once/tallies.h"

#include <map>

#include "api/audit.h"
#include "api/call.h"
#include "primitives/keys.h"
#include "primitives/tally_kinds.h"
#include "wire/bulk.h"
#include "wire/tallies.h"

namespace once::api {
namespace {

Plan<Response> answer_merge(Key key, TallyRequest request, DataForm form,
                            tallies::KnownTallies* known) {
  const TallyOutcome outcome = co_await tallies::merge(std::move(key), request, known);
  co_return wire::encode(request, outcome, form);
}

// How a tally is to be shown.
struct Shown {
  std::optional<std::string> item;
  std::optional<std::size_t> limit;
  DataForm form = DataForm::json;
};

Plan<Response> answer_read_tally(Key key, TallyRange range, Shown shown, std::size_t most_bytes) {
  const std::shared_ptr<const Monoid> none;
  const auto reading = co_await tallies::read(std::move(key), range, none, most_bytes);
  if (!reading) co_return wire::no_tally();
  Result<std::string> json = wire::reading_json(*reading, shown.item, shown.limit, shown.form);
  if (!json) co_return problem(json.error());
  co_return json_response(200, std::move(*json));
}

Plan<Response> answer_series(Key key, TallyRange range, Shown shown, std::size_t most_bytes) {
  const std::shared_ptr<const Monoid> none;
  const auto series = co_await tallies::series(std::move(key), range, none, most_bytes);
  if (!series) co_return wire::no_tally();
  Result<Response> response = wire::encode(*series, shown.item, shown.limit, shown.form);
  if (!response) co_return problem(response.error());
  co_return std::move(*response);
}

// `order` has the index of each answer's tally in `keys`.
Plan<Response> answer_read_all(std::vector<Key> keys, std::vector<std::size_t> order,
                               TallyRange range, DataForm form, std::size_t most_bytes) {
  const std::shared_ptr<const Monoid> none;
  const auto readings = co_await tallies::read_all(std::move(keys), range, none, most_bytes);
  co_return wire::encode(readings, order, form);
}

// The same with a range of its own for each, of which `wanted` says how it is shown.
Plan<Response> answer_read_each(std::vector<tallies::KeyedRange> reads,
                                std::vector<std::size_t> order,
                                std::vector<wire::TalliesReadRequest::Read> wanted, DataForm form,
                                std::size_t most_bytes) {
  const std::shared_ptr<const Monoid> none;
  const auto readings = co_await tallies::read_each(std::move(reads), none, most_bytes);
  std::string values = "[";
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Result<std::string> json = "null";
    const std::optional<TallyReading>& reading = readings[order[i]];
    if (reading) json = wire::reading_json(*reading, wanted[i].item, wanted[i].limit, form);
    if (!json) {
      co_return problem(Code::invalid, "reads[" + std::to_string(i) + "]: " + json.error().message);
    }
    values.append(values.size() > 1 ? "," : "").append(*json);
  }
  co_return json_response(200, JsonObject().raw("values", values + "]").finish());
}

Plan<Response> answer_remove_tally(Key key, tallies::KnownTallies* known, Recording recording) {
  const bool was_there = co_await tallies::remove(std::move(key), known, std::move(recording));
  if (!was_there) co_return wire::no_tally();
  co_return Response{204, {}, ""};
}

Plan<Response> answer_list_tallies(std::string name_space, Listing listing) {
  const TallyPage page = co_await tallies::list(std::move(name_space), std::move(listing));
  co_return wire::encode(page);
}

Plan<Response> answer_remove_tallies(std::string name_space, wire::BulkRemoval removal,
                                     tallies::KnownTallies* known, Recording recording) {
  const BulkRemoved removed = co_await tallies::remove_all(
      std::move(name_space), std::move(removal.listing), removal.run, known, std::move(recording));
  co_return wire::encode(removed);
}

Result<TallyRange> range_in(Call& call) {
  const auto from = call.time("from");
  if (!from) return std::unexpected(from.error());
  const auto to = call.time("to");
  if (!to) return std::unexpected(to.error());
  const auto last = call.duration("last");
  if (!last) return std::unexpected(last.error());
  if (*last && (*from || *to)) {
    return failure(ErrorCode::invalid, "last is without from and to");
  }
  return TallyRange{*from, *to, *last};
}

}  // namespace

Answer add_to_tally(Call& call) {
  Result<TallyRequest> request = wire::decode_tally_request(call.request.body, call.form);
  if (!request) return problem(request.error());
  const std::size_t weight = tallies::most_bytes_of(request->shape);
  Answer answer = answer_merge(tallies::tally_key(call.name_space, call.name), std::move(*request),
                               call.form, &call.service.known_tallies());
  answer.weight = weight;
  return answer;
}

Answer read_tally(Call& call) {
  const Result<TallyRange> range = range_in(call);
  if (!range) return problem(range.error());
  Shown shown{.item = call.parameter("item"), .form = call.form};
  const auto limit = call.integer("limit");
  if (!limit) return problem(limit.error());
  if (*limit && **limit < 1) return problem(Code::invalid, "limit is not positive");
  if (*limit) shown.limit = static_cast<std::size_t>(**limit);
  const std::string series = call.parameter("series").value_or("false");
  if (series != "true" && series != "false") {
    return problem(Code::invalid, "series is true or false");
  }
  Key key = tallies::tally_key(call.name_space, call.name);
  const std::size_t most = call.service.tally_bytes();
  if (series == "true") return answer_series(std::move(key), *range, std::move(shown), most);
  return answer_read_tally(std::move(key), *range, std::move(shown), most);
}

Answer remove_tally(Call& call) {
  return answer_remove_tally(tallies::tally_key(call.name_space, call.name),
                             &call.service.known_tallies(), audit_of(call, "tally.delete"));
}

Answer list_tallies(Call& call) {
  const Result<Listing> listing = listing_of(call);
  if (!listing) return problem(listing.error());
  return answer_list_tallies(call.name_space, *listing);
}

Answer remove_tallies(Call& call) {
  Result<wire::BulkRemoval> removal = wire::decode_bulk_removal(call.request.body);
  if (!removal) return problem(removal.error());
  return answer_remove_tallies(call.name_space, std::move(*removal), &call.service.known_tallies(),
                               audit_of(call, "tally.delete"));
}

namespace {

Answer read_mixed(Call& call, std::vector<wire::TalliesReadRequest::Read> wanted) {
  std::map<tallies::KeyedRange, std::size_t> known;
  std::vector<tallies::KeyedRange> reads;
  std::vector<std::size_t> order;
  for (const wire::TalliesReadRequest::Read& read : wanted) {
    if (Result<void> ok = keys::check_name(read.key); !ok) return problem(ok.error());
    tallies::KeyedRange one{tallies::tally_key(call.name_space, read.key), read.range};
    const auto [at, is_new] = known.try_emplace(one, reads.size());
    if (is_new) reads.push_back(std::move(one));
    order.push_back(at->second);
  }
  return answer_read_each(std::move(reads), std::move(order), std::move(wanted), call.form,
                          call.service.tally_bytes());
}

}  // namespace

Answer read_tallies(Call& call) {
  Result<wire::TalliesReadRequest> request = wire::decode_tallies_read_request(call.request.body);
  if (!request) return problem(request.error());
  if (!request->reads.empty()) return read_mixed(call, std::move(request->reads));
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
                         call.service.tally_bytes());
}

}  // namespace once::api
