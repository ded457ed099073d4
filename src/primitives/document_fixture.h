// Documents on a store that takes many writes per commit, and on one that takes a single write.
#pragma once

#include <gtest/gtest.h>

#include "once/documents.h"
#include "once/faulty_store.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/limited_store.h"
#include "testing/manual_clock.h"
#include "testing/store_under_test.h"

namespace once::documents {

inline const Key kDoc = document_key("test", "doc");

inline Content text(Bytes bytes) { return {std::move(bytes), "text/plain"}; }

// Appends `word` to the document, or creates it with that.
inline Modify appending(std::string word) {
  return [word](const std::optional<Content>& current) -> Result<Modified> {
    return text((current ? current->bytes : "") + word);
  };
}

inline UpdateRequest append(const std::string& word, std::string id = "") {
  return {.modify = appending(word), .identity = {std::move(id)}, .body = word};
}

class DocumentsTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { ONCE_NEEDS_WRITES(*memory_, GetParam()); }

  std::string etag_now() { return documents_.get("doc")->value().etag; }
  Bytes bytes_now() { return documents_.get("doc")->value().content.bytes; }
  bool absent_now() { return !documents_.get("doc")->has_value(); }

  // The answer to a put, a removal or an update that succeeded.
  template <class Outcome>
  static const Updated& made(const Result<Outcome>& outcome) {
    return std::get<Updated>(outcome.value());
  }

  void script(std::initializer_list<Fault> faults) {
    faulty_->script(std::span(faults.begin(), faults.size()));
  }

  std::uint64_t calls() {
    return metered_->snapshot().commit.calls + metered_->snapshot().get.calls;
  }

  testing::ManualClock clock_;
  Entropy entropy_{7};
  std::unique_ptr<Store> memory_ = testing::store_under_test(clock_);
  testing::LimitedStore limited_{*memory_, GetParam()};
  std::unique_ptr<MeteredStore> metered_ = meter(limited_);
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*metered_, {}, clock_);
  LocalDocuments documents_{*faulty_, "test", clock_, entropy_};
};

inline std::string name_of_store(const ::testing::TestParamInfo<std::size_t>& info) {
  return info.param == 1 ? "SingleWrite" : "MultiWrite";
}

}  // namespace once::documents
