// Effects under crashes, lost replies, late writes and clocks that disagree: all or nothing, once.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "once/effects.h"
#include "once/local.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kClients = 3;
constexpr int kJobs = 4;

std::string name_of(int job) { return "job" + std::to_string(job); }

// What every job does. A log or a document refuses a second commit on its own; a sum does not.
enum class Parts : std::uint8_t { sum, all_but_document, all };

struct World {
  Parts parts = Parts::all;
  std::string complaint;
  std::map<int, int> made;  // By job: how many clients were told that they made it.
  std::set<int> acknowledged;
};

// Its bit in a sum; a log entry and its bit in a sketch; a document of its own.
Effects effects_of(int job, const World& world) {
  const std::string name = name_of(job);
  Effects effects = Effects().add("sum", std::int64_t{1} << job);
  if (world.parts == Parts::sum) return effects;
  effects.append("log", name)
      .merge("top", {.shape = {.kind = TallyKind::top},
                     .input = std::vector<CountedItem>{{name, std::uint64_t{1} << job}}});
  if (world.parts == Parts::all) effects.put(name, {name, "text/plain"}, documents::IfAbsent{});
  return effects;
}

void judge_outcome(const effects::Outcome& outcome, int job, World& world) {
  const auto* made = std::get_if<effects::Made>(&outcome);
  if (made == nullptr) return;
  world.acknowledged.insert(job);
  if (!made->replayed && ++world.made[job] > 1) world.complaint = "two were the first";
}

// Every client gets every job, as a queue redelivers it, and repeats it until it has an answer.
Plan<std::monostate> commit_under_ids(World& world) {
  for (int job = 0; job < kJobs; ++job) {
    for (;;) {
      effects::Request request{
          .name_space = "sim", .id = name_of(job), .effects = effects_of(job, world)};
      const auto outcome = co_await attempt(effects::commit(std::move(request)));
      if (outcome) {
        judge_outcome(*outcome, job, world);
        if (!std::holds_alternative<effects::Made>(*outcome)) world.complaint = "refused";
        break;
      }
      co_await pause(20ms);
    }
  }
  co_return std::monostate{};
}

// Claims each job and completes it together with its effects; tries again until it is done.
Plan<std::monostate> commit_under_claims(World& world) {
  for (int job = 0; job < kJobs; ++job) {
    for (;;) {
      const Key key = claims::claim_key("sim", name_of(job));
      ClaimRequest wanted{.lease = 2s};
      const auto taken = co_await attempt(claims::take(key, std::move(wanted)));
      if (taken && std::holds_alternative<Done>(*taken)) break;
      if (taken && std::holds_alternative<Claimed>(*taken)) {
        const Ticket ticket = std::get<Claimed>(*taken).ticket;
        effects::Request request{.name_space = "sim",
                                 .claim = effects::ClaimPart{name_of(job), ticket},
                                 .effects = effects_of(job, world)};
        const auto outcome = co_await attempt(effects::commit(std::move(request)));
        if (outcome) judge_outcome(*outcome, job, world);
      }
      co_await pause(200ms);
    }
  }
  co_return std::monostate{};
}

// How often each job took effect, by its trace in each primitive.
struct Traces {
  std::map<std::string, int> logged;
  std::int64_t sum = 0;
  std::map<std::string, std::uint64_t> top;
  std::set<std::string> documents;
};

Traces traces_in(Simulation& simulation) {
  Entropy entropy(1);
  Store& store = simulation.store();
  Traces traces;
  LocalLog log(store, "sim", LogStrategy::conditional, simulation.clock(), entropy);
  const auto page = log.read("log");
  for (const LogEntry& entry : page->events) ++traces.logged[entry.data];
  LocalTallies tallies(store, "sim", simulation.clock(), entropy);
  const auto sum = tallies.read("sum");
  if (sum && *sum) traces.sum = std::get<std::int64_t>((*sum)->value);
  const auto top = tallies.read("top");
  if (top && *top) {
    for (const HeavyItem& heavy : std::get<std::vector<HeavyItem>>((*top)->value)) {
      traces.top[heavy.item] = heavy.count;
    }
  }
  LocalDocuments documents(store, "sim", simulation.clock(), entropy);
  for (int job = 0; job < kJobs; ++job) {
    const auto document = documents.get(name_of(job));
    if (document && *document) traces.documents.insert(name_of(job));
  }
  return traces;
}

std::string judge_traces(const Traces& traces, const World& world) {
  for (int job = 0; job < kJobs; ++job) {
    const std::string name = name_of(job);
    const std::uint64_t bit = std::uint64_t{1} << job;
    const int logged = traces.logged.contains(name) ? traces.logged.at(name) : 0;
    const bool summed = (static_cast<std::uint64_t>(traces.sum) & bit) != 0;
    const std::uint64_t counted = traces.top.contains(name) ? traces.top.at(name) : 0;
    if (logged > 1 || counted > bit) return name + " took effect twice";
    const bool put = traces.documents.contains(name);
    const bool others = world.parts != Parts::sum;
    const bool all = summed && (logged == 1) == others && (counted == bit) == others &&
                     put == (world.parts == Parts::all);
    const bool none = logged == 0 && !summed && counted == 0 && !put;
    if (!all && !none) return name + " took effect in part";
    if (!all && world.acknowledged.contains(job))
      return name + " was acknowledged and is not there";
    if (!all) return name + " was never done";
  }
  return traces.sum == (1 << kJobs) - 1 ? "" : "the sum is not exact";
}

