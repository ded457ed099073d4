// No change of a document is lost and none is made twice, whatever fails.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "once/blocking_driver.h"
#include "once/documents.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

using namespace documents;

constexpr int kClients = 3;
constexpr int kEach = 4;
constexpr Duration kBackoff{20};
const Key kDoc = document_key("test", "doc");

constexpr SimulationOptions kMultiWrite{};
constexpr SimulationOptions kSingleWrite{.writes_per_commit = 1};

std::string word_of(int client, int i) {
  return "<" + std::to_string(client) + '.' + std::to_string(i) + ">";
}

int count_of(const Bytes& bytes, const std::string& word) {
  int count = 0;
  for (auto at = bytes.find(word); at != Bytes::npos; at = bytes.find(word, at + 1)) ++count;
  return count;
}

Bytes final_bytes(Simulation& simulation) {
  BlockingDriver driver(simulation.store(), simulation.clock());
  const auto document = driver.run(documents::get(kDoc));
  return document->has_value() ? (*document)->content.bytes : "";
}

bool run_clients(Simulation& simulation,
                 const std::function<Plan<std::monostate>(int client)>& script) {
  for (int client = 0; client < kClients; ++client) {
    simulation.add_client("c" + std::to_string(client), [=] { return script(client); });
  }
  return simulation.run();
}

Modify appending(std::string word) {
  return [word](const std::optional<Content>& current) -> Result<Modified> {
    return Content{(current ? current->bytes : "") + word, "text/plain"};
  };
}

// --- Updates with ids: each is sent until it is known to be made. ---

Plan<std::monostate> update_until_made(int client, Contention& contention) {
  for (int i = 0; i < kEach; ++i) {
    const std::string word = word_of(client, i);
    for (;;) {
      UpdateRequest request{appending(word), {word}, word};
      const Result<UpdateOutcome> outcome =
          co_await attempt(update(kDoc, std::move(request), contention));
      if (outcome && std::holds_alternative<Updated>(*outcome)) break;
      co_await pause(kBackoff);
    }
  }
  co_return std::monostate{};
}

std::string judge_updates_with_ids(Simulation& simulation) {
  Contention contention;
  const auto script = [&](int client) { return update_until_made(client, contention); };
  if (!run_clients(simulation, script)) return "never ends";
  const Bytes bytes = final_bytes(simulation);
  for (int client = 0; client < kClients; ++client) {
    for (int i = 0; i < kEach; ++i) {
      const int times = count_of(bytes, word_of(client, i));
      if (times != 1) return word_of(client, i) + " is there " + std::to_string(times) + " times";
    }
  }
  return "";
}

