// Whether a store's items are what Once wrote, one by one and together, for `once verify`:
//   - every record decodes under its key: checksum, kind and format;
//   - a log has no gap above its oldest index, nothing behind its end, and marks and batch ids that
//     fit it;
//   - a claim that is held or finished has a fence and an attempt, and every item has a version.
// It is told all items of the store, those of one home together and each partition in ascending
// order, as an embedded store lists them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "once/store.h"

namespace once::api {

class StoreCheck {
 public:
  void take(const ListPage::Listed& listed);
  void finish();  // After the last.

  std::uint64_t items() const { return items_; }
  std::uint64_t damaged() const { return damaged_; }

  // One line for each thing that is wrong, as far as they were kept: at most kMostFindings.
  const std::vector<std::string>& findings() const { return findings_; }
  static constexpr std::size_t kMostFindings = 100;

 private:
  // One life of a log under one strategy.
  struct Stream {
    std::vector<std::int64_t> firsts;  // Of its records.
    std::int64_t end = 0;              // 0: there is no record.
    bool closed = false;
    std::vector<std::int64_t> gaps;  // Where a record begins that does not follow the one before.
    std::array<std::int64_t, 5> marks{};
    std::vector<std::int64_t> ids;  // The records that batch ids point to.
  };

  void complain(const Key& key, std::string_view what);
  void take_log(const ListPage::Listed& listed);
  void take_claim(const ListPage::Listed& listed);
  void end_home();
  void check_stream(const std::string& part, const Stream& stream);

  std::uint64_t items_ = 0;
  std::uint64_t damaged_ = 0;
  std::vector<std::string> findings_;
  std::string home_;                       // The log that is being looked at.
  std::map<std::string, Stream> streams_;  // By what their parts begin with: "c", "c2".
  std::map<char, std::int64_t> lives_;     // By strategy.
};

}  // namespace once::api
