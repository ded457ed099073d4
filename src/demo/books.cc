#include "demo/books.h"

#include <limits>

#include "client/http_client.h"
#include "wire/log.h"
#include "wire/tallies.h"
#include "wire/text.h"

namespace once::demo {
namespace {

constexpr wire::DataForm kForm = wire::DataForm::json;

class Reader {
 public:
  Reader(const std::string& url, std::uint32_t orders) : store_(url), orders_(orders) {}

  Result<Books> read_plain(std::uint64_t most_lines);
  Result<Books> read_guarded();

 private:
  // A 200 or a 404.
  Result<wire::Response> get(std::string target) {
    const wire::Request request{"GET", std::move(target), {}, ""};
    Result<wire::Response> answer = store_.call(request, kPatience);
    if (!answer || answer->status == 200 || answer->status == 404) return answer;
    return failure(ErrorCode::unavailable, "the store answered " + std::to_string(answer->status));
  }

  // The number in a plain value; `otherwise` if there is no such value.
  Result<std::int64_t> number(std::string target, std::int64_t otherwise) {
    const Result<wire::Response> answer = get(std::move(target));
    if (!answer) return std::unexpected(answer.error());
    if (answer->status == 404) return otherwise;
    return wire::parse_integer(answer->body).value_or(-1);
  }

  // Adds the line at `index`, from 0, which says `order`.
  Result<void> add(Books& books, std::uint64_t index, std::int64_t order) const {
    if (order < 0 || order >= orders_ || index < books.lines.size()) {
      return failure(ErrorCode::corrupt, "a line of the log is not what was written");
    }
    books.lines.resize(index + 1);
    books.lines.back() = static_cast<std::uint32_t>(order);
    return {};
  }

  Result<void> add_page(Books& books, const LogPage& page) const;

  client::HttpClient store_;
  const std::uint32_t orders_;
};

Result<Books> Reader::read_plain(std::uint64_t most_lines) {
  Books books;
  constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();
  for (std::uint64_t i = 0; i < most_lines; ++i) {
    const auto line = number(plain::line_name(static_cast<std::int64_t>(i)), kAbsent);
    if (!line) return std::unexpected(line.error());
    if (*line == kAbsent) continue;
    Result<void> ok = add(books, i, *line);
    if (!ok) return std::unexpected(std::move(ok.error()));
  }
  const auto total = number(plain::kTotal, 0);
  if (!total) return std::unexpected(total.error());
  books.cents = *total;
  return books;
}

Result<void> Reader::add_page(Books& books, const LogPage& page) const {
  for (const LogEntry& event : page.events) {
    const std::int64_t order = wire::parse_integer(event.data).value_or(-1);
    if (event.index < 1) return failure(ErrorCode::corrupt, "a line of the log cannot be read");
    Result<void> ok = add(books, static_cast<std::uint64_t>(event.index - 1), order);
    if (!ok) return ok;
  }
  return {};
}

Result<Books> Reader::read_guarded() {
  Books books;
  std::int64_t next = 1;
  for (std::int64_t from = 0; from != next;) {
    from = next;
    const Result<wire::Response> answer =
        get(wire::target_of(guarded::kStream, LogRead{.from = from, .limit = 1'000}));
    if (!answer) return std::unexpected(answer.error());
    const Result<LogPage> page = wire::decode_log_page(*answer, kForm);
    if (!page) return failure(ErrorCode::corrupt, "a page of the log cannot be read");
    next = page->next;
    Result<void> ok = add_page(books, *page);
    if (!ok) return std::unexpected(std::move(ok.error()));
  }
  const Result<wire::Response> answer = get(wire::path_to("tallies", guarded::kTally));
  if (!answer) return std::unexpected(answer.error());
  const auto total = wire::decode_tally_reading(*answer, kForm);
  if (!total) return failure(ErrorCode::corrupt, "the total cannot be read");
  if (!*total) return books;
  const auto* const cents = std::get_if<std::int64_t>(&(*total)->value);
  if (cents == nullptr) return failure(ErrorCode::corrupt, "the total is not a number");
  books.cents = *cents;
  return books;
}

}  // namespace

Audit audit(const Schedule& schedule, const Books& books) {
  std::vector<std::uint64_t> times(schedule.orders.size());
  Audit found;
  std::uint64_t empty = 0;  // Since the last line.
  for (const std::optional<std::uint32_t>& line : books.lines) {
    if (!line) {
      ++empty;
      continue;
    }
    found.gaps += empty;
    empty = 0;
    ++times.at(*line);
  }
  for (const std::uint64_t count : times) {
    if (count == 0) ++found.lost;
    if (count > 0) ++found.applied;
    if (count > 1) found.repeated += count - 1;
  }
  found.off_by = books.cents - schedule.total_cents();
  return found;
}

Result<Books> read_books(Way way, const std::string& url, std::uint32_t orders,
                         std::uint64_t most_lines) {
  Reader reader(url, orders);
  return way == Way::naive ? reader.read_plain(most_lines) : reader.read_guarded();
}

}  // namespace once::demo
