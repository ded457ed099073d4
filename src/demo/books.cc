#include "demo/books.h"

#include "api/json.h"
#include "api/text.h"
#include "client/http_client.h"
#include "demo/names.h"

namespace once::demo {
namespace {

constexpr Duration kPatience = std::chrono::seconds(30);

class Reader {
 public:
  Reader(const std::string& url, std::uint32_t orders) : store_(url), orders_(orders) {}

  Result<Books> read_plain(std::uint64_t most_lines);
  Result<Books> read_guarded();

 private:
  // Its body; nothing if there is none.
  Result<std::optional<std::string>> get(std::string target) {
    const api::Request request{"GET", std::move(target), {}, ""};
    Result<api::Response> answer = store_.call(request, kPatience);
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (answer->status == 404) return std::nullopt;
    if (answer->status == 200) return std::move(answer->body);
    return failure(ErrorCode::unavailable, "the store answered " + std::to_string(answer->status));
  }

  // The next line of the log stands at `index`, from 0, and says `order`.
  Result<void> add(Books& books, std::uint64_t index, std::int64_t order) const {
    if (order < 0 || order >= orders_ || index < books.lines.size()) {
      return failure(ErrorCode::corrupt, "a line of the log is not what was written");
    }
    books.lines.resize(index + 1);
    books.lines.back() = static_cast<std::uint32_t>(order);
    return {};
  }

  Result<void> add_page(Books& books, const std::string& page, std::int64_t& next) const;

  client::HttpClient store_;
  const std::uint32_t orders_;
};

Result<Books> Reader::read_plain(std::uint64_t most_lines) {
  Books books;
  for (std::uint64_t i = 0; i < most_lines; ++i) {
    const auto line = get(plain::line_name(static_cast<std::int64_t>(i)));
    if (!line) return std::unexpected(line.error());
    if (!*line) continue;
    Result<void> ok = add(books, i, api::parse_integer(**line).value_or(-1));
    if (!ok) return std::unexpected(std::move(ok.error()));
  }
  const auto total = get(plain::kTotal);
  if (!total) return std::unexpected(total.error());
  books.cents = api::parse_integer(total->value_or("0")).value_or(0);
  return books;
}

Result<void> Reader::add_page(Books& books, const std::string& page, std::int64_t& next) const {
  const Result<api::Json> body = api::parse_json(page);
  if (!body) return std::unexpected(body.error());
  simdjson::dom::array events;
  const bool sane = body->at_key("events").get(events) == simdjson::SUCCESS &&
                    body->at_key("next").get(next) == simdjson::SUCCESS;
  if (!sane) return failure(ErrorCode::corrupt, "a page of the log cannot be read");
  for (const api::Json event : events) {
    std::int64_t index = 0;
    std::int64_t order = -1;
    const bool whole = event.at_key("index").get(index) == simdjson::SUCCESS &&
                       event.at_key("data").get(order) == simdjson::SUCCESS && index >= 1;
    if (!whole) return failure(ErrorCode::corrupt, "a line of the log cannot be read");
    Result<void> ok = add(books, static_cast<std::uint64_t>(index - 1), order);
    if (!ok) return ok;
  }
  return {};
}

Result<Books> Reader::read_guarded() {
  Books books;
  std::int64_t next = 1;
  for (std::int64_t from = 0; from != next;) {
    from = next;
    std::string target = "/v1/logs/";
    target.append(guarded::kStream).append("?limit=1000&from=").append(std::to_string(from));
    const auto page = get(std::move(target));
    if (!page) return std::unexpected(page.error());
    Result<void> ok = add_page(books, page->value_or(""), next);
    if (!ok) return std::unexpected(std::move(ok.error()));
  }
  const auto total = get(std::string("/v1/tallies/") + guarded::kTally);
  if (!total) return std::unexpected(total.error());
  if (!*total) return books;
  const Result<api::Json> body = api::parse_json(**total);
  if (!body || body->at_key("value").get(books.cents) != simdjson::SUCCESS) {
    return failure(ErrorCode::corrupt, "the total cannot be read");
  }
  return books;
}

}  // namespace

Result<Books> read_books(Way way, const std::string& url, std::uint32_t orders,
                         std::uint64_t most_lines) {
  Reader reader(url, orders);
  return way == Way::naive ? reader.read_plain(most_lines) : reader.read_guarded();
}

}  // namespace once::demo
