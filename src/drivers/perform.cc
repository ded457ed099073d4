#include "drivers/perform.h"

#include <algorithm>

namespace once::detail {
namespace {

struct Performer {
  Store& store;
  Entropy& entropy;

  void operator()(GetStep* step) const { step->answer = store.get(step->keys); }
  void operator()(GetOneStep* step) const { step->answer = store.get(*step->key); }
  void operator()(ScanStep* step) const { step->answer = store.scan(*step->request); }
  void operator()(CommitStep* step) const {
    stamp(step->writes, entropy);
    step->answer = store.commit(step->writes);
  }
  void operator()(ListStep* step) const { step->answer = store.list(*step->request); }
  void operator()(CommitEachStep* step) const {
    stamp_each(step->transactions, entropy);
    const std::vector<Transaction> each(step->transactions.begin(), step->transactions.end());
    step->answer = store.commit_each(each);
  }
  void operator()(JoinStep*) const {}
  void operator()(PauseStep*) const {}
  void operator()(WaitStep*) const {}
  void operator()(std::monostate) const {}
};

bool needs_version(const Write& write) {
  return write.kind != Write::Kind::erase && write.kind != Write::Kind::check && !write.version;
}

}  // namespace

void stamp(std::span<Write> writes, Entropy& entropy) {
  for (Write& write : writes) {
    if (needs_version(write)) write.version = entropy.version();
  }
}

void stamp_each(std::span<const std::span<Write>> transactions, Entropy& entropy) {
  std::uint64_t needed = 0;
  for (const std::span<Write>& writes : transactions) {
    needed += static_cast<std::uint64_t>(std::ranges::count_if(writes, needs_version));
  }
  // All at once: the counter is shared between threads, so each use is expensive.
  Version next = needed > 0 ? entropy.versions(needed) : Version{};
  for (const std::span<Write>& writes : transactions) {
    for (Write& write : writes) {
      if (needs_version(write)) write.version = {next.number++};
    }
  }
}

void perform(const Step& step, Store& store, Entropy& entropy) {
  std::visit(Performer{store, entropy}, step);
}

std::optional<Duration> length_of(const Step& step) {
  if (auto* const* pause = std::get_if<PauseStep*>(&step)) return (*pause)->length;
  if (auto* const* wait = std::get_if<WaitStep*>(&step)) {
    return std::min((*wait)->poll, (*wait)->longest);
  }
  return std::nullopt;
}

bool is_unknown(const Step& step) {
  const auto unknown = [](const Result<CommitOutcome>& answer) {
    return !answer && answer.error().code == ErrorCode::unknown;
  };
  if (auto* const* each = std::get_if<CommitEachStep*>(&step)) {
    return (*each)->answer && std::ranges::any_of(*(*each)->answer, unknown);
  }
  const Error* error = error_of(step);
  return error != nullptr && error->code == ErrorCode::unknown;
}

Error out_of_time(bool saw_unknown) {
  if (saw_unknown) return {ErrorCode::unknown, "out of time; an earlier write may have happened"};
  return {ErrorCode::unavailable, "out of time"};
}

Error stopped(bool saw_unknown) {
  Error error = out_of_time(saw_unknown);
  error.message = "the driver was stopped; " + error.message;
  return error;
}

}  // namespace once::detail
