// The rest of a thing's life under the simulator: documents that end, listings while others write,
// what is done in bulk, and events with ids of their own.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "once/blocking_driver.h"
#include "once/claims.h"
#include "once/documents.h"
#include "once/log.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;
using namespace documents;

constexpr SimulationOptions kManyWrites{};
constexpr SimulationOptions kOneWrite{.writes_per_commit = 1};
constexpr Duration kBetween{10};

// --- A document with an end exists until then, and no longer. ---

constexpr Duration kLife{300};

// By one clock, so that ends are exact. With several they are blurred by the clocks' error.
constexpr SimulationOptions kOneClock{.max_skew = Duration::zero()};
constexpr SimulationOptions kOneClockOneWrite{.max_skew = Duration::zero(), .writes_per_commit = 1};

struct Life {
  Time asked;
  std::optional<Time> acknowledged;
};

struct EndingWorld {
  explicit EndingWorld(Simulation& running) : simulation(running) {}
  Time now() { return simulation.clock().now(); }
  void complain(const std::string& what) {
    simulation.note("COMPLAINT " + what);
    if (complaint.empty()) complaint = what;
  }

  // What a reader found between two moments. Only the end of a document removes it.
  void judge(const std::string& word, Time from, Time to) {
    if (!word.empty() && lives[word].acknowledged && from >= *lives[word].acknowledged + kLife) {
      complain(word + " outlived its end");
    }
    for (const auto& [name, life] : lives) {
      const bool there = life.acknowledged && *life.acknowledged <= from && to < life.asked + kLife;
      if (there && name != word) complain(name + " ended early, or was lost");
    }
  }

  Simulation& simulation;
  const Key key = document_key("test", "ending");
  std::map<std::string, Life> lives;
  std::map<int, int> left;
  Contention contention;
  std::string complaint;
};

Plan<std::monostate> create_often(EndingWorld& world, int client) {
  while (world.left[client]-- > 0) {
    const std::string word = std::to_string(client) + "." + std::to_string(world.left[client]);
    world.lives[word].asked = world.now();
    Content content{word + "+", "text/plain", kLife};
    Plan<WriteOutcome> put = documents::put(world.key, std::move(content), IfAbsent{}, {});
    const Result<WriteOutcome> made = co_await attempt(std::move(put));
    if (made && std::holds_alternative<Updated>(*made)) {
      world.lives[word].acknowledged = world.now();
    }
    co_await pause(kLife / 4);
  }
  co_return std::monostate{};
}

// Updates keep the end.
Plan<std::monostate> update_often(EndingWorld& world, int client) {
  while (world.left[client]-- > 0) {
    UpdateRequest request{.modify = [](const std::optional<Content>& current) -> Result<Modified> {
      if (!current) return Keep{};
      return Content{current->bytes + "+", current->type};
    }};
    Plan<UpdateOutcome> updating = update(world.key, std::move(request), world.contention);
    (void)co_await attempt(std::move(updating));
    co_await pause(kBetween);
  }
  co_return std::monostate{};
}

Plan<std::monostate> read_often(EndingWorld& world, int client) {
  while (world.left[client]-- > 0) {
    const Time from = world.now();
    Plan<std::optional<Document>> get = documents::get(world.key);
    const Result<std::optional<Document>> found = co_await attempt(std::move(get));
    if (found) {
      const std::string bytes = *found ? (*found)->content.bytes : "";
      world.judge(bytes.substr(0, bytes.find('+')), from, world.now());
    }
    co_await pause(kBetween);
  }
  co_return std::monostate{};
}

std::string judge_ends(Simulation& simulation) {
  EndingWorld world(simulation);
  world.left = {{0, 5}, {1, 5}, {2, 20}, {3, 60}};
  simulation.add_client("c0", [&] { return create_often(world, 0); });
  simulation.add_client("c1", [&] { return create_often(world, 1); });
  simulation.add_client("updater", [&] { return update_often(world, 2); });
  simulation.add_client("reader", [&] { return read_often(world, 3); });
  if (!simulation.run()) return "never ends";
  return world.complaint;
}

TEST(LivesInTheSimulator, ADocumentWithAnEndExistsUntilThenAndNoLonger) {
  expect_holds(300, judge_ends, kOneClock);
}

TEST(LivesInTheSimulator, ADocumentWithAnEndExistsUntilThenOnSingleWriteStores) {
  expect_holds(300, judge_ends, kOneClockOneWrite);
}

// --- A listing meets all that exists throughout, and a bulk removal what it is for. ---

struct BulkWorld {
  std::map<std::string, int> left;
  std::set<std::string> kept;  // Acknowledged creations that nothing removes.
  int created = 0;
  std::set<std::string> before;  // What a pass must have met.
  std::set<std::string> met;
  std::string cursor;
  bool removed = false;
  std::string complaint;
};

