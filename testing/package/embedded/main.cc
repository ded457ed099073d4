#include <once/entropy.h>
#include <once/memory_store.h>
#include <once/rocksdb_store.h>

#include <cstdio>

namespace {

bool put_twice(const char* name, once::Store& store) {
  for (int i = 0; i < 2; ++i) {
    once::Write mark = once::put({.partition = {.home = "a"}}, "taken", once::absent());
    mark.version = once::system_entropy().version();
    const once::Result<once::CommitOutcome> outcome = store.commit({&mark, 1});
    if (!outcome) {
      std::fprintf(stderr, "%s: %s\n", name, outcome.error().message.c_str());
      return false;
    }
    std::printf("%s: %s\n", name, once::committed(*outcome) ? "written" : "refused");
  }
  return true;
}

}  // namespace

int main(int, char** argv) {
  const auto memory = once::open_memory();
  const auto rocksdb = once::open_rocksdb({.directory = argv[1]});
  if (!rocksdb) {
    std::fprintf(stderr, "%s\n", rocksdb.error().message.c_str());
    return 1;
  }
  return put_twice("memory", *memory) && put_twice("rocksdb", **rocksdb) ? 0 : 1;
}
