// docs/stores.md has a table of what each operation costs on stores that are servers; its cells are
// measured here. With ONCE_REWRITE_DOCS=1 the cells of the chosen store are written there instead
// of compared.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "once/blocking_driver.h"
#include "once/effects.h"
#include "once/local.h"
#include "testing/conformance/store_conformance.h"
#include "testing/manual_clock.h"
#include "testing/servers/needs.h"
#include "testing/stores/chosen_store.h"

namespace once::testing {
namespace {

constexpr const char* kDocument = ONCE_SOURCE_DIR "/docs/stores.md";
constexpr std::string_view kBegin = "<!-- costs -->\n";
constexpr std::string_view kEnd = "<!-- end of costs -->\n";

// The columns of a store, and the kind of unit that each shows.
struct Columns {
  std::string_view store;
  std::size_t first;
  std::vector<std::string_view> kinds;
};
const std::array<Columns, 4>& all_columns() {
  static const std::array<Columns, 4> all = {{{"dynamodb", 1, {"request", "write", "read"}},
                                              {"redis", 4, {"request"}},
                                              {"postgres", 5, {"request", "row"}},
                                              {"s3", 7, {"get", "put", "list"}}}};
  return all;
}
constexpr std::size_t kColumns = 11;  // The operation, those above, and what others pay.

using Cells = std::vector<std::string>;

std::string text_of(double amount) {
  if (amount == 0) return "";
  std::ostringstream out;
  out << amount;
  return out.str();
}

// What was used since the last time, without what the store does by itself.
class Spent {
 public:
  Spent(Store& store, const Columns& columns) : store_(store), columns_(columns) { (void)since(); }

  Cells since() {
    Cells cells;
    for (const std::string_view kind : columns_.kinds) {
      double now = 0;
      for (const StoreUnit& unit : store_.units()) {
        if (unit.kind == kind && unit.operation != StoreOperation::other) now += unit.amount;
      }
      cells.push_back(text_of(now - before_[kind]));
      before_[kind] = now;
    }
    return cells;
  }

 private:
  Store& store_;
  const Columns& columns_;
  std::map<std::string_view, double> before_;
};

using Row = std::pair<std::string, Cells>;

// Runs each operation, new and duplicate, as a process does that has used claim, log and tally
// before: it knows the secret of tickets, the log's end and what the tally is.
class Operations {
 public:
  Operations(Store& store, const Columns& columns)
      : store_(store), columns_(columns), spent_(store, columns) {}

  std::vector<Row> measure() {
    claims();
    seen();
    log();
    events_with_ids();
    documents();
    tallies();
    effects();
    return std::move(rows_);
  }

 private:
  void row(std::string operation, bool as_expected) {
    EXPECT_TRUE(as_expected) << operation;
    rows_.emplace_back(std::move(operation), spent_.since());
  }
  void unsupported(std::string operation) {
    (void)spent_.since();
    rows_.emplace_back(std::move(operation), Cells(columns_.kinds.size(), "–"));
  }
  void not_counted() { (void)spent_.since(); }

  void claims() {
    LocalClaims claims(store_);
    ASSERT_TRUE(claims.take("first", {.owner = "me"}).has_value());
    not_counted();
    const auto taken = claims.take("job", {.owner = "me"});
    ASSERT_TRUE(taken && std::holds_alternative<Claimed>(*taken));
    row("claim a new key", true);
    const Ticket ticket = std::get<Claimed>(*taken).ticket;
    const auto busy = claims.take("job", {.owner = "you"});
    row("claim one that is held", busy && std::holds_alternative<Busy>(*busy));
    const auto done = claims.complete("job", ticket, "result");
    row("complete", done && std::holds_alternative<Settled>(*done));
    const auto duplicate = claims.take("job", {.owner = "you"});
    row("claim one that is done", duplicate && std::holds_alternative<Done>(*duplicate));
    const auto other = claims.take("other", {.owner = "me"});
    ASSERT_TRUE(other && std::holds_alternative<Claimed>(*other));
    const auto longer = claims.take("longer", {.owner = "me"});
    ASSERT_TRUE(longer && std::holds_alternative<Claimed>(*longer));
    const Ticket renewable = std::get<Claimed>(*longer).ticket;
    not_counted();
    const auto renewed = claims.renew("longer", renewable, std::chrono::seconds(30));
    row("renew", renewed && std::holds_alternative<Renewed>(*renewed));
    const auto finished = claims.complete("longer", renewable, "result");
    row("complete after a renewal", finished && std::holds_alternative<Settled>(*finished));
    const auto released =
        claims.release("other", std::get<Claimed>(*other).ticket, "", Release::retryable);
    row("release", released && std::holds_alternative<Settled>(*released));
  }

