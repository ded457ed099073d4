#include "testing/primitives/log_world.h"

#include "once/blocking_driver.h"
#include "testing/simulator/combined.h"

namespace once::testing {
namespace {

std::vector<LogEvent> events_of(const std::vector<std::string>& data) {
  std::vector<LogEvent> events;
  for (const std::string& bytes : data) events.push_back({bytes, std::nullopt});
  return events;
}

std::vector<std::string> data_of(const std::string& id, int count) {
  std::vector<std::string> data;
  for (int i = 0; i < count; ++i) data.push_back(id + '/' + std::to_string(i));
  return data;
}

}  // namespace

void LogWorld::add_appender(const std::string& client, const std::string& name, int batches) {
  simulation_.add_client(client, [=, this] { return append_all(client, name, batches); });
}

void LogWorld::add_nameless_appender(const std::string& name, int batches) {
  left_[name] = batches;
  simulation_.add_client(name, [=, this] { return append_nameless(name); });
}

void LogWorld::add_expecting_appender(const std::string& client, const std::string& name,
                                      int batches) {
  simulation_.add_client(client, [=, this] { return append_expecting(client, name, batches); });
}

void LogWorld::add_server(const std::string& client, const std::vector<std::string>& names,
                          int rounds) {
  simulation_.add_client(client,
                         [=, this] { return append_grouped(client, names, rounds, std::nullopt); });
}

void LogWorld::add_expecting_server(const std::string& client,
                                    const std::vector<std::string>& names, int rounds) {
  simulation_.add_client(client, [=, this] { return append_grouped(client, names, rounds, 1); });
}

void LogWorld::add_reader(int reads) {
  left_["reader"] = reads;
  simulation_.add_client("reader", [this] { return follow(); });
}

void LogWorld::add_trimmer(int trims) {
  left_["trimmer"] = trims;
  simulation_.add_client("trimmer", [this] { return trim_often(); });
}

void LogWorld::add_remover(int removals) {
  lives_ = true;
  left_["remover"] = removals;
  simulation_.add_client("remover", [this] { return remove_often(); });
}

void LogWorld::add_healer(int heals, Duration grace) {
  left_["healer"] = heals;
  simulation_.add_client("healer", [=, this] { return heal_often(grace); });
}

void LogWorld::add_careless_trimmer(int trims) {
  left_["careless"] = trims;
  simulation_.add_client("careless", [this] { return free_often(); });
}

logs::KnownEnds* LogWorld::known_of(const std::string& client) {
  return client == "b" ? nullptr : &known_[client];
}

Plan<std::monostate> LogWorld::append_all(std::string client, std::string name, int batches) {
  logs::KnownEnds* const known = known_of(client);
  for (int i = 0; i < batches; ++i) {
    const std::string id = name + '-' + std::to_string(i);
    const std::vector<std::string> data = data_of(id, i % 3 + 1);
    batches_.try_emplace(id, Batch{data});
    AppendRequest request{.batch = id};
    for (;;) {
      Result<AppendOutcome> outcome =
          co_await attempt(logs::append(stream_, events_of(data), request, known));
      if (outcome) {
        acknowledge(id, *outcome);
        break;
      }
      co_await pause(kBackoff);
    }
  }
  co_return std::monostate{};
}

Plan<std::monostate> LogWorld::append_nameless(std::string name) {
  logs::KnownEnds* const known = known_of(name);
  while (once_more(name)) {
    // The length identifies an attempt even when its events are trimmed.
    const std::string id = name + '-' + std::to_string(++attempts_);
    const std::vector<std::string> data = data_of(id, attempts_);
    batches_.try_emplace(id, Batch{data, 0, false});
    const AppendRequest request;
    Result<AppendOutcome> outcome =
        co_await attempt(logs::append(stream_, events_of(data), request, known));
    if (outcome) acknowledge(id, *outcome);
  }
  co_return std::monostate{};
}

Plan<std::monostate> LogWorld::append_expecting(std::string client, std::string name, int batches) {
  logs::KnownEnds* const known = known_of(client);
  for (int i = 0; i < batches; ++i) {
    const std::string id = name + '-' + std::to_string(i);
    const std::vector<std::string> data = data_of(id, i % 3 + 1);
    batches_.try_emplace(id, Batch{data});
    AppendRequest request{.batch = id, .expect = 1};
    for (;;) {
      Result<AppendOutcome> outcome =
          co_await attempt(logs::append(stream_, events_of(data), request, known));
      const NotNext* refused = outcome ? std::get_if<NotNext>(&*outcome) : nullptr;
      if (outcome && refused == nullptr) {
        const auto* place = std::get_if<Appended>(&*outcome);
        const bool fresh = place != nullptr && !place->replayed;
        if (fresh && place->first != request.expect) complain(id + " was not expected there");
        acknowledge(id, *outcome);
        break;
      }
      if (refused != nullptr) request.expect = refused->next;
      co_await pause(kBackoff);
    }
  }
  co_return std::monostate{};
}

Plan<std::monostate> LogWorld::append_grouped(std::string client, std::vector<std::string> names,
                                              int rounds, std::optional<std::int64_t> expect) {
  logs::KnownEnds* const known = known_of(client);
  for (int i = 0; i < rounds; ++i) {
    // What has an id is sent until it is answered; what has none goes with the first try.
    std::vector<std::string> ids;
    for (const std::string& name : names) ids.push_back(name + '-' + std::to_string(i));
    bool first = rounds_done_[client] <= i;
    rounds_done_[client] = i + 1;
    while (!ids.empty()) {
      const std::size_t named = ids.size();
      std::vector<Plan<AppendOutcome>> plans;
      for (std::size_t k = 0; k < named; ++k) {
        const std::vector<std::string> data = data_of(ids[k], i % 3 + 1);
        batches_.try_emplace(ids[k], Batch{data});
        const AppendRequest request{.batch = ids[k], .expect = expect};
        plans.push_back(logs::append(stream_, events_of(data), request, known));
      }
      for (int k = 0; first && k < 2; ++k) {
        // The length identifies it.
        const std::string id = client + "/" + std::to_string(++attempts_);
        const std::vector<std::string> data = data_of(id, attempts_);
        batches_.try_emplace(id, Batch{data, 0, false});
        ids.push_back(id);
        plans.push_back(logs::append(stream_, events_of(data), {}, known));
      }
      first = false;
      const std::vector<Result<AppendOutcome>> outcomes = co_await combined(std::move(plans));
      std::vector<std::string> again;
      for (std::size_t k = 0; k < ids.size(); ++k) {
        const NotNext* refused = outcomes[k] ? std::get_if<NotNext>(&*outcomes[k]) : nullptr;
        if (outcomes[k] && refused == nullptr) acknowledge(ids[k], *outcomes[k]);
        if (k < named && (!outcomes[k] || refused != nullptr)) again.push_back(ids[k]);
        if (refused != nullptr) expect = refused->next;
      }
      ids = std::move(again);
      if (!ids.empty()) co_await pause(kBackoff);
    }
  }
  co_return std::monostate{};
}

Plan<std::monostate> LogWorld::follow() {
  while (once_more("reader")) {
    const LogRead request{.from = position_, .limit = 3};
    Result<LogPage> page = co_await attempt(logs::read(stream_, request));
    if (page) {
      std::int64_t at = position_;
      for (const LogEntry& event : page->events) {
        if (event.index < at || (event.index > at && at != position_)) complain("read a gap");
        at = event.index + 1;
        seen_.emplace(event.index, event);
      }
      position_ = std::max(position_, page->next);
    } else if (page.error().code == ErrorCode::corrupt) {
      complain("read: " + page.error().message);
    }
    co_await pause(kBackoff);
  }
  co_return std::monostate{};
}

Plan<std::monostate> LogWorld::trim_often() {
  while (once_more("trimmer")) {
    const std::uint64_t drawn = co_await random_number();
    const std::int64_t before = drawn % 2 == 0 ? 1'000 : static_cast<std::int64_t>(drawn % 20);
    Result<LogEnds> ends = co_await attempt(logs::trim(stream_, before));
    if (ends) oldest_ = std::max(oldest_, ends->oldest);
    co_await pause(Duration(static_cast<std::int64_t>(drawn % 20'000)));
  }
  co_return std::monostate{};
}

Plan<std::monostate> LogWorld::remove_often() {
  while (once_more("remover")) {
    const std::uint64_t drawn = co_await random_number();
    (void)co_await attempt(logs::close(stream_, std::nullopt));
    co_await pause(Duration(static_cast<std::int64_t>(drawn % 40)));
    (void)co_await attempt(logs::remove(stream_));
    co_await pause(Duration(static_cast<std::int64_t>(drawn % 100)));
  }
  co_return std::monostate{};
}

Plan<std::monostate> LogWorld::free_often() {
  while (once_more("careless")) {
    const logs::Range all{.limit = 100};
    Result<std::vector<logs::StoredRecord>> found =
        co_await attempt(logs::read_records(stream_, all));
    for (std::size_t k = 0; found && k + 1 < found->size(); ++k) {
      Write write = erase({logs::batch_partition(stream_), (*found)[k].first}, anything());
      (void)co_await attempt(commit(write));
    }
    co_await pause(kBackoff);
  }
  co_return std::monostate{};
}

Plan<std::monostate> LogWorld::heal_often(Duration grace) {
  while (once_more("healer")) {
    (void)co_await attempt(logs::heal(stream_, grace));
    co_await pause(kBackoff);
  }
  co_return std::monostate{};
}

void LogWorld::acknowledge(const std::string& id, const AppendOutcome& outcome) {
  const auto* appended = std::get_if<Appended>(&outcome);
  if (lives_ && std::holds_alternative<LogClosed>(outcome)) return;
  if (appended == nullptr) return complain(id + " was refused");
  Batch& batch = batches_.at(id);
  const auto count = static_cast<std::int64_t>(batch.data.size());
  if (appended->last - appended->first + 1 != count) complain(id + " has another length");
  if (batch.first != 0 && batch.first != appended->first) complain(id + " was told two places");
  if (!lives_ && overlaps(id, *appended)) complain(id + " was told another's place");
  batch.first = appended->first;
  simulation_.note(id + " is at " + std::to_string(appended->first));
}

bool LogWorld::overlaps(const std::string& id, const Appended& place) const {
  for (const auto& [other, batch] : batches_) {
    const std::int64_t end = batch.first + static_cast<std::int64_t>(batch.data.size());
    if (other == id || batch.first == 0) continue;
    if (place.first < end && batch.first <= place.last) return true;
  }
  return false;
}

void LogWorld::complain(const std::string& what) {
  if (complaint_.empty()) complaint_ = what;
  simulation_.note("COMPLAINT " + what);
}

template <class T>
Result<T> LogWorld::run(Plan<T> plan) {
  Entropy entropy(1);
  BlockingDriver driver(simulation_.store(), simulation_.clock(), entropy);
  return driver.run(std::move(plan));
}

std::string LogWorld::judge_answers() {
  if (!simulation_.run()) return "never ends";
  return complaint_;
}

std::string LogWorld::judge_all_appended() {
  if (std::string wrong = judge(); !wrong.empty()) return wrong;
  for (const auto& [id, batch] : batches_) {
    if (batch.first == 0) return id + " was not appended";
  }
  return "";
}

std::string LogWorld::judge() {
  if (!simulation_.run()) return "never ends";
  if (stream_.strategy == LogStrategy::reserve && !run(logs::heal(stream_, Duration(0)))) {
    return "cannot be healed";
  }
  if (!complaint_.empty()) return complaint_;
  if (std::string wrong = judge_records(); !wrong.empty()) return wrong;
  return judge_events();
}

std::string LogWorld::judge_life(std::int64_t life, std::map<std::string, std::int64_t>& found) {
  logs::Stream stream = stream_;
  stream.life = life;
  const auto records = run(logs::read_records(stream, {.limit = 1'000}));
  if (!records) return records.error().message;
  std::int64_t at = 1;
  for (const logs::StoredRecord& next : *records) {
    if (next.first != at) return "hole or overlap at " + std::to_string(at);
    at = next.end();
    if (next.record.state == logs::LogRecord::State::closed) continue;
    std::int64_t first = next.first;
    for (const logs::BatchPart& part : next.record.parts) {
      const std::string id = "of length " + std::to_string(part.count);
      if (!found.emplace(id, first).second) return "a batch is there twice: " + id;
      first += part.count;
    }
  }
  return "";
}

std::string LogWorld::judge_lives() {
  if (!simulation_.run()) return "never ends";
  if (!complaint_.empty()) return complaint_;
  const auto last = run(logs::current_life(stream_));
  if (!last) return last.error().message;
  std::map<std::string, std::int64_t> found;
  for (std::int64_t life = 0; life <= last->life; ++life) {
    if (std::string wrong = judge_life(life, found); !wrong.empty()) return wrong;
  }
  for (const auto& [id, batch] : batches_) {
    if (batch.first == 0) continue;
    const auto at = found.find("of length " + std::to_string(batch.data.size()));
    if (at == found.end() || at->second != batch.first) return id + " was lost";
  }
  return "";
}

std::string LogWorld::judge_records() {
  const auto records = run(logs::read_records(stream_, {.limit = 1'000}));
  if (!records) return records.error().message;
  std::int64_t at = 1;
  std::map<std::string, std::int64_t> ids;
  for (const logs::StoredRecord& next : *records) {
    if (next.first != at) return "hole or overlap at " + std::to_string(at);
    at = next.end();
    if (next.record.state == logs::LogRecord::State::blank) continue;
    std::int64_t first = next.first;
    for (const logs::BatchPart& part : next.record.parts) {
      std::string id = part.batch;
      if (id.empty()) id = "of length " + std::to_string(part.count);
      if (!ids.emplace(id, first).second) return "a batch is there twice: " + id;
      first += part.count;
    }
  }
  for (const auto& [id, batch] : batches_) {
    if (batch.named && batch.first == 0) return id + " was never answered";
    if (batch.named && (!ids.contains(id) || ids[id] != batch.first)) return id + " is missing";
  }
  return "";
}

std::string LogWorld::judge_events() {
  const auto page = run(logs::read(stream_, {.limit = 10'000}));
  if (!page) return page.error().message;
  for (const LogEntry& event : page->events) {
    events_[event.index] = event.data;
    const auto seen = seen_.find(event.index);
    if (seen != seen_.end() && !(seen->second == event)) return "replayed otherwise";
  }
  if (!page->events.empty() && page->events.front().index < oldest_) return "came back";
  // Not from the trimmer's answers: it may have crashed before each of them.
  const auto trimmed = run(logs::read_mark(stream_, logs::Mark::oldest));
  if (!trimmed) return trimmed.error().message;
  oldest_ = *trimmed;
  for (const auto& [id, batch] : batches_) {
    if (std::string wrong = judge_batch(id, batch); !wrong.empty()) return wrong;
  }
  return "";
}

std::string LogWorld::judge_batch(const std::string& id, const Batch& batch) const {
  for (std::size_t i = 0; i < batch.data.size(); ++i) {
    const std::int64_t place = batch.first + static_cast<std::int64_t>(i);
    std::size_t times = 0;
    for (const auto& [index, data] : events_) {
      if (data != batch.data[i]) continue;
      ++times;
      if (batch.first != 0 && index != place) return id + " is not where it was said to be";
    }
    if (times > 1) return id + " was read twice";
    if (times == 0 && batch.first != 0 && place >= oldest_) return id + " was lost";
  }
  return "";
}

}  // namespace once::testing
