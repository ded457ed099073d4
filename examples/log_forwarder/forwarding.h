// What a forwarder and a reader of an execution's log do.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "once/open.h"

namespace log_forwarder {

inline constexpr std::size_t kMostLines = 25;                      // Of a delivery,
inline constexpr std::size_t kMostBytes = std::size_t{64} * 1024;  // all of them together.

// Lines that come together and are stored together. Delivered again, it has the same id.
struct Delivery {
  std::string id;
  std::vector<std::string> lines;
};

// Stores a delivery once, however often and by however many it is forwarded: the lines are adjacent
// in the log, and a repeat is told where they stand. While the store is down it is tried again, for
// a minute.
once::Result<once::Appended> forward(once::Once& once, const std::string& execution,
                                     const Delivery& delivery);

// Cuts what a source says into deliveries. Where they begin depends on nothing but the lines
// before, so that a forwarder which starts from the beginning makes the same ones again.
class Source {
 public:
  Source(std::string name, std::istream& in) : name_(std::move(name)), in_(in) {}

  // Without lines at the end. `too_large`: a line that no delivery can hold.
  once::Result<Delivery> next();

 private:
  once::Result<bool> read_line();

  const std::string name_;
  std::istream& in_;
  std::string line_;         // Read, and not delivered yet,
  bool has_line_ = false;    // if this says so.
  std::int64_t number_ = 0;  // Of that line, from 1.
};

// Hands on the entries from `from` to `until`, or to the end of the log as it is now. Answers where
// to go on.
once::Result<std::int64_t> read(once::Once& once, const std::string& execution, std::int64_t from,
                                std::int64_t until,
                                const std::function<void(const once::LogEntry&)>& each);

// The same, but waits at the end for what comes, and for a store that is down, up to a minute of
// silence; until `stopped`, which is asked at each end of the log.
once::Result<std::int64_t> follow(once::Once& once, const std::string& execution, std::int64_t from,
                                  std::int64_t until,
                                  const std::function<void(const once::LogEntry&)>& each,
                                  const std::function<bool()>& stopped);

}  // namespace log_forwarder
