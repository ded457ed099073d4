#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/item_lines.h"
#include "cli/lines.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "primitives/keys.h"

namespace once::cli {
namespace {

constexpr Lines::Room kRoom = {.lines = 1'000, .bytes = 16U << 20};

// Puts each item where nothing stands yet, under the version it had. Importing again changes
// nothing, so that one that was cut short is simply repeated.
class Importer {
 public:
  Importer(Store& store, std::vector<std::string> prefixes)
      : store_(store), prefixes_(std::move(prefixes)) {}

  // `invalid` for what is no export, and for one that does not end.
  Result<void> take(const std::vector<std::string>& lines) {
    std::vector<Write> writes;
    for (const std::string& line : lines) {
      ++line_;
      Result<ExportLine> parsed = parse_export_line(line);
      Result<void> ok =
          parsed ? take(std::move(*parsed), writes) : Result<void>(std::unexpected(parsed.error()));
      if (!ok) {
        return failure(ok.error().code,
                       "line " + std::to_string(line_) + ": " + ok.error().message);
      }
    }
    return commit(writes);
  }
  Result<void> finish() const {
    if (ended_) return {};
    return failure(ErrorCode::invalid, "the export is not complete: its last line is missing");
  }

  std::uint64_t imported() const { return imported_; }
  std::uint64_t known() const { return known_; }
  std::uint64_t others() const { return others_; }

 private:
  Result<void> take(ExportLine line, std::vector<Write>& writes) {
    const bool is_first = std::holds_alternative<FirstLine>(line);
    if (is_first != (line_ == 1)) return failure(ErrorCode::invalid, "this is no export of once");
    if (ended_) return failure(ErrorCode::invalid, "more after the last line");
    if (const auto* last = std::get_if<LastLine>(&line)) {
      ended_ = true;
      if (last->items == items_) return {};
      return failure(ErrorCode::invalid, "the export had " + std::to_string(last->items) +
                                             " items, not " + std::to_string(items_));
    }
    if (auto* listed = std::get_if<Listed>(&line)) {
      ++items_;
      if (is_wanted(listed->key)) writes.push_back(write_of(std::move(*listed)));
    }
    return {};
  }

  bool is_wanted(const Key& key) const {
    return std::ranges::any_of(prefixes_, [&](const std::string& prefix) {
      return key.partition.home.starts_with(prefix);
    });
  }

  static Write write_of(Listed listed) {
    Write write =
        put(std::move(listed.key), std::move(listed.item.value), absent(), listed.item.expiry);
    write.version = listed.item.version;
    return write;
  }

  Result<void> commit(const std::vector<Write>& writes) {
    std::vector<Transaction> group;
    for (const Write& write : writes) group.emplace_back(&write, 1);
    const auto outcomes = store_.commit_each(group);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i]) return std::unexpected(outcomes[i].error());
      const auto* lost = std::get_if<Lost>(&*outcomes[i]);
      if (lost == nullptr) {
        ++imported_;
      } else {
        const bool same = lost->standing && lost->standing->version == writes[i].version;
        ++(same ? known_ : others_);
      }
    }
    return {};
  }

  Store& store_;
  const std::vector<std::string> prefixes_;
  std::uint64_t line_ = 0;
  std::uint64_t items_ = 0;
  bool ended_ = false;
  std::uint64_t imported_ = 0;
  std::uint64_t known_ = 0;
  std::uint64_t others_ = 0;
};

int report(const Invocation& invocation, const Importer& importer) {
  if (invocation.flag("json")) {
    print_line(api::JsonObject()
                   .integer("imported", static_cast<std::int64_t>(importer.imported()))
                   .integer("known", static_cast<std::int64_t>(importer.known()))
                   .integer("refused", static_cast<std::int64_t>(importer.others()))
                   .finish());
  } else {
    std::cout << "imported " << importer.imported() << " items";
    if (importer.known() > 0) std::cout << ", " << importer.known() << " were there already";
    std::cout << '\n';
  }
  if (importer.others() == 0) return kDone;
  return complain(invocation, {ErrorCode::denied, std::to_string(importer.others()) +
                                                      " items were not imported: others stand "
                                                      "where they would"});
}

int run(const Invocation& invocation) {
  const auto name_space = invocation.option("namespace");
  if (const auto ok = keys::check_namespace(name_space.value_or("default")); !ok) {
    return complain(invocation, ok.error());
  }
  const auto target = open_target(invocation);
  const Result<Store*> store = target->store();
  if (!store) return complain(invocation, store.error());
  Importer importer(**store,
                    name_space ? keys::prefixes(*name_space) : std::vector<std::string>{""});
  Lines lines(STDIN_FILENO);
  Progress progress("items", Progress::Output::at_the_end);
  for (;;) {
    const auto batch = lines.next(kRoom, Lines::Partial::at_the_end);
    if (batch.empty()) break;
    if (const auto ok = importer.take(batch); !ok) return complain(invocation, ok.error());
    progress.add(batch.size());
  }
  if (const auto ok = importer.finish(); !ok) return complain(invocation, ok.error());
  return report(invocation, importer);
}

constexpr std::array kVerbs = {Verb{.run = run}};

}  // namespace

const Command kImport = {
    .name = "import",
    .summary = "Reads into a store what an export wrote",
    .help = R"help(Usage: once import [--namespace NAME]

Reads on standard input what 'once export' wrote, all of it or the items of one namespace, into a
store that should be empty: what stands there already is left as it is, and exit is 1 if it is not the
same. An import that was cut short is simply repeated.

Example:
  once export | once import --store ./copy
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli
