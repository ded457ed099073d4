// What RocksDB keeps new items in until it writes them to a file: a skip list of our own.
//
// It compares keys in place, where RocksDB's asks a comparator through two virtual calls that count
// what they do; Debian's is built with its assertions, which compare each place twice more. Most
// keys of a store are written once and in no order, so finding the place is what a write costs.
//
// Orders keys by their bytes, as a database does that was given no comparator. One thread inserts
// at a time, which RocksDB sees to (`allow_concurrent_memtable_write` must be off); any number of
// threads read meanwhile.
#pragma once

#include <rocksdb/memtablerep.h>

namespace once {

class WriteTableFactory final : public rocksdb::MemTableRepFactory {
 public:
  const char* Name() const override { return "once.write_table"; }
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& comparator,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform* prefix,
                                          rocksdb::Logger* logger) override;
  using MemTableRepFactory::CreateMemTableRep;
  bool CanHandleDuplicatedKey() const override { return true; }
};

}  // namespace once
