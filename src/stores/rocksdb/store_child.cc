// The process that the store's tests kill, starve and compete with. Its first argument says how it
// is to behave, the second is the store's directory.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "once/entropy.h"
#include "once/rocksdb_store.h"

namespace once {
namespace {

Result<CommitOutcome> commit_pair(Store& store, std::int64_t number, const Bytes& value) {
  std::vector<Write> writes = {put({{"left", ""}, number}, value, absent()),
                               put({{"right", ""}, number}, value, absent())};
  for (Write& write : writes) write.version = system_entropy().version();
  return store.commit(writes);
}

// Prints each number once its commit is answered, for ever.
int commit_until_killed(Store& store, std::int64_t number, const Bytes& value) {
  for (;; ++number) {
    const Result<CommitOutcome> outcome = commit_pair(store, number, value);
    if (!outcome || !committed(*outcome)) return EXIT_FAILURE;
    std::cout << number << std::endl;
  }
}

int hold_until_told() {
  std::cout << "open" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return EXIT_SUCCESS;
}

// Commits until files may not grow any more, then tells how it goes on.
int commit_until_full(Store& store) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit bound{.rlim_cur = 100'000, .rlim_max = 100'000};
  if (::setrlimit(RLIMIT_FSIZE, &bound) != 0) return EXIT_FAILURE;
  std::int64_t number = 0;
  Result<CommitOutcome> outcome;
  do {
    outcome = commit_pair(store, number++, Bytes(800, 'x'));
  } while (outcome && committed(*outcome));
  if (outcome) return EXIT_FAILURE;
  std::cout << number - 1 << '\n' << name_of(outcome.error().code) << '\n';
  const Result<CommitOutcome> next = commit_pair(store, number, "value");
  std::cout << (next ? "answered" : name_of(next.error().code)) << '\n';
  const auto item = store.get({{"left", ""}, 0});
  std::cout << (item && *item ? "read" : "not read") << std::endl;
  return EXIT_SUCCESS;
}

// Opens the store, counts, and closes it, so many times.
int count_in_turn(const std::string& directory, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    auto store = open_rocksdb({.directory = directory, .wait_for_turn = std::chrono::minutes(1)});
    if (!store) {
      std::cout << store.error().message << std::endl;
      return EXIT_FAILURE;
    }
    Write one = add({{"turns", ""}, 0}, 1);
    one.version = system_entropy().version();
    if (!(*store)->commit({&one, 1})) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

void become_nobody() {
  if (::geteuid() == 0 && ::setresuid(65'534, 65'534, 65'534) != 0) std::abort();
}

int run(const std::string& how, const std::string& directory, const std::string& argument) {
  if (how == "open-as-nobody") become_nobody();
  if (how == "count-in-turn") return count_in_turn(directory, std::stoi(argument));
  RocksDbOptions options{.directory = directory};
  // So that the database writes files, and the log of commits is used again, all the time.
  const bool much = how == "commit-much-until-killed" || how == "commit-much-relaxed-until-killed";
  const bool relaxed =
      how == "commit-relaxed-until-killed" || how == "commit-much-relaxed-until-killed";
  if (much) options.memtable_bytes = 256U << 10;
  if (relaxed) options.durability = Durability::relaxed;
  auto store = open_rocksdb(options);
  if (!store) {
    std::cout << name_of(store.error().code) << '\n' << store.error().message << std::endl;
    return EXIT_SUCCESS;
  }
  if (much) return commit_until_killed(**store, std::stoll(argument), Bytes(20'000, 'x'));
  if (how == "commit-until-killed" || relaxed) {
    return commit_until_killed(**store, std::stoll(argument), "value");
  }
  if (how == "commit-until-full") return commit_until_full(**store);
  return hold_until_told();
}

}  // namespace
}  // namespace once

int main(int argc, char** argv) {
  if (argc < 3) return EXIT_FAILURE;
  return once::run(argv[1], argv[2], argc > 3 ? argv[3] : "");
}