TEST(DocumentsInTheSimulator, H19_AChangeWithAnIdIsMadeOnce) {
  expect_holds(3'000, judge_updates_with_ids, kMultiWrite);
}

TEST(DocumentsInTheSimulator, H19_AChangeWithAnIdIsMadeOnceOnSingleWriteStores) {
  expect_holds(3'000, judge_updates_with_ids, kSingleWrite);
}

// --- Updates without ids: each is sent once, and its answer must be true. ---

enum class Fate : std::uint8_t { open, made, unmade };

struct Ledger {
  std::map<int, int> next;  // By client; outlives its crashes.
  std::map<std::string, Fate> fates;
};

Fate fate_of(const Result<UpdateOutcome>& outcome) {
  if (outcome) return std::holds_alternative<Updated>(*outcome) ? Fate::made : Fate::unmade;
  return outcome.error().code == ErrorCode::unknown ? Fate::open : Fate::unmade;
}

Plan<std::monostate> update_each_once(int client, Ledger& ledger, Contention& contention) {
  while (ledger.next[client] < kEach) {
    const std::string word = word_of(client, ledger.next[client]++);
    ledger.fates[word] = Fate::open;
    UpdateRequest request{appending(word), {}, {}};
    const Result<UpdateOutcome> outcome =
        co_await attempt(update(kDoc, std::move(request), contention));
    ledger.fates[word] = fate_of(outcome);
  }
  co_return std::monostate{};
}

std::string judge_updates_without_ids(Simulation& simulation) {
  Contention contention;
  Ledger ledger;
  const auto script = [&](int client) { return update_each_once(client, ledger, contention); };
  if (!run_clients(simulation, script)) return "never ends";
  const Bytes bytes = final_bytes(simulation);
  for (const auto& [word, fate] : ledger.fates) {
    const int times = count_of(bytes, word);
    if (times > 1) return word + " was made twice";
    if (fate == Fate::made && times == 0) return word + " was lost";
    if (fate == Fate::unmade && times == 1) return word + " was made although told otherwise";
  }
  return "";
}

TEST(DocumentsInTheSimulator, H7_AChangeWithoutAnIdIsNeverMadeTwiceAndNeverMisreported) {
  expect_holds(3'000, judge_updates_without_ids, kMultiWrite);
}

TEST(DocumentsInTheSimulator, H7_AChangeWithoutAnIdIsHonestOnSingleWriteStoresToo) {
  expect_holds(3'000, judge_updates_without_ids, kSingleWrite);
}

// --- Puts and removals: every document that was put is removed once, or still exists. ---

struct Operation {
  std::string id;
  std::string word;  // Of the document that is put or removed.
  std::string etag;  // Of a removal.
};

struct World {
  bool ids = false;
  std::map<int, int> next;
  std::map<int, Operation> under_way;  // Sent again after a crash, if it has an id.
  std::map<std::string, Fate> puts;
  std::map<std::string, int> removed;        // How many clients were told that they removed it,
  std::map<std::string, int> maybe_removed;  // and how many were told `unknown`.
  std::set<std::string> met;                 // Words that some client read.
};

Plan<std::optional<Document>> read_doc() {
  for (;;) {
    Result<std::optional<Document>> document = co_await attempt(documents::get(kDoc));
    if (document) co_return std::move(*document);
    co_await pause(kBackoff);
  }
}

Plan<WriteOutcome> perform(Operation operation, bool insist) {
  for (;;) {
    Identity identity{operation.id};
    Content content{operation.word, "text/plain"};
    Plan<WriteOutcome> plan =
        operation.etag.empty()
            ? documents::put(kDoc, std::move(content), IfAbsent{}, std::move(identity))
            : documents::remove(kDoc, operation.etag, std::move(identity));
    Result<WriteOutcome> outcome = co_await attempt(std::move(plan));
    if (outcome || !insist) co_return std::move(outcome);
    co_await pause(kBackoff);
  }
}

void record(World& world, const Operation& operation, const Result<WriteOutcome>& outcome) {
  const bool made = outcome && std::holds_alternative<Updated>(*outcome);
  const bool open = !outcome && outcome.error().code == ErrorCode::unknown;
  if (operation.etag.empty()) {
    world.puts[operation.word] = made ? Fate::made : open ? Fate::open : Fate::unmade;
  } else {
    if (made) ++world.removed[operation.word];
    if (open) ++world.maybe_removed[operation.word];
  }
}

Operation choose(World& world, int client, const std::optional<Document>& document) {
  const std::string name = word_of(client, world.next[client]++);
  const std::string id = world.ids ? "id" + name : "";
  if (!document) return {id, name, ""};
  return {id, document->content.bytes, document->etag};
}

Plan<std::monostate> put_and_remove(int client, World& world) {
  for (;;) {
    const auto pending = world.under_way.find(client);
    if (pending == world.under_way.end()) {
      if (world.next[client] >= 2 * kEach) co_return std::monostate{};
      const std::optional<Document> document = co_await read_doc();
      if (document) world.met.insert(document->content.bytes);
      world.under_way[client] = choose(world, client, document);
    } else if (!world.ids) {  // It crashed, so the outcome stays unknown.
      const Result<WriteOutcome> nobody_knows = failure(ErrorCode::unknown, "crashed");
      record(world, pending->second, nobody_knows);
      world.under_way.erase(pending);
      continue;
    }
    const Operation operation = world.under_way[client];
    const Result<WriteOutcome> outcome = co_await attempt(perform(operation, world.ids));
    record(world, operation, outcome);
    world.under_way.erase(client);
  }
}

std::string judge_word(const World& world, const std::string& word, bool stands) {
  const auto count = [&](const std::map<std::string, int>& of) {
    return of.contains(word) ? of.at(word) : 0;
  };
  const int removed = count(world.removed);
  const bool was_there = stands || removed > 0 || world.met.contains(word);
  const Fate fate = world.puts.at(word);
  if (removed + (stands ? 1 : 0) > 1) return word + " came or went twice";
  if (fate == Fate::unmade && was_there) return word + " was put although told otherwise";
  if (fate == Fate::made && !stands && removed + count(world.maybe_removed) == 0) {
    return word + " was lost";
  }
  return "";
}

std::string judge_puts_and_removals(Simulation& simulation, bool ids) {
  World world;
  world.ids = ids;
  const auto script = [&](int client) { return put_and_remove(client, world); };
  if (!run_clients(simulation, script)) return "never ends";
  const Bytes left = final_bytes(simulation);
  for (const auto& [word, fate] : world.puts) {
    if (ids && fate == Fate::open) return word + " stayed unknown in spite of its id";
    std::string complaint = judge_word(world, word, left == word);
    if (!complaint.empty()) return complaint;
  }
  return "";
}

TEST(DocumentsInTheSimulator, H7_PutsAndRemovalsWithIdsAreMadeOnceAndKnown) {
  const Scenario scenario = [](Simulation& all) { return judge_puts_and_removals(all, true); };
  expect_holds(3'000, scenario, kMultiWrite);
}

TEST(DocumentsInTheSimulator, H7_PutsAndRemovalsWithIdsAreMadeOnceOnSingleWriteStores) {
  const Scenario scenario = [](Simulation& all) { return judge_puts_and_removals(all, true); };
  expect_holds(3'000, scenario, kSingleWrite);
}

TEST(DocumentsInTheSimulator, H7_PutsAndRemovalsWithoutIdsAreNeverMisreported) {
  const Scenario scenario = [](Simulation& all) { return judge_puts_and_removals(all, false); };
  expect_holds(3'000, scenario, kMultiWrite);
}

TEST(DocumentsInTheSimulator, H7_PutsAndRemovalsWithoutIdsAreHonestOnSingleWriteStores) {
  const Scenario scenario = [](Simulation& all) { return judge_puts_and_removals(all, false); };
  expect_holds(3'000, scenario, kSingleWrite);
}

}  // namespace
}  // namespace once::testing
