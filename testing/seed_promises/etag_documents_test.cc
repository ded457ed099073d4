// docs/recipes.md#3-etag-documents: its scenarios, its retry strategy and its test scenarios by
// name. Its "~30 customers" are in src/primitives: document_groups_test.cc if they are combined,
// document_contention_test.cc if they are separate.
#include <gtest/gtest.h>

#include "once/documents.h"
#include "once/faulty_store.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "stores/decorators/decorator.h"
#include "testing/code_of.h"
#include "testing/process.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;
using namespace documents;

Modify appending(std::string entry) {
  return [entry](const std::optional<Content>& current) -> Result<Modified> {
    return Content{(current ? current->bytes : "") + entry, "application/json"};
  };
}

UpdateRequest entry(const std::string& text, const std::string& id = "") {
  return {.modify = appending(text), .identity = {id}, .body = text};
}

// The design's own policy: three retries, and no more under contention.
UpdateRequest plainly(Modify modify) { return {std::move(modify), {}, {}, /*adaptive=*/false}; }

class EtagDocuments : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(backend_.put("change-1", {"created;", "application/json"}, IfAbsent{}));
    before_ = metered_->snapshot();
  }

  Document load() { return backend_.get("change-1").value().value(); }
  Bytes archive() { return load().content.bytes; }

  // Like appending(), but another writer is faster, `times` times.
  Modify overtaken(int times, const std::string& text) {
    return [this, left = times,
            text](const std::optional<Content>& current) mutable -> Result<Modified> {
      if (left-- > 0) {
        LocalDocuments rival(*memory_, "archives", clock_, entropy_);
        EXPECT_TRUE(rival.update("change-1", entry("rival;")));
      }
      return appending(text)(current);
    };
  }

  std::uint64_t commits() {
    const StoreMetrics now = metered_->snapshot();
    return now.commit.calls + now.commit_each.calls - before_.commit.calls;
  }
  std::uint64_t mismatches() {
    const StoreMetrics now = metered_->snapshot();
    return now.commit.lost + now.commit_each.lost;
  }

  Plan<UpdateOutcome> updating(const std::string& text, Contention& contention) {
    return update(document_key("archives", "change-1"), entry(text), contention);
  }

  ManualClock clock_;
  Entropy entropy_{7};
  std::unique_ptr<MemoryStore> memory_ = open_memory({}, clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*memory_);
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*metered_, {}, clock_);
  LocalDocuments frontend_{*faulty_, "archives", clock_, entropy_};
  LocalDocuments backend_{*faulty_, "archives", clock_, entropy_};
  StoreMetrics before_;
};

// "Scenario 1: Frontend + Backend Concurrent Writes", and "Optimistic Locking for Frontend".
TEST_F(EtagDocuments, Scenario1_TheBackendCannotOverwriteTheFrontendsEdit) {
  const Document seen_by_user = *frontend_.get("change-1").value();
  const Document seen_by_backend = *backend_.get("change-1").value();
  const Content edit{seen_by_user.content.bytes + "edited;", "application/json"};
  const Content result{seen_by_backend.content.bytes + "processed;", "application/json"};
  const auto saved = frontend_.put("change-1", edit, IfMatch{seen_by_user.etag});
  EXPECT_TRUE(std::holds_alternative<Updated>(saved.value()));
  const auto refused = backend_.put("change-1", result, IfMatch{seen_by_backend.etag});
  EXPECT_EQ(std::get<PreconditionFailed>(refused.value()).etag, load().etag);
  ASSERT_TRUE(backend_.update("change-1", entry("processed;")));
  EXPECT_EQ(archive(), "created;edited;processed;");
}

// "Scenario 2: Multiple Customers Processing Same Change", and "Scenario 2: Single Conflict (Retry
// Path)": one succeeds, one retries and succeeds.
TEST_F(EtagDocuments, Scenario2_TwoCustomersThatReadTheSameEtagBothKeepTheirResult) {
  Contention of_a;
  Contention of_b;
  std::vector<Plan<UpdateOutcome>> customers;
  customers.push_back(updating("A;", of_a));
  customers.push_back(updating("B;", of_b));
  for (const auto& outcome : run_in_step(*metered_, clock_, entropy_, std::move(customers))) {
    EXPECT_TRUE(std::holds_alternative<Updated>(outcome.value()));
  }
  EXPECT_EQ(archive(), "created;A;B;");
  EXPECT_EQ(mismatches(), 1U);
}

