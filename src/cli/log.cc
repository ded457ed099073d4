#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "base/encoding.h"
#include "cli/answer.h"
#include "cli/events.h"
#include "cli/input.h"
#include "cli/pages.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"

namespace once::cli::log_command {
namespace {

// What goes into one request of lines that need not stay together,
constexpr Lines::Room kSome = {.lines = 1'000, .bytes = 256U << 10};
// and of those that must: one more than the API takes, so that it can say so.
constexpr Lines::Room kAll = {.lines = 10'001, .bytes = 64U << 20};

std::string event_of(const Invocation& invocation, const std::string& written) {
  const bool is_text = invocation.flag("text");
  return R"({"data":)" + (is_text ? api::json_text(written) : json_or_text(written)) + "}";
}

int append(const Invocation& invocation, Target& target, const std::vector<std::string>& events,
           const RequestId& id, std::size_t batch = 1) {
  const auto expect = invocation.integer("expect");
  if (!expect) return print_error(invocation, expect.error());
  api::JsonObject body;
  body.raw("events", api::json_array(events, [&](const std::string& written) {
             return event_of(invocation, written);
           }));
  body.text("batch", id.of_batch(batch));
  add_durations(body, invocation, {"ttl"});
  if (*expect) body.integer("expect", **expect);
  const std::string what =
      batch == 1 ? "it" : "the last " + std::to_string(events.size()) + " lines";
  const auto answer = target.write(
      request_for(invocation, "POST", path_to("logs", invocation.words[0]), body.finish()),
      {.id = id.of_batch(batch), .what = what});
  return print_answer(invocation, answer, [&](api::Json range) {
    const std::string first = member(range, "first");
    const std::string last = member(range, "last");
    std::cout << "appended " << first << (first == last ? "" : " to " + last)
              << (answer->status == 200 && id.is_given() ? ", as before" : "") << '\n';
  });
}

// Lines that belong together are one batch, or none at all.
int append_input(const Invocation& invocation, Target& target, const RequestId& id) {
  const bool together = id.is_given() || invocation.option("expect");
  const auto empty = invocation.flag("text") ? Lines::Empty::keep : Lines::Empty::pass_over;
  Lines lines(STDIN_FILENO, empty);
  if (together) {
    const auto events = lines.next(kAll, Lines::Partial::at_the_end);
    if (!lines.next(kSome, Lines::Partial::at_the_end).empty()) {
      return print_error(invocation, {ErrorCode::too_large, "too much for one batch"});
    }
    if (lines.broken()) return print_error(invocation, *lines.broken());
    return append(invocation, target, events, id);
  }
  Progress progress("events", Progress::Output::as_it_goes);
  for (std::size_t batch = 1;; ++batch) {
    if (!lines.ready()) {
      std::cout.flush();
      target.release_store();
    }
    const auto events = lines.next(kSome, Lines::Partial::at_a_pause);
    if (lines.broken()) return print_error(invocation, *lines.broken());
    if (events.empty()) return kDone;
    if (const int exit = append(invocation, target, events, id, batch); exit != kDone) return exit;
    progress.add(events.size());
  }
}

int append(const Invocation& invocation) {
  const Result<RequestId> id = RequestId::of(invocation, "batch");
  if (!id) return print_error(invocation, id.error());
  const auto target = open_target(invocation);
  if (invocation.words.size() == 1) return append_input(invocation, *target, *id);
  return append(invocation, *target, {invocation.words.begin() + 1, invocation.words.end()}, *id);
}

int read(const Invocation& invocation) {
  const std::string query = query_of(invocation, {"from", "limit", "order", "since"});
  const auto answer =
      open_target(invocation)
          ->call(request_for(invocation, "GET", path_to("logs", invocation.words[0]) + query));
  return print_answer(invocation, answer, [](api::Json page) {
    for (const api::Json event : page.at_key("events")) print_event(event);
  });
}

int trim(const Invocation& invocation) {
  const auto before = invocation.integer("before");
  if (!before) return print_error(invocation, before.error());
  if (!*before) return print_error(invocation, {ErrorCode::invalid, "it needs --before INDEX"});
  api::JsonObject body;
  body.integer("before", **before);
  return write_and_print(
      invocation,
      request_for(invocation, "POST", path_to("logs", invocation.words[0], "trim"), body.finish()));
}

int close(const Invocation& invocation) {
  api::JsonObject body;
  add_durations(body, invocation, {"ttl"});
  return write_and_print(
      invocation, request_for(invocation, "POST", path_to("logs", invocation.words[0], "close"),
                              body.finish()));
}

int remove(const Invocation& invocation) {
  const auto prefix = invocation.option("prefix");
  if (prefix.has_value() == !invocation.words.empty()) {
    return print_error(invocation, {ErrorCode::invalid, "it takes a STREAM, or --prefix TEXT"});
  }
  if (prefix) return remove_pages(invocation, "logs", "log", "logs");
  return write_and_print(invocation,
                         request_for(invocation, "DELETE", path_to("logs", invocation.words[0])),
                         {.repeat = remote::Repeat::never});
}

void print_logs(api::Json page) {
  Table table({"STREAM", "OLDEST", "NEXT", "STATE"});
  for (const api::Json log : page.at_key("logs")) {
    table.add({member(log, "stream"), member(log, "oldest"), member(log, "next"),
               member(log, "closed") == "true" ? "closed" : "open"});
  }
  table.print();
}

int list(const Invocation& invocation) { return list_pages(invocation, "logs", print_logs); }

constexpr std::array kAppendOptions = {Option{"batch"}, Option{"request"}, Option{"expect"},
                                       Option{"ttl"}, Option{"text", Option::Kind::flag}};
constexpr std::array kReadOptions = {Option{"from"}, Option{"limit"}, Option{"order"},
                                     Option{"since"}};
constexpr std::array kCloseOptions = {Option{"ttl"}};
constexpr std::array kRemoveOptions = {Option{"prefix"}, Option{"dry-run", Option::Kind::flag}};
constexpr std::array kListOptions = {Option{"prefix"}, Option{"limit"}};
constexpr std::array kFollowOptions = {Option{"from"}, Option{"limit"}, Option{"since"}};
constexpr std::array kTrimOptions = {Option{"before"}};

constexpr std::array kVerbs = {
    Verb{"append", 1, kAnyNumber, "a STREAM and any number of EVENTs", kAppendOptions, append},
    Verb{"read", 1, 1, "a STREAM", kReadOptions, read},
    Verb{"follow", 1, 1, "a STREAM", kFollowOptions, follow_log},
    Verb{"trim", 1, 1, "a STREAM", kTrimOptions, trim},
    Verb{"close", 1, 1, "a STREAM", kCloseOptions, close},
    Verb{"rm", 0, 1, "a STREAM", kRemoveOptions, remove},
    Verb{"list", 0, 0, "", kListOptions, list},
};

}  // namespace

const Command kCommand = {
    .name = "log",
    .summary = "Appends to a log without gaps, reads it and follows it",
    .help =
        R"help(Usage: once log append STREAM [EVENT...] [--batch ID] [--expect INDEX] [--ttl 7d] [--text]
       once log read STREAM [--from INDEX | --since TIME] [--limit 100] [--order asc|desc]
       once log follow STREAM [--from INDEX | --since TIME] [--limit N]
       once log trim STREAM --before INDEX
       once log close STREAM [--ttl 10m]
       once log rm STREAM | --prefix TEXT [--dry-run]
       once log list [--prefix TEXT] [--limit N]

append gives each EVENT, or each line of standard input, the next index; the first is 1, and none is
ever missing or given twice. An event that is JSON is stored as JSON, any other as a text; --text
stores all as text. Events given as words are adjacent; lines are too with --batch or --expect, up to
10,000, and otherwise go in as they come. A --batch is appended once, however often it is sent; it is
also called --request. Exit 70: they may be appended; repeat with the --request that is printed.
--expect is the index that the first event must get. --ttl trims in time.

follow prints what is there and then what comes, until it is stopped or --limit events were printed.
--since begins with the first event that was appended at that time or later: 2026-11-18T00:00:00Z.
trim forgets what is before INDEX. Nothing can be appended after close, and followers end; with --ttl
the log is gone after that time. rm removes a closed log, or with --prefix all closed ones whose names
begin so; the name begins at 1 again.

Example:
  once log append builds 'started' '{"commit":"4f2a"}' --batch build-17
  echo finished | once log append builds
  once log read builds --from 2
  once log follow builds --limit 3
  once log trim builds --before 2
  once log close builds --ttl 7d
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::log_command