Plan<std::monostate> create_and_remove(BulkWorld& world, std::string client) {
  while (world.left[client]-- > 0) {
    const std::string name = "keep/" + std::to_string(world.created++);
    const Key key = document_key("test", name);
    Plan<WriteOutcome> put = documents::put(key, {"x", "text/plain"}, IfAbsent{}, {});
    const Result<WriteOutcome> made = co_await attempt(std::move(put));
    const auto* updated = made ? std::get_if<Updated>(&*made) : nullptr;
    if (updated == nullptr) continue;
    if (world.left[client] % 2 == 0) {
      world.kept.insert(name);
      continue;
    }
    Plan<WriteOutcome> removal = documents::remove(key, updated->document->etag, {});
    (void)co_await attempt(std::move(removal));
  }
  co_return std::monostate{};
}

// Passes over all names, page by page. A crash begins the pass again.
Plan<std::monostate> list_often(BulkWorld& world, int passes) {
  while (world.left["lister"] < passes) {
    world.before = world.kept;
    world.met.clear();
    world.cursor.clear();
    do {
      const Listing listing{.prefix = "keep/", .cursor = world.cursor, .limit = 2};
      Plan<DocumentPage> list = documents::list("test", listing);
      const Result<DocumentPage> page = co_await attempt(std::move(list));
      if (!page) {
        co_await pause(kBetween);
        continue;
      }
      for (const ListedDocument& document : page->documents) world.met.insert(document.name);
      world.cursor = page->cursor;
      if (world.cursor.empty()) break;
    } while (true);
    for (const std::string& name : world.before) {
      if (!world.met.contains(name)) world.complaint = name + " was not listed";
    }
    ++world.left["lister"];
  }
  co_return std::monostate{};
}

Plan<std::monostate> remove_in_bulk(BulkWorld& world, Contention& contention) {
  for (std::string cursor; !world.removed;) {
    const Listing listing{.prefix = "gone/", .cursor = cursor, .limit = 2};
    Plan<BulkRemoved> removal = documents::remove_all("test", listing, BulkRun::wet, contention);
    const Result<BulkRemoved> step = co_await attempt(std::move(removal));
    if (!step) {
      co_await pause(kBetween);
      continue;
    }
    cursor = step->cursor;
    world.removed = cursor.empty();
  }
  co_return std::monostate{};
}

std::set<std::string> names_in(Simulation& simulation, const std::string& prefix) {
  BlockingDriver driver(simulation.store(), simulation.clock());
  std::set<std::string> names;
  const DocumentPage page = driver.run(documents::list("test", {.prefix = prefix})).value();
  for (const ListedDocument& document : page.documents) names.insert(document.name);
  return names;
}

std::string judge_bulk(Simulation& simulation) {
  BulkWorld world;
  Contention contention;
  BlockingDriver driver(simulation.store(), simulation.clock());
  for (int i = 0; i < 5; ++i) {
    const Content content{"x", "text/plain"};
    for (const char* const prefix : {"gone/", "keep/old-"}) {
      const std::string name = prefix + std::to_string(i);
      if (!driver.run(documents::put(document_key("test", name), content, IfAbsent{}, {}))) {
        return "cannot begin";
      }
      if (name.starts_with("keep/")) world.kept.insert(name);
    }
  }
  world.left = {{"a", 6}, {"b", 6}};
  simulation.add_client("a", [&] { return create_and_remove(world, "a"); });
  simulation.add_client("b", [&] { return create_and_remove(world, "b"); });
  simulation.add_client("lister", [&] { return list_often(world, 2); });
  simulation.add_client("remover", [&] { return remove_in_bulk(world, contention); });
  if (!simulation.run()) return "never ends";
  if (!names_in(simulation, "gone/").empty()) return "a bulk removal left some";
  const std::set<std::string> left = names_in(simulation, "keep/");
  for (const std::string& name : world.kept) {
    if (!left.contains(name)) return name + " was removed, and not by its prefix";
  }
  return world.complaint;
}

TEST(LivesInTheSimulator, AListingMeetsAllThatExistsAndABulkRemovalRemovesItsPrefixOnly) {
  expect_holds(300, judge_bulk, kManyWrites);
}

TEST(LivesInTheSimulator, AListingAndABulkRemovalOnSingleWriteStores) {
  expect_holds(300, judge_bulk, kOneWrite);
}

// --- Claims that are forgotten in bulk while others take them: a fence only rises. ---

struct FenceWorld {
  std::map<std::string, std::int64_t> last;  // By key, each of which has one claimant.
  std::map<std::string, int> left;
  std::string complaint;
};

Plan<std::monostate> take_often(FenceWorld& world, std::string name) {
  const Key key = claims::claim_key("test", name);
  while (world.left[name]-- > 0) {
    const ClaimRequest request{.lease = 50ms};
    Plan<ClaimOutcome> take = claims::take(key, request);
    const Result<ClaimOutcome> outcome = co_await attempt(std::move(take));
    const auto* claimed = outcome ? std::get_if<Claimed>(&*outcome) : nullptr;
    if (claimed != nullptr) {
      const Ticket ticket = claimed->ticket;
      if (claimed->fence <= world.last[name]) world.complaint = "the fence of " + name + " fell";
      world.last[name] = claimed->fence;
      Plan<SettleOutcome> complete = claims::complete(key, ticket, "done");
      (void)co_await attempt(std::move(complete));
    }
    co_await pause(kBetween);
  }
  co_return std::monostate{};
}