// "How It Works", steps 1 to 5.
TEST_F(EtagDocuments, AWriteWithTheEtagThatStandsSucceedsAndChangesIt) {
  const std::string etag = load().etag;
  ASSERT_TRUE(backend_.put("change-1", {"next", "text/plain"}, IfMatch{etag}));
  EXPECT_NE(load().etag, etag);
  EXPECT_EQ(archive(), "next");
}

// `ETagMismatchError`, `IsETagMismatch`: a type of its own, not text to search. An absent document
// is a mismatch, too, where S3 says 404.
TEST_F(EtagDocuments, AMismatchIsATypeThatCarriesWhatStandsThere) {
  const std::string first = load().etag;
  ASSERT_TRUE(backend_.update("change-1", entry("x;")));
  const WriteOutcome stale = backend_.put("change-1", {}, IfMatch{first}).value();
  EXPECT_EQ(std::get<PreconditionFailed>(stale).etag, load().etag);
  const WriteOutcome missing = backend_.put("change-2", {}, IfMatch{first}).value();
  EXPECT_EQ(std::get<PreconditionFailed>(missing).etag, std::nullopt);
  EXPECT_FALSE(backend_.get("change-2").value().has_value());
}

// "Updated Functions": every write is conditional.
TEST_F(EtagDocuments, NoWriterCanBypassTheCondition) {
  const WriteOutcome unseen = backend_.put("change-1", {"mine", "text/plain"}, {}).value();
  EXPECT_TRUE(std::holds_alternative<PreconditionFailed>(unseen));
  for (const char* text : {"processed;", "meeting scheduled;", "meeting cancelled;"}) {
    ASSERT_TRUE(backend_.update("change-1", entry(text)));
  }
  EXPECT_EQ(archive(), "created;processed;meeting scheduled;meeting cancelled;");
}

// Records how long a caller had to sleep.
class NotingClock final : public Clock {
 public:
  explicit NotingClock(ManualClock& clock) : clock_(clock) {}
  Time now() override { return clock_.now(); }
  void sleep(Duration length) override {
    slept.push_back(length);
    clock_.advance(length);
  }
  void wait(std::condition_variable& signal, std::unique_lock<std::mutex>& lock,
            Time until) override {
    clock_.wait(signal, lock, until);
  }
  std::vector<Duration> slept;

 private:
  ManualClock& clock_;
};

// "Exponential Backoff" and "Max Retries: 3", with the jitter that it lacks.
TEST_F(EtagDocuments, RetriesWaitUpTo100Then200Then400MillisecondsAndNotInStep) {
  std::vector<Duration> longest(3);
  std::vector<Duration> shortest(3, 1h);
  for (int i = 0; i < 100; ++i) {
    NotingClock noting(clock_);
    LocalDocuments instance(*metered_, "archives", noting, entropy_);
    ASSERT_TRUE(instance.update("change-1", plainly(overtaken(4, "x;"))));
    ASSERT_EQ(noting.slept.size(), 3U);
    for (std::size_t k = 0; k < 3; ++k) {
      longest[k] = std::max(longest[k], noting.slept[k]);
      shortest[k] = std::min(shortest[k], noting.slept[k]);
    }
  }
  for (int k = 0; k < 3; ++k) {
    EXPECT_LE(longest[k], Duration(100 << k));
    EXPECT_GT(longest[k], Duration(90 << k));
    EXPECT_LT(shortest[k], Duration(10 << k));
  }
}

// "ETag Mismatch (Retryable)": "on attempt 2".
TEST_F(EtagDocuments, AMismatchIsRetriedAndSucceedsOnTheSecondAttempt) {
  ASSERT_TRUE(backend_.update("change-1", plainly(overtaken(1, "x;"))));
  EXPECT_EQ(archive(), "created;rival;x;");
  EXPECT_EQ(commits(), 2U);
}

// "Other S3 Errors (Non-Retryable)": AccessDenied.
TEST_F(EtagDocuments, AnotherErrorIsNeitherRetriedNorTakenForAMismatch) {
  class Denying final : public Decorator<Store> {
   public:
    using Decorator::Decorator;

   protected:
    Result<CommitOutcome> do_commit(Transaction) override {
      return failure(ErrorCode::denied, "AccessDenied");
    }
  } denying(*metered_);
  NotingClock noting(clock_);
  LocalDocuments instance(denying, "archives", noting, entropy_);
  EXPECT_EQ(code_of(instance.update("change-1", entry("x;"))), ErrorCode::denied);
  EXPECT_TRUE(noting.slept.empty());
}

