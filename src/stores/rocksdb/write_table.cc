#include "stores/rocksdb/write_table.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace once {
namespace {

constexpr std::uint32_t kMaxHeight = 12;
constexpr std::uint32_t kBranching = 4;  // One of so many nodes is also on the next level.
constexpr std::size_t kTagBytes = 8;

// What RocksDB orders entries by: the key's bytes, then the newest first.
struct EntryKey {
  const char* data;
  std::size_t size;
  std::uint64_t tag;  // Its sequence and kind.
};

std::uint64_t tag_at(const char* at) {
  std::uint64_t tag = 0;
  for (std::size_t i = 0; i < kTagBytes; ++i) {
    tag |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  return tag;
}

EntryKey key_in(const rocksdb::Slice& internal_key) {
  const std::size_t size = internal_key.size() - kTagBytes;
  return {internal_key.data(), size, tag_at(internal_key.data() + size)};
}

// Of an entry, which begins with the length of its key in seven bits a byte.
EntryKey key_of(const char* entry) {
  std::uint32_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*entry++);
    length |= static_cast<std::uint32_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) break;
  }
  return key_in({entry, length});
}

int compare(const EntryKey& a, const EntryKey& b) {
  const int order = std::memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
  if (order != 0) return order;
  if (a.size != b.size) return a.size < b.size ? -1 : 1;
  if (a.tag == b.tag) return 0;
  return a.tag > b.tag ? -1 : 1;
}

// Followed in memory by `height` pointers to the next nodes, lowest level first, and the entry.
class Node {
 public:
  using Next = std::atomic<Node*>;

  static std::size_t bytes_for(std::uint32_t height, std::size_t entry) {
    return sizeof(Node) + height * sizeof(Next) + entry;
  }
  static Node* make(char* at, std::uint32_t height) {
    Node* const node = new (at) Node(height);
    for (std::uint32_t level = 0; level < height; ++level) new (&node->slot(level)) Next(nullptr);
    return node;
  }

  std::uint32_t height() const { return height_; }
  char* entry() { return reinterpret_cast<char*>(this + 1) + height_ * sizeof(Next); }
  EntryKey key() { return key_of(entry()); }

  Node* next(std::uint32_t level) { return slot(level).load(std::memory_order_acquire); }
  void set_next(std::uint32_t level, Node* node) {
    slot(level).store(node, std::memory_order_release);
  }

 private:
  explicit Node(std::uint32_t height) : height_(height) {}
  Next& slot(std::uint32_t level) { return reinterpret_cast<Next*>(this + 1)[level]; }

  alignas(Next) const std::uint32_t height_;
};

class WriteTable final : public rocksdb::MemTableRep {
 public:
  explicit WriteTable(rocksdb::Allocator* allocator) : MemTableRep(allocator) {
    head_ = Node::make(head_room_.data(), kMaxHeight);
    last_.fill(head_);
  }

  rocksdb::KeyHandle Allocate(std::size_t length, char** entry) override {
    const std::uint32_t height = random_height();
    constexpr std::size_t kAlign = alignof(Node);
    char* room = nullptr;
    MemTableRep::Allocate(Node::bytes_for(height, length) + kAlign - 1, &room);
    const auto behind = reinterpret_cast<std::uintptr_t>(room) % kAlign;
    Node* const node = Node::make(room + (behind == 0 ? 0 : kAlign - behind), height);
    *entry = node->entry();
    return node;
  }

  void Insert(rocksdb::KeyHandle handle) override { static_cast<void>(InsertKey(handle)); }
  bool InsertKeyWithHint(rocksdb::KeyHandle handle, void**) override { return InsertKey(handle); }

  // False if the very same entry is there.
  bool InsertKey(rocksdb::KeyHandle handle) override {
    Node& node = *static_cast<Node*>(handle);
    const EntryKey key = node.key();
    if (!follows_last(key)) find_before(key, last_);
    Node* const after = last_[0]->next(0);
    if (after != nullptr && compare(after->key(), key) == 0) return false;
    for (std::uint32_t level = 0; level < node.height(); ++level) {
      node.set_next(level, last_[level]->next(level));
    }
    // From the lowest level on, so that a reader who meets the node finds it on all below.
    for (std::uint32_t level = 0; level < node.height(); ++level) {
      last_[level]->set_next(level, &node);
      last_[level] = &node;
    }
    return true;
  }

  bool Contains(const char* entry) const override {
    const EntryKey key = key_of(entry);
    Node* const found = first_not_before(key);
    return found != nullptr && compare(found->key(), key) == 0;
  }

  std::size_t ApproximateMemoryUsage() override { return 0; }  // All is the allocator's.

  Iterator* GetIterator(rocksdb::Arena* arena) override;
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override;

  Node* first() const { return head_->next(0); }

  // The first entry that is not before the key; null if there is none.
  Node* first_not_before(const EntryKey& key) const { return before(key)->next(0); }

  // The last entry before the key, and the last of all; null if there is none.
  Node* last_before(const EntryKey& key) const {
    Node* const found = before(key);
    return found == head_ ? nullptr : found;
  }
  Node* last() const {
    Node* at = head_;
    for (std::uint32_t level = kMaxHeight; level-- > 0;) {
      while (Node* const next = at->next(level)) at = next;
    }
    return at == head_ ? nullptr : at;
  }