Plan<std::monostate> forget_often(FenceWorld& world) {
  while (world.left["forgetter"]-- > 0) {
    claims::BulkRequest request;
    request.filter.prefix = "k";
    request.limit = 2;
    for (;;) {
      Plan<claims::BulkOutcome> forget = claims::forget_all("test", request);
      const Result<claims::BulkOutcome> step = co_await attempt(std::move(forget));
      if (!step) break;
      request.cursor = step->cursor;
      if (request.cursor.empty()) break;
    }
    co_await pause(kBetween);
  }
  co_return std::monostate{};
}

std::string judge_fences(Simulation& simulation) {
  FenceWorld world;
  world.left = {{"k1", 8}, {"k2", 8}, {"k3", 8}, {"forgetter", 8}};
  for (const char* const name : {"k1", "k2", "k3"}) {
    simulation.add_client(name, [&world, name] { return take_often(world, name); });
  }
  simulation.add_client("forgetter", [&] { return forget_often(world); });
  if (!simulation.run()) return "never ends";
  return world.complaint;
}

TEST(LivesInTheSimulator, AFenceOnlyRisesHoweverOftenItsClaimIsForgottenInBulk) {
  expect_holds(300, judge_fences, kManyWrites);
  expect_holds(300, judge_fences, kOneWrite);
}

// --- Events with ids, redelivered in other batches: each is stored once. ---

constexpr int kEvents = 8;

struct EventWorld {
  explicit EventWorld(Simulation& running) : simulation(running) {}
  void answered(int event, std::int64_t index) {
    const auto [known, fresh] = indexes.emplace(event, index);
    if (!fresh && known->second != index) complaint = "an event was given two indexes";
  }

  Simulation& simulation;
  const logs::Stream stream = logs::stream("test", "events");
  std::map<int, std::int64_t> indexes;
  std::map<std::string, logs::KnownEnds> known;
  std::map<std::string, int> left;
  std::string complaint;
};

// Delivers all events, `step` of them at a time, each batch until it is answered.
Plan<std::monostate> deliver(EventWorld& world, std::string client, int step) {
  for (int first = 0; first < kEvents; first += step) {
    for (;;) {
      std::vector<LogEvent> events;
      logs::EventIds ids;
      for (int i = first; i < std::min(first + step, kEvents); ++i) {
        events.push_back({std::to_string(i), std::nullopt});
        ids.ids.push_back("e" + std::to_string(i));
      }
      Plan<logs::EventsOutcome> append = logs::append_events(
          world.stream, std::move(events), std::move(ids), {}, &world.known[client]);
      const Result<logs::EventsOutcome> outcome = co_await attempt(std::move(append));
      if (!outcome) {
        co_await pause(kBetween);
        continue;
      }
      const auto& made = std::get<logs::AppendedEvents>(*outcome);
      for (std::size_t i = 0; i < made.indexes.size(); ++i) {
        world.answered(first + static_cast<int>(i), made.indexes[i]);
      }
      break;
    }
  }
  co_return std::monostate{};
}

Plan<std::monostate> append_others(EventWorld& world) {
  while (world.left["other"]-- > 0) {
    std::vector<LogEvent> events;
    events.push_back({"other", std::nullopt});
    Plan<AppendOutcome> append = logs::append(world.stream, std::move(events), {}, nullptr);
    (void)co_await attempt(std::move(append));
    co_await pause(kBetween);
  }
  co_return std::monostate{};
}

std::string judge_events(Simulation& simulation) {
  EventWorld world(simulation);
  world.left = {{"other", 4}};
  int step = 2;
  for (const char* const name : {"a", "b", "c"}) {
    simulation.add_client(name, [&world, name, step] { return deliver(world, name, step); });
    ++step;
  }
  simulation.add_client("other", [&] { return append_others(world); });
  if (!simulation.run()) return "never ends";
  BlockingDriver driver(simulation.store(), simulation.clock());
  const LogPage page = driver.run(logs::read(world.stream, {})).value();
  std::map<std::string, int> times;
  std::int64_t next = 1;
  for (const LogEntry& entry : page.events) {
    if (entry.index != next++) return "a gap";
    if (entry.data == "other") continue;
    ++times[entry.data];
    if (world.indexes[std::stoi(entry.data)] != entry.index) {
      return entry.data + " is not where the answer says";
    }
  }
  for (int i = 0; i < kEvents; ++i) {
    const int count = times[std::to_string(i)];
    if (count != 1) return std::to_string(i) + " is there " + std::to_string(count) + " times";
  }
  return world.complaint;
}

TEST(LivesInTheSimulator, AnEventWithAnIdIsStoredOnceHoweverItIsCutIntoBatches) {
  expect_holds(500, judge_events, kManyWrites);
}

TEST(LivesInTheSimulator, H5_AnEventWithAnIdIsStoredOnceWhereOneWriteIsAllThereIs) {
  expect_holds(500, judge_events, kOneWrite);
}

}  // namespace
}  // namespace once::testing
