#include "cli/walk.h"

#include <algorithm>
#include <iostream>
#include <limits>

#include "cli/answer.h"
#include "cli/request.h"
#include "cli/terminal.h"
#include "wire/text.h"

namespace once::cli {
namespace {

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kNoExpiry = std::numeric_limits<std::int64_t>::max();
constexpr Duration kSoon = std::chrono::days(3);  // Longer than any walk.

std::int64_t minute_of(Time time) { return time.time_since_epoch().count() / kMinute; }

std::int64_t integer_of(api::Json item, std::string_view name, std::int64_t absent) {
  std::int64_t value = 0;
  return item.at_key(name).get(value) == simdjson::SUCCESS ? value : absent;
}

}  // namespace

Walk::Walk(const Invocation& invocation, Target& target, Progress& progress)
    : invocation_(invocation), target_(target), progress_(progress) {}

int Walk::run(const OnItem& on_item) {
  do {
    const std::string query = cursor_.empty() ? "" : "?cursor=" + cursor_;
    const auto page = target_.call(request_for(invocation_, "GET", "/v1/items" + query));
    if (!page) return print_error(invocation_, page.error());
    if (page->status != 200) return print_error(invocation_, *page);
    if (const int exit = take(*page, on_item); exit != kDone) return exit;
  } while (!cursor_.empty() && std::cout);
  return kDone;
}

int Walk::take(const api::Response& page, const OnItem& on_item) {
  const Result<api::Json> body = api::parse_json(page.body);
  simdjson::dom::array items;
  const auto time = body ? api::parse_time(member(*body, "time")) : std::nullopt;
  if (!time || body->at_key("items").get(items) != simdjson::SUCCESS) {
    return print_error(invocation_, {ErrorCode::corrupt, "the answer is no page of items"});
  }
  if (!started_) {
    began_ = *time;
    alone_ = target_.holds_store();
    started_ = true;
  }
  ended_ = *time;
  for (const api::Json item : items) {
    const std::string line = api::to_line(item);
    note(line, item);
    on_item(line, static_cast<std::uint32_t>(integer_of(item, "check", 0)));
  }
  progress_.add(items.size());
  cursor_ = member(*body, "cursor");
  return kDone;
}

void Walk::note(const std::string& line, api::Json item) {
  const std::int64_t expiry = integer_of(item, "expiry", kNoExpiry) / kMinute;
  Sum& sum = by_expiry_[std::min(expiry, minute_of(began_ + kSoon))];
  ++sum.items;
  sum.hashes += std::hash<std::string>()(line);
}

Walk::Sum Walk::after(std::int64_t minute) const {
  Sum total;
  for (auto sum = by_expiry_.upper_bound(minute); sum != by_expiry_.end(); ++sum) {
    total.items += sum->second.items;
    total.hashes += sum->second.hashes;
  }
  return total;
}

// The last page may have been read some time after its store said what time it is.
bool Walk::agrees_with(const Walk& later) const {
  const std::int64_t expired = minute_of(later.ended_ + kAttemptLife);
  return after(expired) == later.after(expired);
}

}  // namespace once::cli
