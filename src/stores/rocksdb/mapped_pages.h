// The pages of a file, in this process's memory. What is stored there is in the file for every
// other reader at once, and survives the end of the process, as if write() had put it there; a sync
// of the file covers it, too. It costs no call to the system but a page fault a page.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace once {

class MappedPages {
 public:
  // The first `bytes` of the file, which must exist already. Null where storing could meet a lack
  // of room or a page that cannot be read: that would be a signal instead of an error. So only on
  // file systems that write a file's blocks in place, and only if all pages could be read.
  // `descriptor` must be open for reading and writing; it may be closed afterwards.
  static std::unique_ptr<MappedPages> map(int descriptor, std::size_t bytes);

  ~MappedPages();
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  // `at + bytes.size()` is within the mapped bytes.
  void store(std::size_t at, std::string_view bytes);

 private:
  MappedPages(char* base, std::size_t bytes) : base_(base), bytes_(bytes) {}

  char* const base_;
  const std::size_t bytes_;
};

}  // namespace once
