// The form that every value of a primitive has: what it is, its format's number, its fields, and a
// checksum over all of it. docs/formats.md draws the bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/item.h"

namespace once {

// The first byte of a record. A number is never used for anything else again.
enum class RecordKind : std::uint8_t {
  claim = 'c',
  ticket = 't',
  distinct = 'H',
  top = 'K',
  bloom = 'B',
  tally = 'T',
  tally_meta = 'M',
  tally_id = 'I',
  log_batch = 'l',
  log_batch_id = 'i',
  document = 'd',
  document_change = 'D',
  receipt = 'e',
  token = 'k',
  answer = 'a',
};

class RecordWriter {
 public:
  RecordWriter(RecordKind kind, std::uint8_t format);

  void number(std::uint64_t value);
  void time(Time value);
  void bytes(std::string_view value);

  // The record, checksum included. Ends the writer.
  Bytes finish();

 private:
  Bytes out_;
};

// Reads the fields in the order in which they were written. A record that fails its checks, is of
// another kind or of a newer format is refused by open(); reading past the end or into nonsense,
// such as a number that is not in its shortest form, turns sound() false and gives zeros, so that a
// caller checks once, at the end. A sound record has one form: the same fields give its bytes
// again.
class RecordReader {
 public:
  static Result<RecordReader> open(std::string_view record, RecordKind kind, std::uint8_t newest);

  std::uint8_t format() const { return format_; }
  std::uint64_t number(std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
  Time time();
  Bytes bytes();

  // Everything was there, and nothing is left.
  bool sound() const { return sound_ && left_.empty(); }

 private:
  RecordReader(std::string_view fields, std::uint8_t format) : left_(fields), format_(format) {}

  std::string_view left_;
  std::uint8_t format_;
  bool sound_ = true;
};

}  // namespace once
