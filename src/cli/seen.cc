#include <unistd.h>

#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/input.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"

namespace once::cli::seen_command {
namespace {

// What the API takes in one request, ids and bytes.
constexpr Lines::Room kRoom = {.lines = 10'000, .bytes = 400U << 10};

std::string all_first(std::size_t count) {
  std::string body = R"({"first":[)";
  for (std::size_t i = 0; i < count; ++i) body += i == 0 ? "true" : ",true";
  return body += "]}";
}

class Seen {
 public:
  Seen(const Invocation& invocation, RequestId id)
      : invocation_(invocation), id_(std::move(id)), target_(open_target(invocation)) {}

  // False once something failed.
  bool ask(const std::vector<std::string>& ids) {
    const std::string id = id_.of_batch(++batches_);
    const std::string what =
        batches_ == 1 ? "it" : "the last " + std::to_string(ids.size()) + " ids";
    Result<api::Response> answer = target_->write(request(ids, id), {.id = id, .what = what});
    if (proceeds(invocation_, answer)) answer = api::Response{200, {}, all_first(ids.size())};
    const int exit = print_answer(invocation_, answer, [&](api::Json body) { print(ids, body); });
    if (exit != kDone) exit_ = exit;
    if (exit == kDone && answer->body.find("false") != std::string::npos) exit_ = kRefused;
    return exit == kDone;
  }

  void release_store() {
    std::cout.flush();
    target_->release_store();
  }
  int exit() const { return exit_; }

 private:
  // Each batch is a request of its own, since an id that comes again in a later one is not first.
  api::Request request(const std::vector<std::string>& ids, const std::string& id) const {
    api::JsonObject body;
    body.raw("ids", api::json_array(ids, api::json_text));
    add_durations(body, invocation_, {"ttl"});
    body.text("request", id);
    return request_for(invocation_, "POST", "/v1/seen", body.finish());
  }

  static void print(const std::vector<std::string>& ids, api::Json body) {
    std::size_t i = 0;
    for (const api::Json first : body.at_key("first")) {
      const bool is_first = bool(first);
      std::cout << coloured(colour_of(is_first ? "first" : "seen"),
                            is_first ? "first  " : "seen   ")
                << shown(ids[i++]) << '\n';
    }
  }

  const Invocation& invocation_;
  const RequestId id_;
  std::unique_ptr<Target> target_;
  std::size_t batches_ = 0;
  int exit_ = kDone;
};

// With a request id of the caller's, batches depend on the input alone, so that a repeat asks the
// same.
int from_input(const Invocation& invocation, Seen& seen, Lines::Partial partial) {
  Lines lines(STDIN_FILENO);
  Progress progress("ids", Progress::Output::as_it_goes);
  for (;;) {
    if (!lines.ready()) seen.release_store();
    const std::vector<std::string> ids = lines.next(kRoom, partial);
    if (lines.broken()) return print_error(invocation, *lines.broken());
    if (ids.empty() || !seen.ask(ids)) return seen.exit();
    progress.add(ids.size());
  }
}

// What --show and --forget do with one id.
int about_one(const Invocation& invocation, std::string_view method, const std::string& id) {
  const auto request = request_for(invocation, std::string(method), path_to("seen", id));
  const auto target = open_target(invocation);
  const auto answer = method == "GET" ? target->call(request)
                                      : target->write(request, {.repeat = remote::Repeat::never});
  return print_answer(invocation, answer, print_members);
}

int run(const Invocation& invocation) {
  const auto shown_id = invocation.option("show");
  const auto forgotten_id = invocation.option("forget");
  if (shown_id || forgotten_id) {
    const bool alone = invocation.words.empty() && !(shown_id && forgotten_id) &&
                       !invocation.option("ttl") && !invocation.option("request");
    if (!alone) {
      return print_error(invocation,
                         {ErrorCode::invalid, "--show ID and --forget ID are used alone"});
    }
    return shown_id ? about_one(invocation, "GET", *shown_id)
                    : about_one(invocation, "DELETE", *forgotten_id);
  }
  const Result<RequestId> id = RequestId::of(invocation);
  if (!id) return print_error(invocation, id.error());
  Seen seen(invocation, *id);
  if (invocation.words.empty()) {
    return from_input(invocation, seen,
                      id->is_given() ? Lines::Partial::at_the_end : Lines::Partial::at_a_pause);
  }
  seen.ask(invocation.words);
  return seen.exit();
}

constexpr std::array kOptions = {Option{"ttl"}, Option{"request"}, Option{"show"},
                                 Option{"forget"}};
constexpr std::array kVerbs = {Verb{"", 0, kAnyNumber, "any number of IDs", kOptions, run}};

}  // namespace

const Command kCommand = {
    .name = "seen",
    .summary = "Marks ids as seen, and tells which of them are new",
    .help = R"help(Usage: once seen [ID...] [--ttl 24h] [--request ID]
       once seen --show ID
       once seen --forget ID

Marks each ID, or each line of standard input, as seen for --ttl, and prints "first" or "seen" and the
id. Exit 0: all are first. 1: some are not. A repeat with an equal --request is answered as the first
time, so that a lost answer loses no id. 70: they may be marked; repeat it with the --request that is
printed.

--show prints when an id was seen first, and until when that is known; --forget makes it unseen.
Exit 1: it was not seen. Seen ids and claims know nothing of each other.

Example:
  once seen order-1 order-2 --ttl 7d
  printf 'order-3\norder-4\n' | once seen
  once seen --show order-1
  once seen --forget order-2
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::seen_command
