// How the appends of a group are laid out from one index on: whose batch is where, and the records
// that hold them. One record holds the batches of several callers as far as they fit.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "primitives/log_group.h"

namespace once::logs {

class Layout {
 public:
  struct Place {
    GroupedAppend* member = nullptr;
    std::int64_t first = 0;
    std::int64_t record = 0;  // The first index of the record that it begins in.
  };

  // One that expects the very index at `position` comes first. `most_records` bounds what is laid
  // out: what is left over is in rest().
  Layout(const std::vector<GroupedAppend*>& members, const AppendPosition& position, Time now,
         const Limits& limits, std::size_t most_records);

  const std::vector<Place>& placed() const { return placed_; }
  const std::vector<GroupedAppend*>& unexpected() const { return unexpected_; }
  const std::vector<GroupedAppend*>& rest() const { return rest_; }
  std::int64_t end() const { return end_; }

  // The records alone, ascending.
  std::vector<Write> records() const;

  // The whole commit: the records, then the id and the other writes of each, then the head.
  std::vector<Write> writes();

  // After writes(): what the write belongs to.
  bool is_record(std::size_t write) const { return write < records_.size(); }
  const Place* owner_of(std::size_t write) const;                  // Null: a record, or the head.
  std::vector<GroupedAppend*> owners_of(std::size_t write) const;  // Of another write than an id.
  bool is_id(std::size_t write) const;
  std::vector<std::optional<std::int64_t>> numbers_of(const Place& place,
                                                      const Committed& committed) const;

 private:
  struct Draft {
    std::int64_t first = 0;
    LogRecord record;  // Without events.
    std::vector<std::string_view> events;
    std::size_t bytes = 0;
  };

  // A write of the commit that belongs to one member, or to the first of several that share it.
  struct Owned {
    const Place* place = nullptr;
    bool is_id = false;
  };

  bool place(GroupedAppend& member);
  bool can_join(const Draft& draft, const PendingAppend& append) const;
  void add_others(const Place& place, std::vector<Write>& writes);

  const Time now_;
  const Limits& limits_;
  const std::size_t most_records_;
  const AppendPosition position_;
  std::int64_t end_;
  std::vector<Draft> records_;
  std::vector<Place> placed_;
  std::vector<GroupedAppend*> unexpected_;
  std::vector<GroupedAppend*> rest_;
  std::vector<Owned> owners_;                         // Of the writes behind the records.
  std::vector<std::vector<std::size_t>> numbers_at_;  // For each place: its other writes.
  std::map<Key, std::size_t> shared_at_;
};

}  // namespace once::logs
