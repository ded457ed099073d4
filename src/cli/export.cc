#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "cli/answer.h"
#include "cli/export_json.h"
#include "cli/invocation.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "once/open.h"
#include "wire/json.h"
#include "wire/text.h"

namespace once::cli::export_command {
namespace {

// A walk through the items of a store, and what it met, so that two walks can be compared. A page
// is no snapshot, but two walks that met the same items under the same versions are: each item was
// what it is at the moment between them, because no version is ever used again. What expired
// meanwhile is left out of the comparison, as it is absent either way.
class Walk {
 public:
  Walk(const Invocation& invocation, Target& target, Progress& progress);

  // All items, or those of the namespace that is named. `on_item` is given each as a line of JSON,
  // and its check. What could not be done is told, and its exit code is returned.
  using OnItem = std::function<void(const std::string& line, std::uint32_t check)>;
  int run(const OnItem& on_item);

  Time began() const { return began_; }  // By the store's clock.
  bool alone() const { return alone_; }  // No other process could write meanwhile.

  // Whether another walk, begun after this one, met the same.
  bool agrees_with(const Walk& later) const;

 private:
  struct Sum {
    std::uint64_t items = 0;
    std::uint64_t hashes = 0;
    friend bool operator==(const Sum&, const Sum&) = default;
  };

  int take(const api::Response& page, const OnItem& on_item);
  void note(const std::string& line, api::Json item);
  Sum after(std::int64_t minute) const;  // Of what expires later.

  const Invocation& invocation_;
  Target& target_;
  Progress& progress_;

  bool started_ = false;
  bool alone_ = false;
  Time began_;
  Time ended_;
  std::string cursor_;  // Empty at the end.

  std::map<std::int64_t, Sum> by_expiry_;  // By minutes since 1970, up to some days ahead.
};

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kNoExpiry = std::numeric_limits<std::int64_t>::max();
constexpr Duration kSoon = std::chrono::days(3);  // Longer than any walk.

std::int64_t minute_of(Time time) { return time.time_since_epoch().count() / kMinute; }

std::int64_t integer_of(api::Json item, std::string_view name, std::int64_t absent) {
  std::int64_t value = 0;
  return item.at_key(name).get(value) == simdjson::SUCCESS ? value : absent;
}

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

int export_from(const Invocation& invocation, Target& target) {
  Progress progress("items", Progress::Output::as_it_goes);
  LastLine last;
  Walk walk(invocation, target, progress);
  const auto print = [&](const std::string& line, std::uint32_t check) {
    // Not before there is something to print: what cannot be read leaves no beginning behind.
    if (last.items++ == 0) std::cout << first_line() << '\n';
    last.check += check;
    std::cout << line << '\n';
  };
  if (const int exit = walk.run(print); exit != kDone) return exit;
  last.as_found = !walk.alone() && invocation.flag("as-found");
  if (!walk.alone() && !last.as_found) {
    Walk again(invocation, target, progress);
    const int exit = again.run([](const std::string&, std::uint32_t) {});
    if (exit != kDone) return exit;
    if (!walk.agrees_with(again)) {
      std::cerr << "once export: the store was written to meanwhile, and what was printed is no "
                   "whole export; try again when nobody writes, or with --as-found\n";
      return kBusy;
    }
  }
  if (last.items == 0) std::cout << first_line() << '\n';
  last.time = walk.began();
  std::cout << last_line(last) << '\n';
  return kDone;
}

// Closes the new file to other users of the machine that the shell has opened for `once export >
// FILE`: an export has results, stored answers with their cookies, and hashes of tokens.
void close_to_others(int output) {
  struct stat found{};
  if (::fstat(output, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size != 0) return;
  if (found.st_uid != ::geteuid() || ::fchmod(output, S_IRUSR | S_IWUSR) == 0) return;
  std::cerr << "once export: other users may be able to read the file\n";
}

// Where a server writes to a directory of this machine, a copy of it as it is at one moment, which
// the server makes. Nothing if it is another store, or if this caller may not have a copy.
std::optional<std::filesystem::path> make_copy(const Invocation& invocation, Target& target) {
  const Result<std::string> address = named_store(invocation);
  if (!address || !directory_of(*address)) return std::nullopt;
  const Result<client::HttpClient*> server = target.server();
  if (!server || *server == nullptr) return std::nullopt;
  const auto made = target.call(request_for(invocation, "POST", "/v1/checkpoints"));
  if (!made || made->status / 100 != 2) return std::nullopt;
  const Result<api::Json> body = api::parse_json(made->body);
  if (!body) return std::nullopt;
  std::filesystem::path copy = member(*body, "directory");
  if (::access(copy.c_str(), R_OK | W_OK | X_OK) != 0) return std::nullopt;
  return copy;
}

int run(const Invocation& invocation) {
  close_to_others(STDOUT_FILENO);
  const auto target = open_target(invocation);
  const std::optional<std::filesystem::path> copy = make_copy(invocation, *target);
  if (!copy) return export_from(invocation, *target);
  Invocation of_copy = invocation;
  of_copy.options["store"] = copy->string();
  const int exit = export_from(of_copy, *open_target(of_copy));
  std::error_code error;
  std::filesystem::remove_all(*copy, error);
  if (error) std::cerr << "once export: remove this by hand: " << copy->string() << '\n';
  return exit;
}

constexpr std::array kOptions = {Option{"as-found", Option::Kind::flag}};
constexpr std::array kVerbs = {Verb{.options = kOptions, .run = run}};

}  // namespace

const Command kCommand = {
    .name = "export",
    .summary = "Writes all that a store holds as lines of JSON",
    .help = R"help(Usage: once export [--namespace NAME] [--as-found]

Writes every item of the store, or of one namespace, as a line of JSON. 'once import' makes a store
of them that continues where this one ended: results, fences, indexes and ETags stay the same. The
last line shows that the export is complete.

An export is the store at one moment, also while others write to a directory of this machine: its
server makes a copy, which is read and removed (see 'once help checkpoint'). A directory without a
server is locked meanwhile. Through a server elsewhere and on a shared store the items are read a
second time. If something was written in between, the exit is 75 and the last line is missing, so
that no import takes it.

--as-found does not read a second time. Each item is then whole and as it was at some moment of the
export, but items that were written together may be of different moments: a log may lack a batch that
a result speaks of. The last line says so, and an import takes it only with --as-found, too.

A new file that the output goes to (once export > FILE) is made readable for its owner only.

Example:
  once export > backup.ndjson
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::export_command
