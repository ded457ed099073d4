// What the server has to say while it runs: one line for each notable thing, as text or as JSON. It
// never holds up whoever has something to say: so many lines a second are written, and as fast as
// they are taken; the others are counted. Safe to share between threads.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kernel/mutex.h"
#include "once/time.h"

namespace once::server {

enum class Level : std::uint8_t { debug, info, warning, error };

struct JournalOptions {
  enum class Format : std::uint8_t { text, json };
  Format format = Format::text;
  Level least = Level::warning;        // Nothing below is written.
  std::uint32_t lines_a_second = 200;  // Of each level.

  // Takes a whole line with its end; false if it cannot now. It must not block.
  std::function<bool(std::string_view line)> write;
};

// To standard error, unless nobody takes what is there already.
bool write_to_stderr(std::string_view line);

class Journal {
 public:
  explicit Journal(JournalOptions options, Clock& clock = system_clock());

  // One line under construction, written when it ends.
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

    Journal* const journal_;  // Null: nothing is to be written.
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
    std::uint64_t dropped = 0;  // Since one was last written.
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
