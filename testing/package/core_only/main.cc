#include <once/blocking_driver.h>
#include <once/memory_store.h>

#include <cstdio>

namespace {

once::Plan<bool> first() {
  once::Write mark = once::put({.partition = {.home = "a"}}, 1, once::absent());
  const once::CommitOutcome outcome = co_await once::commit(mark);
  co_return once::committed(outcome);
}

}  // namespace

int main() {
  const auto store = once::open_memory();
  once::BlockingDriver driver(*store);
  for (int i = 0; i < 2; ++i) {
    const once::Result<bool> answer = driver.run(first());
    if (!answer) return 1;
    std::puts(*answer ? "written" : "refused");
  }
}
