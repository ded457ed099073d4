#include "cli/pages.h"

#include <algorithm>
#include <iostream>
#include <limits>

#include "base/encoding.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"

namespace once::cli {
namespace {

constexpr std::int64_t kPageRows = 1'000;

std::int64_t count_rows(const api::Response& page, const std::string& noun) {
  const Result<api::Json> body = api::parse_json(page.body);
  simdjson::dom::array rows;
  if (!body || body->at_key(noun).get(rows) != simdjson::SUCCESS) return 0;
  return static_cast<std::int64_t>(rows.size());
}

std::int64_t deleted_in(const api::Response& page) {
  const Result<api::Json> body = api::parse_json(page.body);
  std::int64_t deleted = 0;
  if (!body || body->at_key("deleted").get(deleted) != simdjson::SUCCESS) return 0;
  return deleted;
}

}  // namespace

int list_pages(const Invocation& invocation, const std::string& noun, const Show& show,
               std::initializer_list<std::string_view> filters) {
  const auto limit = invocation.integer("limit");
  if (!limit) return print_error(invocation, limit.error());
  std::int64_t left = limit->value_or(std::numeric_limits<std::int64_t>::max());
  if (left < 1) return print_error(invocation, {ErrorCode::invalid, "--limit is at least 1"});
  const auto target = open_target(invocation);
  std::string cursor;
  do {
    std::string path = "/v1/" + noun + "?limit=" + std::to_string(std::min(left, kPageRows));
    for (const std::string_view filter : filters) {
      const auto value = invocation.option(filter);
      if (!value) continue;
      std::string name(filter);
      std::ranges::replace(name, '-', '_');
      path.append("&").append(name).append("=").append(percent_encode(*value));
    }
    if (!cursor.empty()) path += "&cursor=" + cursor;
    const auto page = target->call(request_for(invocation, "GET", std::move(path)));
    if (const int exit = print_answer(invocation, page, show); exit != kDone) return exit;
    left -= count_rows(*page, noun);
    cursor = field_of(*page, "cursor");
  } while (left > 0 && !cursor.empty());
  return kDone;
}

int remove_pages(const Invocation& invocation, const std::string& noun, const std::string& one,
                 const std::string& many) {
  const std::string prefix = invocation.option("prefix").value_or("");
  if (prefix.empty()) return print_error(invocation, {ErrorCode::invalid, "--prefix is empty"});
  const bool dry = invocation.flag("dry-run");
  const auto target = open_target(invocation);
  Progress progress(many, Progress::Output::at_the_end);
  std::string cursor;
  std::int64_t deleted = 0;
  do {
    api::JsonObject body;
    body.text("prefix", prefix).integer("limit", kPageRows);
    if (dry) body.boolean("dry_run", true);
    if (!cursor.empty()) body.text("cursor", cursor);
    // Removing again what is gone changes nothing.
    const auto page = target->write(
        request_for(invocation, "POST", "/v1/bulk/" + noun + "/delete", body.finish()));
    if (!page || page->status >= 400) return print_answer(invocation, page, nullptr);
    deleted += deleted_in(*page);
    progress.add(static_cast<std::uint64_t>(deleted_in(*page)));
    cursor = field_of(*page, "cursor");
  } while (!cursor.empty());
  api::JsonObject total;
  total.integer("deleted", deleted);
  if (dry) total.boolean("dry_run", true);
  return print_answer(invocation, api::Response{200, {}, total.finish()}, [&](api::Json) {
    std::cout << deleted << ' ' << (deleted == 1 ? one : many)
              << (dry ? " would be removed\n" : " removed\n");
  });
}

}  // namespace once::cli
