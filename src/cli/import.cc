#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/import_input.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "primitives/claim_record.h"
#include "primitives/keys.h"
#include "wire/text.h"

namespace once::cli::import_command {
namespace {

// What goes into one request; a line that is larger goes alone.
constexpr std::size_t kLines = 1'000;
constexpr std::size_t kBytes = 512U << 10;

class Importer {
 public:
  Importer(const Invocation& invocation, Target& target)
      : invocation_(invocation), target_(target), progress_("items", Progress::Output::at_the_end) {
    const auto name_space = invocation.option("namespace");
    if (name_space) prefixes_ = keys::prefixes(*name_space);
  }

  // Whether an export of that time may come in here; otherwise it was told why not.
  int check_time(Time exported) {
    const auto page = target_.call(request_for(invocation_, "GET", "/v1/items?limit=1"));
    if (!page) return print_error(invocation_, page.error());
    if (page->status != 200) return print_error(invocation_, *page);
    const auto now = api::parse_time(field_of(*page, "time"));
    // A clock that is behind by less gives no fence twice.
    if (now && *now + claims::kFenceMemory >= exported) return kDone;
    return print_error(invocation_, {ErrorCode::denied,
                                     "this store's clock is more than an hour behind that of the "
                                     "export, and fences would not rise"});
  }

  Result<void> add(const ItemLine& item, const std::string& line) {
    const bool wanted = std::ranges::any_of(
        prefixes_, [&](const std::string& prefix) { return item.home.starts_with(prefix); });
    if (!wanted) return {};
    if (count_ == kLines || (count_ > 0 && items_.size() + line.size() > kBytes)) {
      if (Result<void> ok = send(); !ok) return ok;
    }
    items_.append(count_ == 0 ? "" : ",").append(line);
    ++count_;
    return {};
  }

  // What was added since the last time.
  Result<void> send() {
    if (count_ == 0) return {};
    const auto answer = target_.write(
        request_for(invocation_, "POST", "/v1/items", R"({"items":[)" + items_ + "]}"));
    if (!answer) return std::unexpected(answer.error());
    const Result<api::Json> body = api::parse_json(answer->body);
    if (answer->status != 200 || !body) {
      problem_ = *answer;
      return failure(ErrorCode::unknown, "the store refused");
    }
    imported_ += number(*body, "imported");
    known_ += number(*body, "known");
    refused_ += number(*body, "refused");
    progress_.add(count_);
    items_.clear();
    count_ = 0;
    return {};
  }

  // An import that could not go on: what was imported before stays.
  int stopped(const Error& error) const {
    const int exit =
        problem_ ? print_error(invocation_, *problem_) : print_error(invocation_, error);
    std::cerr << "once import: it stopped after " << imported_
              << " items, which stay; repeat it to import the rest\n";
    return exit;
  }

  int report() const {
    if (invocation_.flag("json")) {
      print_line(api::JsonObject()
                     .integer("imported", imported_)
                     .integer("known", known_)
                     .integer("refused", refused_)
                     .finish());
    } else {
      std::cout << "imported " << imported_ << " items";
      if (known_ > 0) std::cout << ", " << known_ << " were there already";
      std::cout << '\n';
    }
    if (refused_ == 0) return kDone;
    return print_error(invocation_,
                       {ErrorCode::denied, std::to_string(refused_) +
                                               " items were not imported: others stand where they "
                                               "would"});
  }

 private:
  static std::int64_t number(api::Json body, std::string_view name) {
    std::int64_t value = 0;
    return body.at_key(name).get(value) == simdjson::SUCCESS ? value : 0;
  }

  const Invocation& invocation_;
  Target& target_;
  Progress progress_;
  std::vector<std::string> prefixes_ = {""};

  std::string items_;  // Of the next request.
  std::size_t count_ = 0;
  std::optional<api::Response> problem_;
  std::int64_t imported_ = 0;
  std::int64_t known_ = 0;
  std::int64_t refused_ = 0;
};

int run(const Invocation& invocation) {
  const auto name_space = invocation.option("namespace");
  if (const auto ok = keys::check_namespace(name_space.value_or("default")); !ok) {
    return print_error(invocation, ok.error());
  }
  ImportInput input(STDIN_FILENO);
  const Result<LastLine> last = input.check();
  if (!last) return print_error(invocation, last.error());
  const auto target = open_target(invocation);
  Importer importer(invocation, *target);
  if (const int exit = importer.check_time(last->time); exit != kDone) return exit;
  Result<void> ok = input.each(
      [&](const ItemLine& item, const std::string& line) { return importer.add(item, line); });
  if (ok) ok = importer.send();
  return ok ? importer.report() : importer.stopped(ok.error());
}

constexpr std::array kVerbs = {Verb{.run = run}};

}  // namespace

const Command kCommand = {
    .name = "import",
    .summary = "Reads into a store what an export wrote",
    .help = R"help(Usage: once import [--namespace NAME]

Reads on standard input what 'once export' wrote, all of it or the items of one namespace, into a
store that should be empty: what stands there already is left as it is, and exit is 1 if it is not the
same. Nothing is imported before all of the input was found whole and sound; a bad line is named by
its number. An import that was cut short is simply repeated.

Example:
  once export | once import --store ./copy
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::import_command
