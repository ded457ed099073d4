#include <algorithm>
#include <array>
#include <iostream>

#include "base/backoff.h"
#include "base/encoding.h"
#include "cli/answer.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "wire/text.h"

namespace once::cli::claim_command {
namespace {

constexpr std::int64_t kPage = 1'000;
constexpr PauseBounds kPausesWhileBusy{
    .shortest = Duration(25), .first = Duration(50), .longest = Duration(1'000)};

int write(const Invocation& invocation, const api::Request& request,
          remote::Repeat repeat = remote::Repeat::safe) {
  return print_answer(invocation, open_target(invocation)->write(request, {.repeat = repeat}),
                      print_members);
}

Result<Duration> wait_of(const Invocation& invocation) {
  const auto text = invocation.option("wait");
  if (!text) return Duration::zero();
  const auto wait = api::parse_duration(*text);
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
  add_texts(body, invocation, {"lease", "ttl", "payload"});
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
  return write(
      invocation,
      request_for(invocation, "POST", path_to("claims", invocation.words[0], invocation.verb->name),
                  body.finish()));
}

int renew(const Invocation& invocation) {
  api::JsonObject body;
  add_texts(body, invocation, {"lease"});
  return by_ticket(invocation, body);
}

int complete(const Invocation& invocation) {
  api::JsonObject body;
  if (const auto result = invocation.option("result")) body.raw("result", json_or_text(*result));
  return by_ticket(invocation, body);
}

int release(const Invocation& invocation) {
  api::JsonObject body;
  if (const auto failed = invocation.option("failure")) body.raw("failure", json_or_text(*failed));
  if (invocation.flag("final")) body.boolean("final", true);
  return by_ticket(invocation, body);
}

// Sent once: a repeat might forget what another has claimed since.
int forget(const Invocation& invocation) {
  return write(invocation,
               request_for(invocation, "DELETE", path_to("claims", invocation.words[0])),
               remote::Repeat::never);
}

int show(const Invocation& invocation) {
  const auto answer =
      open_target(invocation)
          ->call(request_for(invocation, "GET", path_to("claims", invocation.words[0])));
  return print_answer(invocation, answer, print_members);
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

std::int64_t count_claims(const api::Response& page) {
  const Result<api::Json> body = api::parse_json(page.body);
  simdjson::dom::array claims;
  if (!body || body->at_key("claims").get(claims) != simdjson::SUCCESS) return 0;
  return static_cast<std::int64_t>(claims.size());
}

// Page after page, until there are no more or as many as were asked for.
int list(const Invocation& invocation) {
  const auto limit = invocation.integer("limit");
  if (!limit) return print_error(invocation, limit.error());
  std::int64_t left = limit->value_or(std::numeric_limits<std::int64_t>::max());
  if (left < 1) return print_error(invocation, {ErrorCode::invalid, "--limit is at least 1"});
  const auto target = open_target(invocation);
  std::string cursor;
  do {
    std::string query = "/v1/claims?limit=" + std::to_string(std::min(left, kPage));
    if (const auto state = invocation.option("state")) {
      query += "&state=" + percent_encode(*state);
    }
    if (!cursor.empty()) query += "&cursor=" + cursor;
    const auto page = target->call(request_for(invocation, "GET", std::move(query)));
    if (const int exit = print_answer(invocation, page, print_claims); exit != kDone) return exit;
    left -= count_claims(*page);
    cursor = field_of(*page, "cursor");
  } while (left > 0 && !cursor.empty());
  return kDone;
}

constexpr std::array kTakeOptions = {Option{"owner"}, Option{"request"}, Option{"lease"},
                                     Option{"ttl"},   Option{"payload"}, Option{"wait"}};
constexpr std::array kRenewOptions = {Option{"ticket"}, Option{"lease"}};
constexpr std::array kCompleteOptions = {Option{"ticket"}, Option{"result"}};
constexpr std::array kReleaseOptions = {Option{"ticket"}, Option{"failure"},
                                        Option{"final", Option::Kind::flag}};
constexpr std::array kListOptions = {Option{"state"}, Option{"limit"}};

constexpr std::array kVerbs = {
    Verb{"take", 1, 1, "a KEY", kTakeOptions, take},
    Verb{"renew", 1, 1, "a KEY", kRenewOptions, renew},
    Verb{"complete", 1, 1, "a KEY", kCompleteOptions, complete},
    Verb{"release", 1, 1, "a KEY", kReleaseOptions, release},
    Verb{"forget", 1, 1, "a KEY", {}, forget},
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
       once claim forget KEY
       once claim show KEY
       once claim list [--state busy|done|failed|corrupt] [--limit N]

take grants KEY until the lease ends and prints a ticket, with which its holder renews, completes or
releases. Exit 0: it is ours. 75: another holder has it; --wait comes back so long. 1: it is done
already, and its result is printed; or it was taken with another --payload. A result is kept for
--ttl after completion. An equal --request gets the same ticket again. 70: it may have been taken;
repeat it with the --request that is printed.

release frees the key for the next attempt; --final records the failure as the outcome. A ticket whose
claim was taken over or forgotten is refused. A result or a failure that is not JSON is a text.

Example:
  once claim take invoice-42 --owner billing --lease 5m
  once claim list --state busy
  once claim forget invoice-42
  once claim complete invoice-43 --ticket "$(once claim take invoice-43 --field ticket)" --result ok
  once claim show invoice-43
  once claim release invoice-44 --ticket "$(once claim take invoice-44 --field ticket)"
  once claim renew invoice-45 --ticket "$(once claim take invoice-45 --field ticket)" --lease 1h
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::claim_command
