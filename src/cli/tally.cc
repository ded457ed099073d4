#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/input.h"
#include "cli/pages.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"

namespace once::cli::tally_command {
namespace {

constexpr Lines::Room kRoom = {.lines = 1'000, .bytes = 256U << 10};

void print_top(api::Json items) {
  Table table({"ITEM", "COUNT", "ERROR"});
  for (const api::Json item : simdjson::dom::array(items)) {
    table.add({member(item, "item"), member(item, "count"), member(item, "error")});
  }
  table.print();
}

// The value alone: the caller knows what it counts.
void print_tally(api::Json tally) {
  api::Json value;
  if (tally.at_key("value").get(value) != simdjson::SUCCESS) return;
  value.is_array() ? print_top(value) : void(std::cout << shown(value) << '\n');
}

// A number as JSON has it. `invalid` for anything else.
Result<std::string> number_of(const std::string& written) {
  const Result<api::Json> json = api::parse_json(written);
  if (json && json->is_number()) return api::to_line(*json);
  return failure(ErrorCode::invalid, "'" + written + "' is not a number");
}

Result<void> add_numbers(api::JsonObject& body, const Invocation& invocation,
                         std::initializer_list<std::string_view> options) {
  for (const std::string_view name : options) {
    const auto written = invocation.option(name);
    if (!written) continue;
    const Result<std::string> number = number_of(*written);
    if (!number) return std::unexpected(number.error());
    body.raw(name, *number);
  }
  return {};
}

// Whether merging the same again changes nothing: the largest stays the largest. Without --at a
// repeat may fall into a later window, where it does.
bool is_idempotent(const Invocation& invocation) {
  constexpr std::array<std::string_view, 4> kIdempotent = {"max", "min", "distinct", "bloom"};
  return std::ranges::find(kIdempotent, invocation.verb->name) != kIdempotent.end() &&
         (!invocation.option("window") || invocation.option("at"));
}

// Only what would count twice needs an id of its own.
int merge(const Invocation& invocation, Target& target, api::JsonObject& body, const RequestId& id,
          std::size_t batch = 1, const std::string& what = "it") {
  add_texts(body, invocation, {"at"});
  add_durations(body, invocation, {"window", "ttl"});
  const auto id_ttl = invocation.option("id-ttl");
  if (id_ttl && id.is_given()) body.raw("id_ttl", json_or_text(*id_ttl));
  const auto request_with = [&](const std::string& members) {
    return request_for(invocation, "POST", path_to("tallies", invocation.words[0]), members);
  };
  const std::string plain = body.finish();
  WriteOptions options;
  std::string known = plain;
  if (id.is_given() || !is_idempotent(invocation)) {
    options = {.id = id.of_batch(batch), .what = what};
    known.back() = ',';
    known.append(R"("id":)").append(api::json_text(options.id)).append("}");
    if (!id.is_given()) options.without_id = request_with(plain);
  }
  return print_answer(invocation, target.write(request_with(known), options), print_tally);
}

int merge_number(const Invocation& invocation, std::string_view kind, std::string_view field,
                 const std::string& written) {
  const Result<std::string> number = number_of(written);
  if (!number) return print_error(invocation, number.error());
  const Result<RequestId> id = RequestId::of(invocation, "id");
  if (!id) return print_error(invocation, id.error());
  api::JsonObject body;
  body.text("kind", kind).raw(field, *number);
  return merge(invocation, *open_target(invocation), body, *id);
}

int add(const Invocation& invocation) {
  const std::string& amount = invocation.words[1];
  const bool is_real = amount.find_first_of(".eE") != std::string::npos;
  const bool real = is_real || invocation.flag("real");
  return merge_number(invocation, real ? "real" : "sum", "add", amount);
}

int count(const Invocation& invocation) {
  const bool once = invocation.words.size() == 1;
  return merge_number(invocation, "count", "add", once ? "1" : invocation.words[1]);
}

int extreme(const Invocation& invocation) {
  return merge_number(invocation, invocation.verb->name, "value", invocation.words[1]);
}

// Items of a sketch, as one call. An id is for one call, so that of a later batch is another.
int merge_items(const Invocation& invocation, Target& target, const std::vector<std::string>& items,
                const RequestId& id, std::size_t batch) {
  const auto times = invocation.integer("count");
  if (!times) return print_error(invocation, times.error());
  api::JsonObject body;
  body.text("kind", invocation.verb->name);
  body.raw("items", api::json_array(items, [&](const std::string& item) {
             if (!*times) return api::json_text(item);
             return api::JsonObject().text("item", item).integer("count", **times).finish();
           }));
  const Result<void> ok =
      add_numbers(body, invocation, {"precision", "counters", "capacity", "rate"});
  if (!ok) return print_error(invocation, ok.error());
  const std::string what =
      batch == 1 ? "it" : "the last " + std::to_string(items.size()) + " items";
  return merge(invocation, target, body, id, batch, what);
}

int sketch(const Invocation& invocation) {
  const Result<RequestId> id = RequestId::of(invocation, "id");
  if (!id) return print_error(invocation, id.error());
  const auto target = open_target(invocation);
  const auto& words = invocation.words;
  if (words.size() > 1) {
    return merge_items(invocation, *target, {words.begin() + 1, words.end()}, *id, 1);
  }
  Lines lines(STDIN_FILENO);
  Progress progress("items", Progress::Output::as_it_goes);
  const auto partial = id->is_given() ? Lines::Partial::at_the_end : Lines::Partial::at_a_pause;
  for (std::size_t batch = 1;; ++batch) {
    if (!lines.ready()) target->release_store();
    const auto items = lines.next(kRoom, partial);
    if (lines.broken()) return print_error(invocation, *lines.broken());
    if (items.empty()) return kDone;
    const int exit = merge_items(invocation, *target, items, *id, batch);
    if (exit != kDone) return exit;
    progress.add(items.size());
  }
}

void print_tallies(const std::vector<std::string>& keys, api::Json body) {
  Table table({"KEY", "KIND", "VALUE"});
  std::size_t i = 0;
  for (const api::Json tally : body.at_key("values")) {
    const bool absent = tally.is_null();
    table.add({shown(keys[i++]), absent ? "-" : member(tally, "kind"),
               absent ? "-" : member(tally, "value")});
  }
  table.print();
}

void print_series(api::Json body) {
  Table table({"AT", "VALUE"});
  for (const api::Json row : body.at_key("series")) {
    table.add({member(row, "at"), member(row, "value")});
  }
  table.print();
}

void print_listed(api::Json page) {
  Table table({"KEY", "KIND", "WINDOW"});
  for (const api::Json tally : page.at_key("tallies")) {
    table.add({member(tally, "key"), member(tally, "kind"), member(tally, "window")});
  }
  table.print();
}

int list(const Invocation& invocation) { return list_pages(invocation, "tallies", print_listed); }

// Sent once: a repeat might remove what another has begun since.
int remove(const Invocation& invocation) {
  if (invocation.words.empty()) {
    if (invocation.option("prefix")) {
      return remove_pages(invocation, "tallies", "tally", "tallies");
    }
    return print_error(invocation, {ErrorCode::invalid, "it takes a KEY, or --prefix P"});
  }
  if (invocation.option("prefix") || invocation.flag("dry-run")) {
    return print_error(invocation, {ErrorCode::invalid, "--prefix is without a KEY"});
  }
  return write_and_print(invocation,
                         request_for(invocation, "DELETE", path_to("tallies", invocation.words[0])),
                         {.repeat = remote::Repeat::never});
}

int read(const Invocation& invocation) {
  const auto& keys = invocation.words;
  const auto target = open_target(invocation);
  if (keys.size() == 1) {
    std::string query = query_of(invocation, {"from", "to", "last", "item", "limit"});
    if (invocation.flag("series")) {
      query.append(query.empty() ? "?" : "&").append("series=true");
      return print_answer(
          invocation,
          target->call(request_for(invocation, "GET", path_to("tallies", keys[0]) + query)),
          print_series);
    }
    return print_answer(
        invocation,
        target->call(request_for(invocation, "GET", path_to("tallies", keys[0]) + query)),
        print_tally);
  }
  if (invocation.option("item") || invocation.option("limit") || invocation.flag("series")) {
    return print_error(invocation,
                       {ErrorCode::invalid, "--item, --limit and --series are for one KEY"});
  }
  api::JsonObject body;
  body.raw("keys", api::json_array(keys, api::json_text));
  add_texts(body, invocation, {"from", "to"});
  add_durations(body, invocation, {"last"});
  return print_answer(
      invocation, target->call(request_for(invocation, "POST", "/v1/tallies/read", body.finish())),
      [&](api::Json answer) { print_tallies(keys, answer); });
}

constexpr std::array kNumberOptions = {Option{"id"}, Option{"request"}, Option{"id-ttl"},
                                       Option{"at"}, Option{"window"},  Option{"ttl"}};
constexpr std::array kAddOptions = {Option{"id"},
                                    Option{"request"},
                                    Option{"id-ttl"},
                                    Option{"at"},
                                    Option{"window"},
                                    Option{"ttl"},
                                    Option{"real", Option::Kind::flag}};
constexpr std::array kDistinctOptions = {Option{"id"},       Option{"request"}, Option{"id-ttl"},
                                         Option{"at"},       Option{"window"},  Option{"ttl"},
                                         Option{"precision"}};
constexpr std::array kTopOptions = {Option{"id"},       Option{"request"}, Option{"id-ttl"},
                                    Option{"at"},       Option{"window"},  Option{"ttl"},
                                    Option{"counters"}, Option{"count"}};
constexpr std::array kBloomOptions = {Option{"id"},       Option{"request"}, Option{"id-ttl"},
                                      Option{"at"},       Option{"window"},  Option{"ttl"},
                                      Option{"capacity"}, Option{"rate"}};
constexpr std::array kReadOptions = {Option{"from"},  Option{"to"},
                                     Option{"last"},  Option{"item"},
                                     Option{"limit"}, Option{"series", Option::Kind::flag}};
constexpr std::array kRemoveOptions = {Option{"prefix"}, Option{"dry-run", Option::Kind::flag}};
constexpr std::array kListOptions = {Option{"prefix"}, Option{"limit"}};

constexpr std::string_view kItems = "a KEY and any number of ITEMs";

constexpr std::array kVerbs = {
    Verb{"add", 2, 2, "a KEY and an AMOUNT", kAddOptions, add},
    Verb{"count", 1, 2, "a KEY and how many", kNumberOptions, count},
    Verb{"max", 2, 2, "a KEY and a VALUE", kNumberOptions, extreme},
    Verb{"min", 2, 2, "a KEY and a VALUE", kNumberOptions, extreme},
    Verb{"distinct", 1, kAnyNumber, kItems, kDistinctOptions, sketch},
    Verb{"top", 1, kAnyNumber, kItems, kTopOptions, sketch},
    Verb{"bloom", 1, kAnyNumber, kItems, kBloomOptions, sketch},
    Verb{"read", 1, kAnyNumber, "KEYs", kReadOptions, read},
    Verb{"rm", 0, 1, "a KEY", kRemoveOptions, remove},
    Verb{"list", 0, 0, "", kListOptions, list},
};

}  // namespace

const Command kCommand = {
    .name = "tally",
    .summary = "Keeps sums, extremes, distinct counts, heavy hitters and bloom filters",
    .help = R"help(Usage: once tally add KEY AMOUNT [--real]
       once tally count KEY [N]
       once tally max|min KEY VALUE
       once tally distinct KEY [ITEM...] [--precision 14]
       once tally top KEY [ITEM...] [--count N] [--counters 1000]
       once tally bloom KEY [ITEM...] [--capacity 10000] [--rate 0.01]
       once tally read KEY... [--from TIME] [--to TIME] [--last 7d] [--item ITEM]
       once tally read KEY --series [--last 7d] [--limit N]
       once tally rm KEY, or rm --prefix P [--dry-run]
       once tally list [--prefix P] [--limit N]

Each merges into the tally of that KEY and prints its value; all but the last four also take
  --id ID        counted once, however often it is sent; also called --request
  --id-ttl 24h   how long the id is known, with --id
  --window W     minute, hour, day, or a time such as 15m or 7d: a bucket of its own for each
  --at TIME      the time that it counts for, now if it is not given
  --ttl 30d      how long it is kept

An AMOUNT with a fraction makes a tally of kind real, as does --real. Items are words, or the lines of
standard input; --count counts each so many times. read prints the value, of the whole or of the
windows that start in [--from, --to), or that reach into the --last 7d; of several KEYs a line each,
with --series a line for each window. --limit prints so many of a top. rm removes a tally, with its
ids and its kind; list shows all tallies. With --item a bloom filter tells whether it has seen it:
true may be wrong as often as --rate says, false never is.

Exit 70: it may have been counted; repeat it with the --request that is printed.

Example:
  once tally add revenue 1900 --id invoice-42
  once tally count visits --window day
  once tally max slowest-ms 412
  once tally distinct visitors alice bob alice
  once tally top pages /home /about /home
  once tally bloom known alice bob
  once tally read known --item alice
  once tally read revenue visits slowest-ms
  once tally read visits --last 7d --series
  once tally list
  once tally rm slowest-ms
  once tally rm --prefix tmp/
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::tally_command
