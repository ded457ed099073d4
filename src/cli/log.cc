#include <unistd.h>

#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/events.h"
#include "cli/input.h"
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

int append(const Invocation& invocation, Target& target, const std::vector<std::string>& events) {
  const auto expect = invocation.integer("expect");
  if (!expect) return print_error(invocation, expect.error());
  api::JsonObject body;
  body.raw("events", api::json_array(events, [&](const std::string& written) {
             return event_of(invocation, written);
           }));
  add_texts(body, invocation, {"batch", "ttl"});
  if (*expect) body.integer("expect", **expect);
  const auto answer = target.call(
      request_for(invocation, "POST", path_to("logs", invocation.words[0]), body.finish()));
  return print_answer(invocation, answer, [&](api::Json range) {
    const std::string first = member(range, "first");
    const std::string last = member(range, "last");
    std::cout << "appended " << first << (first == last ? "" : " to " + last)
              << (answer->status == 200 ? ", as before" : "") << '\n';
  });
}

// Lines that belong together are one batch, or none at all.
int append_input(const Invocation& invocation, Target& target) {
  const bool together = invocation.option("batch") || invocation.option("expect");
  const auto empty = invocation.flag("text") ? Lines::Empty::keep : Lines::Empty::pass_over;
  Lines lines(STDIN_FILENO, empty);
  if (together) {
    const auto events = lines.next(kAll, Lines::Partial::at_the_end);
    if (!lines.next(kSome, Lines::Partial::at_the_end).empty()) {
      return print_error(invocation, {ErrorCode::too_large, "too much for one batch"});
    }
    if (lines.broken()) return print_error(invocation, *lines.broken());
    return append(invocation, target, events);
  }
  Progress progress("events", Progress::Output::as_it_goes);
  for (;;) {
    if (!lines.ready()) {
      std::cout.flush();
      target.release_store();
    }
    const auto events = lines.next(kSome, Lines::Partial::at_a_pause);
    if (lines.broken()) return print_error(invocation, *lines.broken());
    if (events.empty()) return kDone;
    if (const int exit = append(invocation, target, events); exit != kDone) return exit;
    progress.add(events.size());
  }
}

int append(const Invocation& invocation) {
  const auto target = open_target(invocation);
  if (invocation.words.size() == 1) return append_input(invocation, *target);
  return append(invocation, *target, {invocation.words.begin() + 1, invocation.words.end()});
}

int read(const Invocation& invocation) {
  const std::string query = query_of(invocation, {"from", "limit", "order"});
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
  const auto answer =
      open_target(invocation)
          ->call(request_for(invocation, "POST", path_to("logs", invocation.words[0], "trim"),
                             body.finish()));
  return print_answer(invocation, answer, print_members);
}

constexpr std::array kAppendOptions = {Option{"batch"}, Option{"expect"}, Option{"ttl"},
                                       Option{"text", Option::Kind::flag}};
constexpr std::array kReadOptions = {Option{"from"}, Option{"limit"}, Option{"order"}};
constexpr std::array kFollowOptions = {Option{"from"}, Option{"limit"}};
constexpr std::array kTrimOptions = {Option{"before"}};

constexpr std::array kVerbs = {
    Verb{"append", 1, kAnyNumber, "a STREAM and any number of EVENTs", kAppendOptions, append},
    Verb{"read", 1, 1, "a STREAM", kReadOptions, read},
    Verb{"follow", 1, 1, "a STREAM", kFollowOptions, follow_log},
    Verb{"trim", 1, 1, "a STREAM", kTrimOptions, trim},
};

}  // namespace

const Command kCommand = {
    .name = "log",
    .summary = "Appends to a log without gaps, reads it and follows it",
    .help =
        R"help(Usage: once log append STREAM [EVENT...] [--batch ID] [--expect INDEX] [--ttl 7d] [--text]
       once log read STREAM [--from INDEX] [--limit 100] [--order asc|desc]
       once log follow STREAM [--from INDEX] [--limit N]
       once log trim STREAM --before INDEX

append gives each EVENT, or each line of standard input, the next index; the first is 1, and none is
ever missing or given twice. An event that is JSON is stored as JSON, any other as a text; --text
stores all as text. Events given as words are adjacent; lines are too with --batch or --expect, up to
10,000, and otherwise go in as they come. A --batch is appended once, however often it is sent.
--expect is the index that the first event must get. --ttl trims in time.

follow prints what is there and then what comes, until it is stopped or --limit events were printed.
trim forgets what is before INDEX.

Example:
  once log append builds 'started' '{"commit":"4f2a"}' --batch build-17
  echo finished | once log append builds
  once log read builds --from 2
  once log follow builds --limit 3
  once log trim builds --before 2
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::log_command
