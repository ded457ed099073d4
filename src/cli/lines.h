// The lines of standard input, in batches: as large as asked for while there are more, and smaller
// when whoever writes them pauses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace once::cli {

class Lines {
 public:
  explicit Lines(int file) : file_(file) {}

  // When a batch that is not full is handed over.
  enum class Partial : std::uint8_t { at_a_pause, at_the_end };

  // At most so many lines and about so many bytes, without empty lines. Nothing at the end.
  struct Room {
    std::size_t lines = 0;
    std::size_t bytes = 0;
  };
  std::vector<std::string> next(Room room, Partial partial);

  // Whether the next line would not be waited for.
  bool ready() const;

 private:
  std::optional<std::string> line();
  bool read_more();  // False at the end.

  const int file_;
  std::string read_;
  std::size_t begin_ = 0;  // Of the next line in read_.
  bool ended_ = false;
};

}  // namespace once::cli
