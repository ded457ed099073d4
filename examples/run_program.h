// A program run to its end, for the tests of the examples.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "testing/child_process.h"

namespace examples {

struct Finished {
  int status = 0;  // Minus the signal that ended it.
  std::string output;
};

inline Finished run_to_end(const std::vector<std::string>& arguments,
                           const std::string& program = ONCE_EXAMPLE) {
  once::testing::ChildProcess child(program, arguments);
  child.end_input();
  Finished finished;
  while (std::optional<std::string> line = child.read_line()) {
    finished.output.append(*line).append("\n");
  }
  finished.status = child.wait();
  return finished;
}

}  // namespace examples
