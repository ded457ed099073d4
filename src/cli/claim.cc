#include <algorithm>
#include <array>
#include <iostream>

#include "base/backoff.h"
#include "base/encoding.h"
#include "cli/answer.h"
#include "cli/outcome.h"
#include "cli/pages.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "wire/text.h"

namespace once::cli::claim_command {
namespace {

constexpr PauseBounds kPausesWhileBusy{
    .shortest = Duration(25), .first = Duration(50), .longest = Duration(1'000)};

Result<Duration> wait_of(const Invocation& invocation) {
  const auto text = invocation.option("wait");
  if (!text) return Duration::zero();
  const auto wait = api::parse_duration_or_seconds(*text);
  if (!wait) return failure(ErrorCode::invalid, "--wait is a duration such as 250ms, 30s or 5m");
  return *wait;
}

// A duplicate is refused: a script sees by the exit code whether it may act.
int taken(const Invocation& invocation, const Result<api::Response>& answer) {
  const int exit = print_answer(invocation, answer, print_members);
  return exit == kDone && answer->status == 200 ? kRefused : exit;
}

bool is_busy(const Result<api::Response>& answer) {
  return answer && answer->status == 409 && field_of(*answer, "code") == "busy";
}

// While the answer is `busy`, comes back until `wait` is over. The store is closed in between, so
// that the holder of the claim gets at it to complete.
Result<api::Response> take_within(Target& target, const api::Request& request,
                                  const WriteOptions& options, Duration wait) {
  Clock& clock = system_clock();
  const Deadline waited(clock, wait);
  Backoff backoff(kPausesWhileBusy, clock, system_entropy());
  for (;;) {
    Result<api::Response> answer = target.write(request, options);
    if (!is_busy(answer) || waited.over()) return answer;
    target.release_store();
    clock.sleep(std::min(backoff.next(), waited.left()));
  }
}

int take(const Invocation& invocation) {
  const Result<Duration> wait = wait_of(invocation);
  if (!wait) return print_error(invocation, wait.error());
  const Result<RequestId> id = RequestId::of(invocation);
  if (!id) return print_error(invocation, id.error());
  api::JsonObject body;
  add_texts(body, invocation, {"owner"});
  body.text("request", id->of_batch());
  add_durations(body, invocation, {"lease", "ttl"});
  add_texts(body, invocation, {"payload"});
  const auto target = open_target(invocation);
  Result<api::Response> answer = take_within(
      *target,
      request_for(invocation, "POST", path_to("claims", invocation.words[0]), body.finish()),
      {.id = id->of_batch()}, *wait);
  if (proceeds(invocation, answer)) answer = api::Response{201, {}, R"({"state":"unguarded"})"};
  return taken(invocation, answer);
}

// What the holder of a ticket does. The ticket is required by the API, too; here it is an option
// that can be named in the complaint.
int by_ticket(const Invocation& invocation, api::JsonObject& body) {
  if (!invocation.option("ticket")) {
    return print_error(invocation, {ErrorCode::invalid, "it needs the --ticket of the claim"});
  }
  add_texts(body, invocation, {"ticket"});
  return write_and_print(
      invocation,
      request_for(invocation, "POST", path_to("claims", invocation.words[0], invocation.verb->name),
                  body.finish()));
}

int renew(const Invocation& invocation) {
  api::JsonObject body;
  add_durations(body, invocation, {"lease"});
  return by_ticket(invocation, body);
}

int complete(const Invocation& invocation) {
  api::JsonObject body;
  if (const auto result = invocation.option("result")) body.raw("result", json_or_text(*result));
  return by_ticket(invocation, body);
}

// The filter of a bulk operation: the options that were given.
std::string bulk_body(const Invocation& invocation, const std::string& cursor) {
  api::JsonObject body;
  if (!invocation.words.empty()) body.text("key", invocation.words[0]);
  add_texts(body, invocation, {"prefix", "state"});
  if (const auto age = invocation.option("older-than")) body.raw("older_than", json_or_text(*age));
  if (invocation.flag("dry-run")) body.boolean("dry_run", true);
  if (!cursor.empty()) body.text("cursor", cursor);
  return body.finish();
}

// Step after step until there are no more, and then says how many.
int in_bulk(const Invocation& invocation, std::string_view action, std::string_view counted) {
  const auto target = open_target(invocation);
  std::int64_t count = 0;
  std::string cursor;
  Progress progress("claims", Progress::Output::at_the_end);
  do {
    const auto request =
        request_for(invocation, "POST", std::string("/v1/bulk/claims/").append(action),
                    bulk_body(invocation, cursor));
    const auto answer = target->write(request, {.repeat = remote::Repeat::never});
    if (!answer || answer->status >= 400) {
      if (count > 0) std::cerr << "once claim: " << count << " were " << counted << " before\n";
      return print_answer(invocation, answer, print_members);
    }
    const std::int64_t some = api::parse_integer(field_of(*answer, counted)).value_or(0);
    count += some;
    progress.add(static_cast<std::size_t>(some));
    cursor = field_of(*answer, "cursor");
  } while (!cursor.empty());
  api::JsonObject total;
  total.integer(counted, count);
  const api::Response answer{200, {}, total.finish()};
  const bool dry = invocation.flag("dry-run");
  const int exit = print_answer(invocation, answer, [&](api::Json) {
    std::cout << count << (count == 1 ? " claim" : " claims") << (dry ? " would be " : " ")
              << counted << '\n';
  });
  // A claim that was named, and is not there or not as it should be: that is told to a script.
  return exit == kDone && count == 0 && !invocation.words.empty() ? kRefused : exit;
}

bool names_many(const Invocation& invocation) {
  return invocation.option("prefix") || invocation.option("state") ||
         invocation.option("older-than");
}

int refuse_selection(const Invocation& invocation) {
  return print_error(
      invocation,
      {ErrorCode::invalid, "it needs a KEY, or --prefix, --state or --older-than, and not both"});
}

// Sent once: a repeat might forget what another has claimed since.
int forget(const Invocation& invocation) {
  if (names_many(invocation) == !invocation.words.empty()) return refuse_selection(invocation);
  if (invocation.words.empty() || invocation.flag("dry-run")) {
    return in_bulk(invocation, "forget", "forgotten");
  }
  return write_and_print(invocation,
                         request_for(invocation, "DELETE", path_to("claims", invocation.words[0])),
                         {.repeat = remote::Repeat::never});
}

int retry(const Invocation& invocation) {
  if (names_many(invocation) == !invocation.words.empty()) return refuse_selection(invocation);
  return in_bulk(invocation, "retry", "retried");
}

// Of the holder by its ticket, or of many by an operator, who has none.
int release(const Invocation& invocation) {
  const bool is_holders =
      invocation.option("ticket") || invocation.option("failure") || invocation.flag("final");
  if (names_many(invocation)) {
    if (is_holders || !invocation.words.empty()) {
      return print_error(invocation, {ErrorCode::invalid,
                                      "it needs a KEY and its --ticket, or --prefix, --state or "
                                      "--older-than, and not both"});
    }
    return in_bulk(invocation, "release", "released");
  }
  if (invocation.words.empty()) return refuse_selection(invocation);
  if (invocation.flag("dry-run")) {
    return print_error(invocation, {ErrorCode::invalid, "--dry-run is for many claims"});
  }
  api::JsonObject body;
  if (const auto failed = invocation.option("failure")) body.raw("failure", json_or_text(*failed));
  if (invocation.flag("final")) body.boolean("final", true);
  return by_ticket(invocation, body);
}

int show(const Invocation& invocation) {
  const auto answer =
      open_target(invocation)
          ->call(request_for(invocation, "GET", path_to("claims", invocation.words[0])));
  return print_answer(invocation, answer, [](api::Json record) {
    const std::string readable = readable_record(record);
    if (const Result<api::Json> parsed = api::parse_json(readable)) print_members(*parsed);
  });
}

void print_claims(api::Json page) {
  Table table({"KEY", "STATE", "OWNER", "FENCE", "ATTEMPT", "CLAIMED", "UNTIL"});
  for (const api::Json claim : page.at_key("claims")) {
    const std::string lease = member(claim, "lease_until");
    table.add({member(claim, "key"), member(claim, "state"), member(claim, "owner"),
               member(claim, "fence"), member(claim, "attempt"), member(claim, "claimed_at"),
               lease.empty() ? member(claim, "kept_until") : lease});
  }
  table.print();
}

int list(const Invocation& invocation) {
  return list_pages(invocation, "claims", print_claims, {"state", "owner", "prefix", "older-than"});
}

constexpr std::array kTakeOptions = {Option{"owner"}, Option{"request"}, Option{"lease"},
                                     Option{"ttl"},   Option{"payload"}, Option{"wait"}};
constexpr std::array kRenewOptions = {Option{"ticket"}, Option{"lease"}};
constexpr std::array kCompleteOptions = {Option{"ticket"}, Option{"result"}};
constexpr std::array kReleaseOptions = {
    Option{"ticket"}, Option{"failure"},    Option{"final", Option::Kind::flag},  Option{"prefix"},
    Option{"state"},  Option{"older-than"}, Option{"dry-run", Option::Kind::flag}};
constexpr std::array kBulkOptions = {Option{"prefix"}, Option{"state"}, Option{"older-than"},
                                     Option{"dry-run", Option::Kind::flag}};
constexpr std::array kListOptions = {Option{"state"}, Option{"owner"}, Option{"prefix"},
                                     Option{"older-than"}, Option{"limit"}};

constexpr std::array kVerbs = {
    Verb{"take", 1, 1, "a KEY", kTakeOptions, take},
    Verb{"renew", 1, 1, "a KEY", kRenewOptions, renew},
    Verb{"complete", 1, 1, "a KEY", kCompleteOptions, complete},
    Verb{"release", 0, 1, "a KEY", kReleaseOptions, release},
    Verb{"forget", 0, 1, "a KEY", kBulkOptions, forget},
    Verb{"retry", 0, 1, "a KEY", kBulkOptions, retry},
    Verb{"show", 1, 1, "a KEY", {}, show},
    Verb{"list", 0, 0, "", kListOptions, list},
};

}  // namespace

const Command kCommand = {
    .name = "claim",
    .summary = "Grants a key to one holder at a time and remembers what became of it",
    .help = R"help(Usage: once claim take KEY [--owner TEXT] [--lease 30s] [--ttl 24h] [--wait 0s]
                           [--payload TEXT] [--request ID]
       once claim renew KEY --ticket TICKET [--lease 30s]
       once claim complete KEY --ticket TICKET [--result JSON]
       once claim release KEY --ticket TICKET [--failure JSON] [--final]
       once claim release [--prefix P] [--state S] [--older-than 7d] [--dry-run]
       once claim forget KEY
       once claim forget [--prefix P] [--state S] [--older-than 7d] [--dry-run]
       once claim retry KEY
       once claim retry [--prefix P] [--state S] [--older-than 7d] [--dry-run]
       once claim show KEY
       once claim list [--state busy|abandoned|done|failed|free|corrupt] [--owner TEXT]
                       [--prefix P] [--older-than 1h] [--limit N]

take grants KEY until the lease ends and prints a ticket, with which its holder renews, completes or
releases. Exit 0: it is ours. 75: another holder has it; --wait comes back so long. 1: it is done
already, and its result is printed; or it was taken with another --payload. A result is kept for
--ttl after completion. An equal --request gets the same ticket again. 70: it may have been taken;
repeat it with the --request that is printed.

release frees the key for the next attempt, which is told the failure; --final records the failure as
the outcome. A ticket whose claim was taken over or forgotten is refused. A result or a failure that
is not JSON is a text. Without a KEY it frees all claims that match and are held or abandoned: their
holders are fenced, but what they do elsewhere goes on, so be sure that they are gone.

A claim is abandoned when its lease is over and nobody came. retry makes failed claims free, so that
they may be taken again; their failure is kept. --older-than counts from the end of the lease, the
completion or the failure. --dry-run only counts. retry KEY is refused (exit 1) if no such claim has
failed.

Example:
  once claim take invoice-42 --owner billing --lease 5m
  once claim list --state busy
  once claim list --state abandoned --older-than 1h
  once claim forget --prefix build/ --state abandoned --dry-run
  once claim retry --state failed
  once claim release --prefix build/ --state abandoned
  once claim forget invoice-42
  once claim complete invoice-43 --ticket "$(once claim take invoice-43 --field ticket)" --result ok
  once claim show invoice-43
  once claim release invoice-44 --ticket "$(once claim take invoice-44 --field ticket)"
  once claim renew invoice-45 --ticket "$(once claim take invoice-45 --field ticket)" --lease 1h
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::claim_command