 private:
  using Path = std::array<Node*, kMaxHeight>;

  std::uint32_t random_height() {
    random_ ^= random_ << 13U;
    random_ ^= random_ >> 7U;
    random_ ^= random_ << 17U;
    std::uint32_t height = 1;
    for (std::uint64_t bits = random_; height < kMaxHeight && bits % kBranching == 0;
         bits /= kBranching) {
      ++height;
    }
    return height;
  }

  // Items that come in order need no search.
  bool follows_last(const EntryKey& key) const {
    if (last_[0] == head_ || compare(last_[0]->key(), key) >= 0) return false;
    Node* const next = last_[0]->next(0);
    return next == nullptr || compare(key, next->key()) < 0;
  }

  // On each level, the last node before the key.
  void find_before(const EntryKey& key, Path& path) const {
    Node* at = head_;
    const Node* passed = nullptr;  // Known not to be before the key.
    for (std::uint32_t level = kMaxHeight; level-- > 0;) {
      for (Node* next = at->next(level); next != nullptr && next != passed;
           next = at->next(level)) {
        if (compare(next->key(), key) >= 0) {
          passed = next;
          break;
        }
        at = next;
      }
      path[level] = at;
    }
  }

  // The head if there is none.
  Node* before(const EntryKey& key) const {
    Path path;
    find_before(key, path);
    return path[0];
  }

  alignas(Node) std::array<char, sizeof(Node) + kMaxHeight * sizeof(Node::Next)> head_room_;
  Node* head_ = nullptr;
  Path last_;  // The path to the last insert. Of the inserting thread.
  std::uint64_t random_ = 0x9e3779b97f4a7c15U;
};

class TableIterator final : public rocksdb::MemTableRep::Iterator {
 public:
  enum class Kept : std::uint8_t { here, in_pool };

  TableIterator(const WriteTable& table, Kept kept) : table_(table), kept_(kept) {}
  ~TableIterator() override {
    if (kept_ == Kept::in_pool) pool().give_back(this);
  }

  // RocksDB either deletes an iterator or only destroys it, because one that is told an arena is
  // expected there. An arena is no public type. So the memory of all is a thread's own pool, to
  // which the destructor gives it back.
  static TableIterator* make(const WriteTable& table) {
    return ::new (pool().take()) TableIterator(table, Kept::in_pool);
  }
  // For one search, of which at most one is under way in a thread.
  static TableIterator* make_for_search(const WriteTable& table) {
    alignas(TableIterator) thread_local std::array<char, 64> room;
    static_assert(sizeof(TableIterator) <= sizeof room);
    return ::new (room.data()) TableIterator(table, Kept::here);
  }
  static void operator delete(void*) {}

  bool Valid() const override { return at_ != nullptr; }
  const char* key() const override { return at_->entry(); }
  void Next() override { at_ = at_->next(0); }
  void Prev() override { at_ = table_.last_before(at_->key()); }
  void Seek(const rocksdb::Slice& internal_key, const char*) override {
    at_ = table_.first_not_before(key_in(internal_key));
  }
  void SeekForPrev(const rocksdb::Slice& internal_key, const char*) override {
    const EntryKey key = key_in(internal_key);
    at_ = table_.first_not_before(key);
    if (at_ == nullptr || compare(at_->key(), key) != 0) at_ = table_.last_before(key);
  }
  void SeekToFirst() override { at_ = table_.first(); }
  void SeekToLast() override { at_ = table_.last(); }

 private:
  class Pool {
   public:
    void* take() {
      if (blocks_.empty()) return ::operator new(sizeof(TableIterator));
      void* const block = blocks_.back().release();
      blocks_.pop_back();
      return block;
    }
    // The block is in use until the destructor of what is in it returns.
    void give_back(void* block) {
      constexpr std::size_t kMost = 64;
      if (blocks_.size() == kMost) blocks_.erase(blocks_.begin());
      blocks_.emplace_back(block);
    }

   private:
    struct Free {
      void operator()(void* block) const { ::operator delete(block); }
    };
    std::vector<std::unique_ptr<void, Free>> blocks_;
  };

  static Pool& pool() {
    thread_local Pool pool;
    return pool;
  }

  const WriteTable& table_;
  Node* at_ = nullptr;
  const Kept kept_;
};

rocksdb::MemTableRep::Iterator* WriteTable::GetIterator(rocksdb::Arena*) {
  return TableIterator::make(*this);
}

// Without an arena it is for a search by key, after which some versions do not delete it.
rocksdb::MemTableRep::Iterator* WriteTable::GetDynamicPrefixIterator(rocksdb::Arena* arena) {
  return arena == nullptr ? TableIterator::make_for_search(*this) : GetIterator(arena);
}

}  // namespace

rocksdb::MemTableRep* WriteTableFactory::CreateMemTableRep(
    const rocksdb::MemTableRep::KeyComparator&, rocksdb::Allocator* allocator,
    const rocksdb::SliceTransform*, rocksdb::Logger*) {
  return new WriteTable(allocator);
}

}  // namespace once
