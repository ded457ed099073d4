#include "story.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "archive.h"

namespace change_archive {
namespace {

constexpr int kEdits = 8;
constexpr int kMeetings = 6;  // Every other one is cancelled.

std::int64_t now_of(once::Once& once) { return once.now().time_since_epoch().count(); }

// What all of them did, and what they were told.
class Account {
 public:
  void recorded(const std::string& id, const once::Result<Recorded>& what) {
    const std::scoped_lock lock(mutex_);
    if (!what) {
      std::fprintf(stderr, "change_archive: %s\n", what.error().message.c_str());
      ++errors_;
      return;
    }
    ids_.insert(id);
    repeats_ += what->before ? 1 : 0;
    conflicts_ += what->conflicts;
  }
  void stale() {
    const std::scoped_lock lock(mutex_);
    ++stale_;
  }

  // For the end, when nobody is at it any more.
  const std::set<std::string>& ids() const { return ids_; }
  int repeats() const { return repeats_; }
  int conflicts() const { return conflicts_; }
  int errors() const { return errors_; }
  int stale_saves() const { return stale_; }

 private:
  std::mutex mutex_;
  std::set<std::string> ids_;
  int repeats_ = 0;
  int conflicts_ = 0;
  int errors_ = 0;
  int stale_ = 0;
};

// Two tasks. A back end that dies before it says that it is done has its work given to another one,
// which cannot know how far the first one came.
void process(once::Once& once, const std::string& change, const std::string& customer,
             Account& account, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const std::string task : {"notify", "apply"}) {
    const Entry entry{.id = "processed/" + customer + "/" + task,
                      .type = "processed",
                      .by = "back end",
                      .about = {customer, task},
                      .time = now_of(once)};
    const auto lives = 1 + random() % 3;
    for (std::uint64_t life = 0; life < lives; ++life) {
      account.recorded(entry.id, record(once, change, entry));
    }
  }
}

// A person has the change on the screen, edits it and saves it; if it is another by then, the
// person is shown what it is now and saves again.
void edit(once::Once& once, const std::string& change, int number, Account& account) {
  const std::string title = "Move to the new data centre, draft " + std::to_string(number);
  const Entry entry{.id = "edited/" + std::to_string(number),
                    .type = "edited",
                    .by = "ann",
                    .about = {title},
                    .time = now_of(once)};
  constexpr int kMostTries = 1'000;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto seen = load(once, change);
    if (!seen || !*seen) break;
    const auto saved = save(once, change, (*seen)->etag, entry);
    if (!saved) return account.recorded(entry.id, std::unexpected(saved.error()));
    if (const auto* done = std::get_if<Recorded>(&*saved)) return account.recorded(entry.id, *done);
    account.stale();
  }
  account.recorded(entry.id, once::failure(once::ErrorCode::unavailable, "an edit was not saved"));
}

void meet(once::Once& once, const std::string& change, int number, Account& account) {
  const std::string meeting = "review-" + std::to_string(number);
  const auto add = [&](const std::string& type) {
    const Entry entry{type + "/" + meeting, type, "ann", {meeting}, now_of(once)};
    account.recorded(entry.id, record(once, change, entry));
  };
  add("meeting_scheduled");
  if (number % 2 == 0) add("meeting_cancelled");
}

void work_at_the_front(once::Once& once, const std::string& change, Account& account) {
  for (int i = 1; i <= kEdits; ++i) {
    edit(once, change, i, account);
    if (i <= kMeetings) meet(once, change, i, account);
  }
}

// The history has each entry that somebody was told is recorded, once and no other.
bool is_whole(const Json& change, const Account& account) {
  std::set<std::string> ids;
  for (const Json& entry : change["history"]) {
    if (!ids.insert(entry["id"].get<std::string>()).second) return false;
  }
  return ids == account.ids();
}

}  // namespace

once::Result<bool> tell_story(once::Once& once, int customers, std::uint32_t seed) {
  const std::string name = "change-" + std::to_string(now_of(once));
  std::mt19937_64 random(seed);
  Account account;
  const Entry created{"created", "created", "ann", {"Move to the new data centre"}, now_of(once)};
  account.recorded(created.id, record(once, name, created));
  {
    std::vector<std::jthread> all;
    for (int i = 1; i <= customers; ++i) {
      all.emplace_back([&, i, own_seed = random()] {
        process(once, name, "customer-" + std::to_string(i), account, own_seed);
      });
    }
    all.emplace_back([&] { work_at_the_front(once, name, account); });
  }

  const once::Result<std::optional<Loaded>> end = load(once, name);
  if (!end) return std::unexpected(end.error());
  if (!*end) return false;
  const Json& change = (*end)->change;
  const std::size_t expected =
      1 + static_cast<std::size_t>(2 * customers) + kEdits + kMeetings + kMeetings / 2;
  const bool whole = is_whole(change, account) && change["history"].size() == expected;
  const once::Result<Json> again = replayed(change["history"]);
  const bool same = again && *again == change;
  std::printf("%s: %d customers and a front end, %zu entries\n", name.c_str(), customers,
              account.ids().size());
  std::printf(
      "others were faster %d times, and %d saves of a stale page were refused: tried again\n",
      account.conflicts(), account.stale_saves());
  std::printf("%d entries were recorded again by a second back end: known by their ids\n",
              account.repeats());
  std::printf("history of %zu entries: %s\n", change["history"].size(),
              whole ? "none lost, none twice" : "NOT AS PROMISED");
  std::printf("replayed from the beginning, it makes %s\n",
              same ? "the very object that is stored" : "ANOTHER OBJECT");
  return whole && same && account.errors() == 0;
}

}  // namespace change_archive
