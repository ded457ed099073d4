#include "api/follow.h"

#include <limits>

#include "wire/log.h"
#include "wire/text.h"

namespace once::api {
namespace {

// Whether the list of an Accept header has the type, with any parameters.
bool accepts(std::string_view list, std::string_view type) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view one = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    one = one.substr(0, one.find(';'));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one == type) return true;
  }
  return false;
}

}  // namespace

Result<bool> asks_to_follow(const Call& call) {
  const auto follow = call.query.find("follow");
  if (follow == call.query.end()) {
    return accepts(call.request.headers.find("Accept").value_or(""), "text/event-stream");
  }
  if (follow->second == "true") return true;
  if (follow->second == "false") return false;
  return failure(ErrorCode::invalid, "follow is true or false");
}

Result<bool> wants_to_follow(Call& call) {
  const Result<bool> follows = asks_to_follow(call);
  (void)call.parameter("follow");
  return follows;
}

Result<std::int64_t> follow_start(std::optional<std::int64_t> from,
                                  std::optional<std::string_view> last_event_id) {
  if (last_event_id && !last_event_id->empty()) {
    const std::optional<std::int64_t> last = parse_integer(*last_event_id);
    if (!last || *last < 0 || *last == std::numeric_limits<std::int64_t>::max()) {
      return failure(ErrorCode::invalid, "Last-Event-ID is not the index of an event");
    }
    return *last + 1;
  }
  if (from && *from < 0) return failure(ErrorCode::invalid, "from is an index, from 1");
  return from.value_or(1);
}

std::expected<std::optional<Following>, Response> following_of(Call& call) {
  if (call.request.method == "HEAD") return std::nullopt;
  const Result<bool> follows = asks_to_follow(call);
  if (!follows || !*follows) return std::nullopt;
  (void)call.parameter("follow");
  const auto from = call.integer("from");
  if (!from) return std::unexpected(problem(from.error()));
  auto since = call.time("since");
  if (!since) return std::unexpected(problem(since.error()));
  if (*since && *from) {
    return std::unexpected(problem(Code::invalid, "since takes the place of from"));
  }
  const auto last_event_id = call.request.headers.find("Last-Event-ID");
  if (last_event_id && !last_event_id->empty()) since->reset();  // It has begun before.
  const auto start = follow_start(*from, last_event_id);
  if (!start) return std::unexpected(problem(start.error()));
  const auto limit = call.integer("limit");
  if (!limit) return std::unexpected(problem(limit.error()));
  if (*limit && **limit < 1) return std::unexpected(problem(Code::invalid, "limit is 1 or more"));
  if (call.parameter("order").value_or("asc") != "asc") {
    return std::unexpected(problem(Code::invalid, "a follower reads in order=asc"));
  }
  if (!call.query.empty()) {
    const std::string& name = call.query.begin()->first;
    return std::unexpected(problem(Code::invalid, name + " is not a parameter of a follower"));
  }
  return Following{call.name_space, call.name, *start, *since, *limit};
}

std::string sse_text(const LogEntry& entry) {
  return "id: " + std::to_string(entry.index) + "\ndata: " + event_json(entry) + "\n\n";
}

}  // namespace once::api
