// An export that is read twice: once to see that all of it is sound, and then to import it. What
// comes through a pipe is kept in a file without a name meanwhile.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "cli/export_text.h"

namespace once::cli {

class ImportInput {
 public:
  explicit ImportInput(int file) : file_(file) {}
  ~ImportInput();
  ImportInput(const ImportInput&) = delete;
  ImportInput& operator=(const ImportInput&) = delete;

  // `invalid`, with the number of the line, for what is no export, is damaged or does not end.
  Result<LastLine> check();

  // After check(): each item as its line, until `on_item` fails. `denied` when what is read is no
  // longer what was checked.
  using OnItem = std::function<Result<void>(const ItemLine& item, const std::string& line)>;
  Result<void> each(const OnItem& on_item);

 private:
  Result<void> keep_lines();
  Result<void> keep(const std::string& line);

  const int file_;
  off_t begin_ = 0;
  int kept_ = -1;  // The file without a name, if there is one.
};

}  // namespace once::cli
