#include "stores/rocksdb/mapped_pages.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/vfs.h>
#endif

#include <cassert>
#include <cstring>

namespace once {

#if defined(__linux__)

namespace {

// File systems that write a block where it is: a block that was written once needs no room again.
constexpr unsigned long kExt = 0xEF53;
constexpr unsigned long kXfs = 0x58465342;
constexpr unsigned long kTmpfs = 0x01021994;

bool writes_in_place(int descriptor) {
  struct statfs about{};
  if (::fstatfs(descriptor, &about) != 0) return false;
  const auto type = static_cast<unsigned long>(about.f_type) & 0xFFFFFFFFUL;
  return type == kExt || type == kXfs || type == kTmpfs;
}

// Reports what a first touch would meet as a signal. Since Linux 5.14.
bool can_be_read(char* base, std::size_t bytes) {
#ifdef MADV_POPULATE_READ
  constexpr int kPopulateRead = MADV_POPULATE_READ;
#else
  constexpr int kPopulateRead = 22;
#endif
  return ::madvise(base, bytes, kPopulateRead) == 0;
}

}  // namespace

std::unique_ptr<MappedPages> MappedPages::map(int descriptor, std::size_t bytes) {
  if (!writes_in_place(descriptor)) return nullptr;
  void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (base == MAP_FAILED) return nullptr;
  std::unique_ptr<MappedPages> pages(new MappedPages(static_cast<char*>(base), bytes));
  if (!can_be_read(pages->base_, bytes)) return nullptr;
  return pages;
}

MappedPages::~MappedPages() { ::munmap(base_, bytes_); }

#else

std::unique_ptr<MappedPages> MappedPages::map(int, std::size_t) { return nullptr; }
MappedPages::~MappedPages() = default;

#endif

void MappedPages::store(std::size_t at, std::string_view bytes) {
  assert(at <= bytes_ && bytes.size() <= bytes_ - at);
  std::memcpy(base_ + at, bytes.data(), bytes.size());
}

}  // namespace once