  void seen() {
    LocalClaims claims(store_);
    const auto first = [&](const std::string& id) {
      const auto marked = claims.seen(std::vector<std::string>{id}, std::chrono::hours(1));
      return marked && marked->front();
    };
    row("seen, a new id", first("a"));
    row("seen, a known id", !first("a"));
  }

  void log() {
    LocalLog log(store_);
    const auto append = [&](const std::string& batch) {
      const auto appended = log.append("s", {{"e", std::nullopt}}, {.batch = batch});
      return appended && std::holds_alternative<Appended>(*appended);
    };
    ASSERT_TRUE(append("") && append(""));
    not_counted();
    row("append", append(""));
    row("append with a batch id", append("b"));
    row("the same batch again", append("b"));
    const auto page = log.read("s");
    row("read a log of 4 batches", page && page->events.size() == 4);
  }

  void events_with_ids() {
    logs::KnownEnds known;
    BlockingDriver driver(store_, system_clock(), system_entropy());
    const auto append = [&](const std::string& id) -> std::size_t {
      const auto appended =
          driver.run(logs::append_events(logs::stream("default", "ids"), {{"e", std::nullopt}},
                                         {.ids = {id}}, {}, &known),
                     kAttemptLife);
      if (!appended || !std::holds_alternative<logs::AppendedEvents>(*appended)) return 0;
      return std::get<logs::AppendedEvents>(*appended).appended ? 1 : 2;
    };
    ASSERT_EQ(append("first"), 1U);
    ASSERT_EQ(append("second"), 1U);
    not_counted();
    row("append an event with an id", append("a") == 1);
    row("the same event again", append("a") == 2);
  }

  void documents() {
    LocalDocuments documents(store_);
    const documents::Modify grow =
        [](const std::optional<documents::Content>& current) -> Result<documents::Modified> {
      return documents::Content{(current ? current->bytes : "") + "x"};
    };
    const auto put = documents.put("d", {"x"}, documents::IfAbsent{});
    row("put a document", put && std::holds_alternative<documents::Updated>(*put));
    const auto lost = documents.put("d", {"x"}, documents::IfAbsent{});
    row("put one that exists", lost && !std::holds_alternative<documents::Updated>(*lost));
    const auto updated = documents.update("d", {.modify = grow});
    row("update or patch a document", updated.has_value());
    const auto identified = documents.update("d", {.modify = grow, .identity = {"change"}});
    row("patch with an id", identified.has_value());
    const auto again = documents.update("d", {.modify = grow, .identity = {"change"}});
    row("the same patch again", again.has_value());
    const auto found = documents.get("d");
    row("get a document", found && found->has_value() && (*found)->content.bytes == "xxx");
    const auto removed = documents.remove("d", (*found)->etag);
    row("delete a document", removed && std::holds_alternative<documents::Updated>(*removed));
  }

  bool merge(LocalTallies& tallies, const std::string& name, TallyKind kind, TallyInput input,
             std::string id = "") {
    const auto merged = tallies.merge(
        name, {.shape = {.kind = kind}, .input = std::move(input), .id = std::move(id)});
    return merged && std::holds_alternative<Tallied>(*merged) &&
           std::get<Tallied>(*merged).value.has_value();
  }

  void tallies() {
    LocalTallies tallies(store_);
    const auto add = [&](const std::string& id) {
      return merge(tallies, "sum", TallyKind::sum, std::int64_t{5}, id);
    };
    row("a tally's first add", add(""));
    row("add to a sum", add(""));
    ASSERT_TRUE(add("first"));
    not_counted();
    row("add with an id", add("id"));
    row("the same add again", add("id"));
    const auto in_window = [&] {
      const auto merged =
          tallies.merge("by day", {.shape = {.kind = TallyKind::sum, .window = TallyWindow::day},
                                   .input = std::int64_t{1}});
      return merged && std::holds_alternative<Tallied>(*merged);
    };
    ASSERT_TRUE(in_window());
    not_counted();
    row("add with a window", in_window());
    const auto raise = [&](std::int64_t value) {
      return merge(tallies, "max", TallyKind::max, value);
    };
    ASSERT_TRUE(raise(5));
    not_counted();
    row("raise a max", raise(7));
    row("a max that is not raised", raise(3));
    const auto distinct = [&](const std::string& item) {
      return merge(tallies, "distinct", TallyKind::distinct, std::vector<CountedItem>{{item}});
    };
    ASSERT_TRUE(distinct("a"));
    not_counted();
    row("merge into a distinct", distinct("b"));
    const auto read = tallies.read("sum");
    row("read a sum", read && *read && std::get<std::int64_t>((*read)->value) == 20);
  }

