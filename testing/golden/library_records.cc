// library_records write|read DIRECTORY: what only the library stores. Logs of the strategies
// `reserve` and `transaction`, a monoid of one's own, and the forms of stores that take one write a
// commit. golden.py compares what `read` prints.
#include <cstdio>
#include <string>
#include <vector>

#include "once/local.h"
#include "once/rocksdb_store.h"
#include "testing/limited_store.h"

using namespace std::chrono_literals;
using once::LocalDocuments;
using once::LocalLog;
using once::LocalTallies;
using once::documents::IfAbsent;

namespace {

const std::string kSpace = "golden";

// Concatenates; for the order of merges not to matter, all parts are alike.
class Dots final : public once::Monoid {
 public:
  std::string name() const override { return "dots/1"; }
  once::Bytes identity() const override { return ""; }
  once::Result<void> validate(std::string_view state) const override {
    if (state.find_first_not_of('.') == std::string_view::npos) return {};
    return once::failure(once::ErrorCode::corrupt, "not dots");
  }
  once::Result<once::Bytes> merge(std::string_view a, std::string_view b) const override {
    return once::Bytes(a).append(b);
  }
};

template <class Outcome>
void print(const char* what, const once::Result<Outcome>& outcome) {
  if (!outcome) {
    std::printf("%s: %s\n", what, outcome.error().message.c_str());
    return;
  }
  std::printf("%s: outcome %zu", what, outcome->index());
  std::visit(
      [](const auto& one) {
        if constexpr (requires { one.first; }) {
          std::printf(" %lld to %lld", static_cast<long long>(one.first),
                      static_cast<long long>(one.last));
        }
        if constexpr (requires { one.replayed; }) std::printf(one.replayed ? ", replayed" : "");
      },
      *outcome);
  std::printf("\n");
}

void print_log(const char* what, once::Log& log, const char* stream) {
  const auto page = log.read(stream).value();
  for (const once::LogEntry& entry : page.events) {
    std::printf("%s %lld %lld %s\n", what, static_cast<long long>(entry.index),
                static_cast<long long>(entry.time.time_since_epoch().count()), entry.data.c_str());
  }
  const auto ends = log.ends(stream).value();
  std::printf("%s oldest %lld, next %lld\n", what, static_cast<long long>(ends.oldest),
              static_cast<long long>(ends.next));
}

once::TallyRequest sum(std::int64_t number, std::string id) {
  return {.shape = {.kind = once::TallyKind::sum}, .input = number, .id = std::move(id)};
}

once::TallyRequest hourly(std::string id) {
  once::TallyRequest request = sum(1, std::move(id));
  request.shape.window = once::TallyWindow::hour;
  request.at = once::Time(4'102'446'600'000ms);
  return request;
}

once::TallyRequest dots() {
  return {.shape = {.kind = once::TallyKind::own, .own = std::make_shared<Dots>()},
          .input = once::Bytes("..")};
}

const std::vector<once::LogEvent> kEvents{{"one", once::Time(1h)}, {"two", std::nullopt}};

// A range that was reserved and never written: three indexes, which heal() makes void.
void abandon_range(once::Store& store, once::Entropy& entropy) {
  once::Write write = once::add({{"log/" + kSpace + "/reserved", "r/h"}, 0}, 3);
  write.version = entropy.version();
  store.commit({&write, 1}).value();
}

void write_records(once::Store& store, once::Store& single) {
  LocalLog reserved(store, kSpace, once::LogStrategy::reserve);
  reserved.append("reserved", kEvents).value();
  abandon_range(store, once::system_entropy());
  reserved.append("reserved", kEvents, {.batch = "b"}).value();
  reserved.heal("reserved", 0ms).value();
  LocalLog transactional(store, kSpace, once::LogStrategy::transaction);
  transactional.append("transactional", kEvents, {.batch = "b"}).value();
  transactional.append("transactional", kEvents).value();
  transactional.trim("transactional", 3).value();
  LocalTallies(store, kSpace).merge("own", dots()).value();

  LocalLog log(single, kSpace);
  log.append("single", kEvents, {.batch = "b"}).value();
  LocalLog(single, kSpace, once::LogStrategy::reserve)
      .append("single", kEvents, {.batch = "b"})
      .value();
  LocalDocuments documents(single, kSpace);
  documents.put("single", {"one", "text/plain"}, IfAbsent{}, {.id = "i1"}).value();
  LocalTallies tallies(single, kSpace);
  tallies.merge("single", sum(5, "i1")).value();
  tallies.merge("hourly", hourly("i1")).value();
}

void read_records(once::Store& store, once::Store& single) {
  LocalLog reserved(store, kSpace, once::LogStrategy::reserve);
  print_log("reserved", reserved, "reserved");
  print("reserved again", reserved.append("reserved", kEvents, {.batch = "b"}));
  print("reserved next", reserved.append("reserved", kEvents));
  LocalLog transactional(store, kSpace, once::LogStrategy::transaction);
  print_log("transactional", transactional, "transactional");
  print("transactional again", transactional.append("transactional", kEvents, {.batch = "b"}));
  print("transactional next", transactional.append("transactional", kEvents));
  LocalTallies own(store, kSpace);
  const auto reading = own.read("own", {}, std::make_shared<Dots>()).value();
  std::printf("own %s\n", std::get<once::Bytes>(reading->value).c_str());

  LocalLog log(single, kSpace);
  print_log("single", log, "single");
  print("single again", log.append("single", kEvents, {.batch = "b"}));
  LocalLog single_reserved(single, kSpace, once::LogStrategy::reserve);
  print_log("single, reserved", single_reserved, "single");
  print("single, reserved, again", single_reserved.append("single", kEvents, {.batch = "b"}));
  LocalDocuments documents(single, kSpace);
  std::printf("document %s %s\n", documents.get("single").value()->content.bytes.c_str(),
              documents.get("single").value()->etag.c_str());
  print("document again", documents.put("single", {"one", "text/plain"}, IfAbsent{}, {.id = "i1"}));
  print("document otherwise",
        documents.put("single", {"two", "text/plain"}, IfAbsent{}, {.id = "i1"}));
  LocalTallies tallies(single, kSpace);
  print("sum again", tallies.merge("single", sum(5, "i1")));
  print("sum otherwise", tallies.merge("single", sum(6, "i1")));
  print("hourly again", tallies.merge("hourly", hourly("i1")));
  for (const char* name : {"single", "hourly"}) {
    std::printf("%s %lld\n", name,
                static_cast<long long>(std::get<std::int64_t>(tallies.read(name).value()->value)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("library_records write|read DIRECTORY\n", stderr), 64;
  auto store = once::open_rocksdb({.directory = argv[2]});
  if (!store) return std::fprintf(stderr, "%s\n", store.error().message.c_str()), 1;
  once::testing::LimitedStore single(**store, 1);
  (std::string(argv[1]) == "write" ? write_records : read_records)(**store, single);
}
