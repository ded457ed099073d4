// What a command is given: as a word, in a file, or on standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/invocation.h"
#include "once/error.h"

namespace once::cli {

// The word at `index`, or else what --file names, or else standard input. `invalid`: a word and a
// file, or a file that cannot be read.
Result<std::string> content_of(const Invocation& invocation, std::size_t index);

// What these bytes look like: application/json, text/plain, or application/octet-stream.
std::string guessed_type(const std::string& content);

// The lines of standard input, in batches: as large as asked for while there are more, and smaller
// when the writer pauses.
class Lines {
 public:
  enum class Empty : std::uint8_t { pass_over, keep };
  explicit Lines(int file, Empty empty = Empty::pass_over) : file_(file), empty_(empty) {}

  // When a batch that is not full is handed over.
  enum class Partial : std::uint8_t { at_a_pause, at_the_end };

  // At most so many lines and about so many bytes, without the ends of lines. Nothing at the end,
  // and where input breaks off; see broken().
  struct Room {
    std::size_t lines = 0;
    std::size_t bytes = 0;
  };
  std::vector<std::string> next(Room room, Partial partial);

  // What is wrong with the input: it cannot be read, or a line has no end in sight.
  const std::optional<Error>& broken() const { return broken_; }

  // Whether the next line would not be waited for.
  bool ready() const;

 private:
  std::optional<std::string> line();
  void read_more();

  const int file_;
  const Empty empty_;
  std::string read_;
  std::size_t begin_ = 0;  // Of the next line in read_.
  bool ended_ = false;
  std::optional<Error> broken_;
};

}  // namespace once::cli
