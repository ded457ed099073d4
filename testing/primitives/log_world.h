// A log under the simulator: appenders, a reader and a trimmer, their answers, and a check of the
// log in the end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "primitives/log_stream.h"
#include "testing/simulator/hunt.h"

namespace once::testing {

inline constexpr Duration kBackoff{10};

class LogWorld {
 public:
  LogWorld(Simulation& simulation, LogStrategy strategy)
      : simulation_(simulation), stream_(logs::stream("ns", "s", strategy)) {}

  const logs::Stream& stream() const { return stream_; }

  // Appends `batches` batches of 1 to 3 events under the ids "name-0", "name-1", ..., each until it
  // is answered. Two clients with one name are a batch and its concurrent repeat.
  void add_appender(const std::string& client, const std::string& name, int batches);

  // The same without ids and without repeats.
  void add_nameless_appender(const std::string& name, int batches);

  // Under ids, and each expects the index that it believes to be next.
  void add_expecting_appender(const std::string& client, const std::string& name, int batches);

  // Appends in groups, as a server does for several callers: in each of `rounds` rounds a batch
  // under an id for each of `names`, and two without. Those with ids go on until they are answered.
  void add_server(const std::string& client, const std::vector<std::string>& names, int rounds);

  // The same, each expecting the index that it believes to be next.
  void add_expecting_server(const std::string& client, const std::vector<std::string>& names,
                            int rounds);

  void add_reader(int reads);

  // Trims to a random index, or everything, many times.
  void add_trimmer(int trims);
  void add_healer(int heals, Duration grace);

  // Frees the keys of all batches but the newest, as a trim must not (docs/hazards.md#h1).
  void add_careless_trimmer(int trims);

  // Closes the log and removes it, again and again.
  void add_remover(int removals);

  // Of appends without ids while logs are removed. Empty if the records of every life follow each
  // other from 1, and every acknowledged batch is in one life, once and at its index.
  std::string judge_lives();

  // Empty unless appenders were given overlapping indexes, or two positions for one batch.
  std::string judge_answers();

  // As judge(), and every append was answered with its place.
  std::string judge_all_appended();

  // Empty if all is well: the records follow each other from 1 without hole or overlap, every
  // acknowledged batch is at its index and nowhere else, and readers saw exactly these events.
  std::string judge();

 private:
  struct Batch {
    std::vector<std::string> data;
    std::int64_t first = 0;  // As acknowledged; 0 if it never was.
    bool named = true;
  };

  // The ends that a client knows. They survive a crash and may be old. One client has none.
  logs::KnownEnds* known_of(const std::string& client);

  Plan<std::monostate> append_all(std::string client, std::string name, int batches);
  Plan<std::monostate> append_nameless(std::string name);
  Plan<std::monostate> append_expecting(std::string client, std::string name, int batches);
  Plan<std::monostate> append_grouped(std::string client, std::vector<std::string> names,
                                      int rounds, std::optional<std::int64_t> expect);
  Plan<std::monostate> follow();
  Plan<std::monostate> trim_often();
  Plan<std::monostate> remove_often();
  Plan<std::monostate> free_often();
  Plan<std::monostate> heal_often(Duration grace);

  // Counts down the tries that a client has left. Crashes do not reset it.
  bool once_more(const std::string& client) { return left_[client]-- > 0; }
  void acknowledge(const std::string& id, const AppendOutcome& outcome);
  bool overlaps(const std::string& id, const Appended& place) const;
  void complain(const std::string& what);
  std::string judge_records();
  std::string judge_life(std::int64_t life, std::map<std::string, std::int64_t>& found);
  std::string judge_events();
  std::string judge_batch(const std::string& id, const Batch& batch) const;
  template <class T>
  Result<T> run(Plan<T> plan);

  Simulation& simulation_;
  const logs::Stream stream_;
  std::map<std::string, logs::KnownEnds> known_;
  std::map<std::string, int> left_;
  std::map<std::string, int> rounds_done_;
  std::map<std::string, Batch> batches_;
  std::map<std::int64_t, LogEntry> seen_;       // By the reader.
  std::map<std::int64_t, std::string> events_;  // In the end.
  std::int64_t position_ = 1;
  std::int64_t oldest_ = 1;
  int attempts_ = 0;
  bool lives_ = false;  // Of several lives: one index may be acknowledged in each.
  std::string complaint_;
};

}  // namespace once::testing