// "Test Scenarios", "Scenario 1: No Conflicts (Fast Path)": no overhead.
TEST_F(EtagDocuments, TestScenario1_NoConflictsSucceedOnTheFirstAttempt) {
  const Time start = clock_.now();
  ASSERT_TRUE(backend_.update("change-1", entry("x;")));
  EXPECT_EQ(commits(), 1U);
  EXPECT_EQ(metered_->snapshot().get.calls - before_.get.calls, 1U);
  EXPECT_EQ(clock_.now(), start);
}

// "Scenario 3: Persistent Conflicts (Failure Path)": fails after 3 retries, and says on what.
TEST_F(EtagDocuments, TestScenario3_PersistentConflictsFailAfterThreeRetries) {
  const std::string first = load().etag;
  const auto outcome = backend_.update("change-1", plainly(overtaken(100, "x;")));
  const Contended& contended = std::get<Contended>(outcome.value());
  EXPECT_EQ(contended.name, "change-1");
  EXPECT_EQ(contended.attempts, 4);
  ASSERT_EQ(contended.etags.size(), 4U);
  EXPECT_EQ(contended.etags[0], first);
  EXPECT_EQ(archive(), "created;rival;rival;rival;rival;");
}

// "Monitoring Recommendations": the values behind the server's metrics of these names.
TEST_F(EtagDocuments, MismatchesRetriesAndLatenciesAreCounted) {
  ASSERT_TRUE(backend_.update("change-1", plainly(overtaken(2, "x;"))));
  EXPECT_EQ(commits(), 3U);
  EXPECT_EQ(mismatches(), 2U);
  std::uint64_t timed = 0;
  for (const std::uint64_t bucket : metered_->snapshot().commit.latency.buckets) timed += bucket;
  EXPECT_EQ(timed, metered_->snapshot().commit.calls);
}

// "Future Enhancements", 1. Adaptive Retry Strategy.
TEST_F(EtagDocuments, DuringHighContentionThereAreMoreRetriesAndLongerPauses) {
  const Key key = document_key("archives", "change-1");
  const UpdateRequest adaptive{overtaken(10, "x;"), {}, {}};
  EXPECT_TRUE(std::holds_alternative<Updated>(*backend_.update("change-1", adaptive)));
  EXPECT_GT(backend_.contention().bound(key, clock_.now()), 100ms);
}

// 2. Conflict Metrics: the hot spots.
TEST_F(EtagDocuments, TheHotDocumentIsToldFromTheOthers) {
  ASSERT_TRUE(backend_.update("change-1", {overtaken(10, "x;"), {}, {}}));
  ASSERT_TRUE(backend_.update("change-2", entry("x;")));
  const auto bound = [&](std::string_view name) {
    return backend_.contention().bound(document_key("archives", name), clock_.now());
  };
  EXPECT_GT(bound("change-1"), bound("change-2"));
  EXPECT_EQ(bound("change-2"), 100ms);
}

// 4. Batch Updates: "combine multiple modifications into single update".
TEST_F(EtagDocuments, ModificationsThatWaitTogetherAreOneWrite) {
  Contention contention;
  Process process(*metered_, clock_, entropy_);
  for (const char* text : {"a;", "b;", "c;"}) {
    process.start(updating(text, contention), [](const Result<UpdateOutcome>& outcome) {
      EXPECT_TRUE(std::holds_alternative<Updated>(outcome.value()));
    });
  }
  process.finish();
  EXPECT_EQ(archive(), "created;a;b;c;");
  EXPECT_EQ(commits(), 1U);
}

// Where the design breaks: the reply is lost, and the same entry is appended twice.
TEST_F(EtagDocuments, ALostReplyAppendsNoEntryTwice) {
  for (const Fault fault : {Fault::fail_after, Fault::lose_reply, Fault::land_late}) {
    const std::string text = "x" + std::to_string(static_cast<int>(fault)) + ";";
    faulty_->script(std::vector{Fault::none, fault});
    ASSERT_TRUE(backend_.update("change-1", entry(text, text)));
    faulty_->deliver_late();
    EXPECT_TRUE(std::get<Updated>(*backend_.update("change-1", entry(text, text))).replayed);
  }
  EXPECT_EQ(archive(), "created;x2;x4;x5;");
}

}  // namespace
}  // namespace once::testing