using Script = Plan<std::monostate> (*)(World&);

Scenario clients_of(Script script, Parts parts) {
  return [script, parts](Simulation& simulation) -> std::string {
    World world{.parts = parts};
    for (int client = 0; client < kClients; ++client) {
      simulation.add_client("c" + std::to_string(client), [&] { return script(world); });
    }
    if (!simulation.run()) return "never ends";
    if (!world.complaint.empty()) return world.complaint;
    return judge_traces(traces_in(simulation), world);
  };
}

TEST(EffectsSimulation, H23_UnderAnIdAllHappensOnceOrNotAtAll) {
  expect_holds(2'000, clients_of(commit_under_ids, Parts::sum));
  expect_holds(1'000, clients_of(commit_under_ids, Parts::all_but_document));
  expect_holds(1'000, clients_of(commit_under_ids, Parts::all));
}

TEST(EffectsSimulation, CompletingAClaimAllHappensOnceOrNotAtAll) {
  expect_holds(2'000, clients_of(commit_under_claims, Parts::sum));
  expect_holds(1'000, clients_of(commit_under_claims, Parts::all_but_document));
  expect_holds(1'000, clients_of(commit_under_claims, Parts::all));
}

// --- A document that all clients change: the condition refuses, and nothing else happens. ---

// Reads a counter, and puts the next number if it is unchanged, together with a log entry.
Plan<std::monostate> count_up(std::set<std::string>& acknowledged, std::string client) {
  const Key key = documents::document_key("sim", "counter");
  for (int i = 0; i < 3; ++i) {
    const std::string mine = client + "-" + std::to_string(i);
    for (;;) {
      const auto current = co_await attempt(documents::get(key));
      if (!current) continue;
      documents::Condition condition = documents::IfAbsent{};
      std::string text;
      if (*current) {
        condition = documents::IfMatch{(*current)->etag};
        text = (*current)->content.bytes;
      }
      if (text.find(mine + ";") != std::string::npos) break;
      Effects effects = Effects()
                            .append("log", mine)
                            .put("counter", {text + mine + ";", "text/plain"}, condition);
      effects::Request request{.name_space = "sim", .id = mine, .effects = std::move(effects)};
      const auto outcome = co_await attempt(effects::commit(std::move(request)));
      const bool made = outcome && std::holds_alternative<effects::Made>(*outcome);
      if (made) acknowledged.insert(mine);
      if (made) break;
      co_await pause(20ms);
    }
  }
  co_return std::monostate{};
}

TEST(EffectsSimulation, ALogEntryStandsForEveryChangeOfADocumentAndForNothingElse) {
  expect_holds(1'000, [](Simulation& simulation) -> std::string {
    std::set<std::string> acknowledged;
    for (const char* client : {"a", "b"}) {
      simulation.add_client(client, [&, client] { return count_up(acknowledged, client); });
    }
    if (!simulation.run()) return "never ends";
    Entropy entropy(1);
    LocalLog log(simulation.store(), "sim", LogStrategy::conditional, simulation.clock(), entropy);
    LocalDocuments documents(simulation.store(), "sim", simulation.clock(), entropy);
    std::string logged;
    const auto page = log.read("log");
    for (const LogEntry& entry : page->events) logged += entry.data + ";";
    const auto document = documents.get("counter");
    if (!*document) return "there is no counter";
    return logged == (*document)->content.bytes ? "" : logged + " / " + (*document)->content.bytes;
  });
}

// --- The usual way without effects: act part by part, then mark. ---

Plan<std::monostate> act_then_complete(World& world) {
  for (int job = 0; job < kJobs; ++job) {
    for (;;) {
      const Key key = claims::claim_key("sim", name_of(job));
      ClaimRequest wanted{.lease = 2s};
      const auto taken = co_await attempt(claims::take(key, std::move(wanted)));
      if (taken && std::holds_alternative<Done>(*taken)) break;
      if (taken && std::holds_alternative<Claimed>(*taken)) {
        effects::Request request{.name_space = "sim", .effects = effects_of(job, world)};
        (void)co_await attempt(effects::commit(std::move(request)));
        const Ticket ticket = std::get<Claimed>(*taken).ticket;
        Bytes result;
        const auto done = co_await attempt(claims::complete(key, ticket, std::move(result)));
        if (done) world.acknowledged.insert(job);
      }
      co_await pause(200ms);
    }
  }
  co_return std::monostate{};
}

TEST(EffectsSimulation, ActingFirstAndCompletingLaterIsCaught) {
  EXPECT_TRUE(find_bug(200, clients_of(act_then_complete, Parts::sum)).has_value());
}

}  // namespace
}  // namespace once::testing
