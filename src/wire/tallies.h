// Tallies as requests and answers of the API, decoded by the server and encoded by a client, or the
// reverse.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/tallies.h"
#include "wire/data_form.h"
#include "wire/problem.h"

namespace once::wire {

std::string_view name_of(TallyKind kind);

// A merge: {"kind", what the kind takes, "window", "id", "id_ttl", "at", "ttl"}. Only the kind and
// what it takes are required. `unsupported`: a program's own kind; `invalid`: an input, id or time
// that cannot be sent.
Result<void> write_tally(JsonObject& out, const TallyRequest& request, DataForm form);
TallyRequest take_tally(Fields& fields, DataForm form);
Result<std::string> encode(const TallyRequest& request, DataForm form);
Result<TallyRequest> decode_tally_request(std::string_view body, DataForm form);

// A read has no body but a target, "/v1/tallies/t?from=...&to=...". `invalid` if a time cannot be
// sent.
Result<std::string> target_of(std::string_view tally, const TallyRange& range);

// {"keys","from","to","last"}, or {"reads":[{"key","from","to","last","item","limit"}]}.
struct TalliesReadRequest {
  struct Read {
    std::string key;
    TallyRange range;
    std::optional<std::string> item;   // Of a bloom filter.
    std::optional<std::size_t> limit;  // Of a top.

    friend bool operator==(const Read&, const Read&) = default;
  };

  std::vector<std::string> keys;
  TallyRange range;
  std::vector<Read> reads;  // In place of keys, if there are any.
};
Result<std::string> encode(const TalliesReadRequest& request);
Result<TalliesReadRequest> decode_tallies_read_request(std::string_view body);

// What was merged, {"kind","window","value"}: without a window if the tally has none, and without a
// value that is not known. A bloom filter's value is true: it holds what was merged.
std::string merged_json(const TallyRequest& request, const std::optional<TallyValue>& value,
                        DataForm form);
std::optional<TallyValue> read_value(JsonReader& body, TallyKind kind, DataForm form);

// Nothing was merged, because the tally is of another kind or window.
Problem other_tally(const OtherTally& other);
OtherTally read_other_tally(JsonReader& body);

Response encode(const TallyRequest& request, const TallyOutcome& outcome, DataForm form);

// What a tally holds. A bloom filter's value is null in JSON form, because it answers for an item
// only, and its state in exact form.
Response encode(const TallyReading& reading, DataForm form);
// `order` has, for each answer, the index of its reading.
Response encode(const std::vector<std::optional<TallyReading>>& readings,
                const std::vector<std::size_t>& order, DataForm form);
Response encode_contains(TallyKind kind, bool may_contain);

// {"kind","value"} of one reading, of `item` of a bloom filter, or of the first `limit` of a top.
// `invalid` if it cannot be asked so.
Result<std::string> reading_json(const TallyReading& reading,
                                 const std::optional<std::string>& item,
                                 std::optional<std::size_t> limit, DataForm form);

// {"kind","window","series":[{"at","value"}]}, with `item` and `limit` as above.
Result<Response> encode(const TallySeries& series, const std::optional<std::string>& item,
                        std::optional<std::size_t> limit, DataForm form);
Result<std::optional<TallySeries>> decode_tally_series(const Response& response, DataForm form);

// {"tallies":[{"key","kind","window"}],"cursor"}
Response encode(const TallyPage& page);
Result<TallyPage> decode_tally_page(const Response& response);

Response no_tally();  // 404

// `unknown` if the answer is not understood. TooManyIds is `unavailable` to a client.
Result<TallyOutcome> decode_tally_outcome(const Response& response, TallyKind kind, DataForm form);
Result<std::optional<TallyReading>> decode_tally_reading(const Response& response, DataForm form);
Result<std::vector<std::optional<TallyReading>>> decode_tally_readings(const Response& response,
                                                                       std::size_t keys,
                                                                       DataForm form);

}  // namespace once::wire
