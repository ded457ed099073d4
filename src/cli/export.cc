#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/item_lines.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "primitives/keys.h"

namespace once::cli {
namespace {

constexpr std::size_t kPage = 100;  // Items may be large.

class Exporter {
 public:
  explicit Exporter(Store& store) : store_(store) {}

  Result<void> walk(const std::string& prefix) {
    ListRequest request{.home_prefix = prefix, .limit = kPage};
    do {
      const Result<ListPage> page = store_.list(request);
      if (!page) return std::unexpected(page.error());
      for (const Listed& listed : page->items) std::cout << item_line(listed) << '\n';
      items_ += page->items.size();
      progress_.add(page->items.size());
      request.cursor = page->cursor;
    } while (!request.cursor.empty() && std::cout);
    return {};
  }
  std::uint64_t items() const { return items_; }

 private:
  Store& store_;
  Progress progress_{"items", Progress::Output::as_it_goes};
  std::uint64_t items_ = 0;
};

int run(const Invocation& invocation) {
  std::vector<std::string> prefixes = {""};
  if (const auto name_space = invocation.option("namespace")) {
    if (const auto ok = keys::check_namespace(*name_space); !ok) {
      return complain(invocation, ok.error());
    }
    prefixes = keys::prefixes(*name_space);
  }
  const auto target = open_target(invocation);
  const Result<Store*> store = target->store();
  if (!store) return complain(invocation, store.error());
  Exporter exporter(**store);
  std::cout << first_line() << '\n';
  for (const std::string& prefix : prefixes) {
    if (const auto ok = exporter.walk(prefix); !ok) return complain(invocation, ok.error());
  }
  std::cout << last_line(exporter.items()) << '\n';
  return kDone;
}

constexpr std::array kVerbs = {Verb{.run = run}};

}  // namespace

const Command kExport = {
    .name = "export",
    .summary = "Writes all that a store holds as lines of JSON",
    .help = R"help(Usage: once export [--namespace NAME]

Writes every item of the store, or of one namespace, as a line of JSON. 'once import' makes a store of
them that goes on where this one ended: results, fences, indexes and ETags stay as they are. Nothing
else should write to the store meanwhile; a directory is held so long, and a server that has it must be
stopped first.

Example:
  once export > backup.ndjson
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli
