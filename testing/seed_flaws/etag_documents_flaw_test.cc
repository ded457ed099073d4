// docs/recipes.md#3-etag-documents: read with the ETag, modify, write if it still matches, up to
// three retries without jitter. A lost reply appends the entry twice, many writers give up, and a
// writer that leaves out the condition undoes another's change.
#include <gtest/gtest.h>

#include "once/blocking_driver.h"
#include "once/documents.h"
#include "testing/simulator/hunt.h"

namespace once::testing {
namespace {

using namespace documents;

constexpr int kRetries = 3;
constexpr Duration kRedelivery{500};
const Key kArchive{{"archive", ""}, 0};
const Key kDocument = document_key("sim", "archive");

const SimulationOptions kNoFaults{.fates = {0, 0, 0, 0, 0}};
const SimulationOptions kLostReplies{.fates = {30, 30, 30, 0, 0}};

std::string entry_of(int customer) { return "<" + std::to_string(customer) + ">"; }

int count_of(const Bytes& bytes, const std::string& entry) {
  int count = 0;
  for (auto at = bytes.find(entry); at != Bytes::npos; at = bytes.find(entry, at + 1)) ++count;
  return count;
}

// One modification; false if it gave up.
using Modification = std::function<Plan<bool>(std::string entry)>;

// --- The known design. ---

Plan<bool> put_if_match(std::string entry, Guard guard, Bytes before) {
  Write write = once::put(kArchive, before + entry, guard);
  const CommitOutcome outcome = co_await commit(write);
  co_return committed(outcome);
}

Plan<bool> modify_by_document(std::string entry) {
  for (int tries = 0; tries <= kRetries; ++tries) {
    const std::optional<Item> item = co_await once::get(kArchive);
    const Bytes before = item ? std::get<Bytes>(item->value) : "";
    const Guard guard = item ? unchanged(item->version) : absent();
    const bool matched = co_await put_if_match(entry, guard, before);
    if (matched) co_return true;
    co_await pause(Duration(100 << tries));
  }
  co_return false;
}

// As its other writers do.
Plan<bool> modify_without_condition(std::string entry) {
  const std::optional<Item> item = co_await once::get(kArchive);
  const Bytes before = item ? std::get<Bytes>(item->value) : "";
  const Guard none = anything();
  co_return co_await put_if_match(entry, none, before);
}

Bytes archive_by_document(Simulation& simulation) {
  const auto item = simulation.store().get(kArchive);
  return *item ? std::get<Bytes>((*item)->value) : "";
}

// --- Ours. ---

// Each customer is a process of its own and does not know the conflicts of the others.
Plan<bool> modify_by_update(std::string entry, Contention& own) {
  const Modify modify = [entry](const std::optional<Content>& current) -> Result<Modified> {
    return Content{(current ? current->bytes : "") + entry, "text/plain"};
  };
  UpdateRequest request{modify, {entry}, entry};
  const UpdateOutcome outcome = co_await update(kDocument, std::move(request), own);
  co_return std::holds_alternative<Updated>(outcome);
}

Bytes archive_by_update(Simulation& simulation) {
  BlockingDriver driver(simulation.store(), simulation.clock());
  const auto document = driver.run(documents::get(kDocument)).value();
  return document ? document->content.bytes : "";
}

// --- The workload, and the check. ---

// Sends the modification until there is an answer, as the caller of a customer would.
Plan<std::monostate> invoke(const Modification& modification, std::string entry, int& given_up) {
  for (;;) {
    const Result<bool> made = co_await attempt(modification(entry));
    if (made && !*made) ++given_up;
    if (made) co_return std::monostate{};
    co_await pause(kRedelivery);
  }
}

struct Way {
  std::function<Modification(int customer)> modification;
  std::function<Bytes(Simulation&)> archive;
};

std::string judge(Simulation& simulation, const Way& way, int customers) {
  int given_up = 0;
  std::vector<Modification> modifications;
  for (int i = 0; i < customers; ++i) modifications.push_back(way.modification(i));
  for (int i = 0; i < customers; ++i) {
    simulation.add_client("customer " + std::to_string(i),
                          [&, i] { return invoke(modifications[i], entry_of(i), given_up); });
  }
  if (!simulation.run()) return "never ends";
  if (given_up > 0) return "a change was given up";
  const Bytes archive = way.archive(simulation);
  for (int i = 0; i < customers; ++i) {
    const int times = count_of(archive, entry_of(i));
    if (times != 1) return times == 0 ? "a change was lost" : "an entry was appended twice";
  }
  return "";
}

Way the_documents(Plan<bool> (*of_first)(std::string)) {
  return {[of_first](int customer) { return customer == 0 ? of_first : modify_by_document; },
          archive_by_document};
}

std::string judge_ours(Simulation& simulation, int customers) {
  std::vector<Contention> contentions(customers);
  const Way way{[&](int customer) -> Modification {
                  return [&own = contentions[customer]](std::string entry) {
                    return modify_by_update(std::move(entry), own);
                  };
                },
                archive_by_update};
  return judge(simulation, way, customers);
}

std::string complaint_of(const Way& way, int customers, const SimulationOptions& options) {
  const auto found = find_bug(
      500, [&](Simulation& simulation) { return judge(simulation, way, customers); }, options);
  return found ? found->complaint : "";
}

TEST(EtagDocumentsDesign, AnEntryIsAppendedTwiceWhenAReplyIsLost) {
  EXPECT_EQ(complaint_of(the_documents(modify_by_document), 3, kLostReplies),
            "an entry was appended twice");
}

TEST(EtagDocumentsDesign, OfThirtyCustomersSomeGiveUp) {
  EXPECT_EQ(complaint_of(the_documents(modify_by_document), 30, kNoFaults),
            "a change was given up");
}

TEST(EtagDocumentsDesign, AWriterThatBypassesTheConditionUndoesAnothersChange) {
  EXPECT_EQ(complaint_of(the_documents(modify_without_condition), 3, kNoFaults),
            "a change was lost");
}

TEST(EtagDocumentsDesign, UpdatesAreMadeOnceAndNoneIsGivenUp) {
  const Scenario three = [](Simulation& simulation) { return judge_ours(simulation, 3); };
  const Scenario thirty = [](Simulation& simulation) { return judge_ours(simulation, 30); };
  expect_holds(2'000, three);
  expect_holds(2'000, three, kLostReplies);
  expect_holds(2'000, three, kNoFaults);
  expect_holds(200, thirty, kNoFaults);
}

}  // namespace
}  // namespace once::testing