  void effects() {
    const std::string name = "complete, with an append, a document and an add";
    const std::string again = "the same commit again";
    if (store_.limits().writes_per_commit == 1) {
      unsupported(name);
      unsupported(again);
      return;
    }
    LocalClaims claims(store_);
    const auto taken = claims.take("job with effects", {.owner = "me"});
    ASSERT_TRUE(taken && std::holds_alternative<Claimed>(*taken));
    not_counted();
    BlockingDriver driver(store_, system_clock(), system_entropy());
    const auto commit = [&] {
      effects::Request request;
      request.claim = {"job with effects", std::get<Claimed>(*taken).ticket};
      request.effects.result("r").append("s", "e").add("sum", 5);
      request.effects.put("by effects", {"x"}, documents::IfAbsent{});
      const auto made = driver.run(effects::commit(request));
      return made && std::holds_alternative<effects::Made>(*made);
    };
    row(name, commit());
    row(again, commit());
  }

  Store& store_;
  const Columns& columns_;
  Spent spent_;
  std::vector<Row> rows_;
};

std::string whole_document() {
  std::ifstream file(kDocument);
  return {std::istreambuf_iterator<char>(file), {}};
}

Cells cells_of(const std::string& line) {
  Cells cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t from = cell.find_first_not_of(' ');
    if (from == std::string::npos) {
      cells.emplace_back();
    } else {
      cells.push_back(cell.substr(from, cell.find_last_not_of(' ') + 1 - from));
    }
  }
  cells.resize(kColumns);
  return cells;
}

std::string line_of(const Cells& cells) {
  std::string line = "|";
  for (const std::string& cell : cells)
    line.append(cell.empty() ? "" : " ").append(cell).append(" |");
  return line + "\n";
}

// The table with the measured cells in it.
std::string with_cells(const std::string& table, const std::vector<Row>& rows,
                       const Columns& columns) {
  std::istringstream in(table);
  std::string head;
  std::map<std::string, Cells> there;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line); ++number) {
    if (number < 2) {
      head += line + "\n";
    } else if (!line.empty()) {
      const Cells cells = cells_of(line);
      there[cells[0]] = cells;
    }
  }
  std::string text = head;
  for (const auto& [operation, measured] : rows) {
    Cells cells = there[operation];
    cells.resize(kColumns);
    cells[0] = operation;
    std::ranges::copy(measured, cells.begin() + static_cast<std::ptrdiff_t>(columns.first));
    text += line_of(cells);
  }
  return text;
}

const Columns* columns_of(const StoreHarness& harness) {
  for (const Columns& columns : all_columns()) {
    if (columns.store == harness.name) return &columns;
  }
  return nullptr;
}

TEST(StoreCosts, TheDocumentsSayWhatEachOperationCosts) {
  const StoreHarness& harness = chosen_harness({"memory"});
  const Columns* const columns = columns_of(harness);
  if (columns == nullptr) {
    if (harness.has_server()) return;  // Another form of a store that is in the table.
    ManualClock clock;
    EXPECT_TRUE(harness.open(clock)->units().empty()) << "there is no server that could charge";
    return;
  }
  if (const auto missing = harness.missing()) {
    if (!may_skip()) FAIL() << *missing;
    GTEST_SKIP() << *missing;
  }
  const std::unique_ptr<MeasuredStore> measured = harness.measure();
  const std::vector<Row> rows = Operations(measured->store(), *columns).measure();
  if (HasFatalFailure()) return;
  const std::string document = whole_document();
  const std::size_t from = document.find(kBegin) + kBegin.size();
  const std::size_t to = document.find(kEnd);
  ASSERT_NE(to, std::string::npos) << kDocument << " has no table of costs";
  const std::string table = document.substr(from, to - from);
  const std::string wanted = with_cells(table, rows, *columns);
  if (std::getenv("ONCE_REWRITE_DOCS") != nullptr) {
    std::ofstream(kDocument) << document.substr(0, from) << wanted << document.substr(to);
    return;
  }
  EXPECT_EQ(table, wanted) << "ONCE_REWRITE_DOCS=1 writes what was measured";
}

}  // namespace
}  // namespace once::testing
