#include "once/marked_store.h"

#include <atomic>
#include <utility>

#include "stores/decorators/decorator.h"

namespace once {
namespace {

class Marked final : public Decorator<MarkedStore> {
 public:
  Marked(Store& inner, Key key, Version version)
      : Decorator(inner), key_(std::move(key)), version_(version) {}

  void look() override {
    const Result<std::optional<Item>> found = inner_.get(key_);
    if (!found || (*found && (*found)->version == version_)) return;
    found_ = *found ? Found::another : Found::nothing;
  }

  Result<void> check_same() const override {
    const Found found = found_;
    if (found == Found::same) return {};
    return failure(ErrorCode::unavailable,
                   found == Found::nothing
                       ? "the store was emptied since this process opened it: its birth mark is "
                         "gone; restart to use it as it is now"
                       : "this is not the store that was opened: it has another birth mark; "
                         "restart to use it as it is now");
  }

 protected:
  Result<CommitOutcome> do_commit(Transaction transaction) override {
    if (Result<void> same = check_same(); !same) return std::unexpected(std::move(same.error()));
    return inner_.commit(transaction);
  }
  std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions) override {
    if (const Result<void> same = check_same(); !same) {
      return std::vector<Result<CommitOutcome>>(transactions.size(), std::unexpected(same.error()));
    }
    return inner_.commit_each(transactions);
  }

 private:
  enum class Found : std::uint8_t { same, nothing, another };

  const Key key_;
  const Version version_;
  std::atomic<Found> found_ = Found::same;  // Once it is not the same, it stays so.
};

}  // namespace

Result<std::unique_ptr<MarkedStore>> mark(Store& inner, StoreMark mark, Entropy& entropy) {
  Result<std::optional<Item>> found = inner.get(mark.key);
  if (found && !*found) {
    Write write = put(mark.key, std::move(mark.value), absent_lasting());
    write.version = entropy.version();
    const Result<CommitOutcome> outcome = inner.commit({&write, 1});
    if (!outcome && outcome.error().code != ErrorCode::unknown) {
      return std::unexpected(outcome.error());
    }
    found = inner.get(mark.key);  // Ours, or that of a process that was faster.
  }
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return failure(ErrorCode::unavailable, "the store's birth mark cannot be put");
  return std::make_unique<Marked>(inner, std::move(mark.key), (*found)->version);
}

}  // namespace once
