// The server's log: one line for each notable event, as text or as JSON. It never blocks the
// caller: the number of lines per second is limited, and lines that cannot be written are counted.
// Safe to share between threads.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "once/time.h"

namespace once::server {

enum class Level : std::uint8_t { debug, info, warning, error };

struct JournalOptions {
  enum class Format : std::uint8_t { text, json };
  Format format = Format::text;
  Level least = Level::warning;        // Lines below it are not written.
  std::uint32_t lines_a_second = 200;  // Of each level.

  // Writes a line, which includes its end; false if that is not possible now. Must not block.
  std::function<bool(std::string_view line)> write;
};

// Writes to standard error, unless its reader does not keep up.
bool write_to_stderr(std::string_view line);

class Journal {
 public:
  explicit Journal(JournalOptions options, Clock& clock = system_clock());

  // One line, written by its destructor.
  class Line {
   public:
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    ~Line();

    Line& text(std::string_view name, std::string_view value);  // Cut at 512 bytes.
    Line& integer(std::string_view name, std::int64_t value);
    Line& milliseconds(std::string_view name, std::chrono::nanoseconds value);
    Line& time(std::string_view name, Time value);

   private:
    friend class Journal;
    Line(Journal& journal, Level level, std::string_view what);
    void field(std::string_view name, std::string_view value);

    Journal* const journal_;  // Null: nothing is written.
    const Level level_;
    std::string out_;
  };

  Line line(Level level, std::string_view what) { return {*this, level, what}; }
  bool takes(Level level) const { return level >= options_.least && options_.write; }

 private:
  // The lines of a level in one second.
  struct Window {
    std::int64_t second = 0;
    std::uint32_t lines = 0;
    std::uint64_t dropped = 0;  // Since the last written line.
  };

  void end(Level level, const std::string& line);
  std::string start(Level level, std::string_view what) const;
  void finish(std::string& line) const;
  bool is_json() const { return options_.format == JournalOptions::Format::json; }

  const JournalOptions options_;
  Clock& clock_;
  Mutex mutex_;
  std::array<Window, 4> windows_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::server
