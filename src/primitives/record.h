// The format of every stored value: its kind, its format number, its fields, and a checksum over
// all of it. docs/formats.md draws the bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/item.h"

namespace once {

// The first byte of a record. A value is never reused for another kind.
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
  birth = 'b',
  secret = 's',
  cursor = 'w',
};

class RecordWriter {
 public:
  // With room for so many bytes in all; it grows beyond them.
  RecordWriter(RecordKind kind, std::uint8_t format, std::size_t room = 0);

  void number(std::uint64_t value);
  void time(Time value);
  void bytes(std::string_view value);
  void fields(std::string_view written);  // Of fields_only().

  // The fields without kind, format and checksum. Ends the writer.
  Bytes fields_only();

  // The record, checksum included. Ends the writer.
  Bytes finish();

 private:
  char* grown_by(std::size_t bytes);  // Where these begin.
  void put_number(std::uint64_t value);

  Bytes out_;  // With room behind what is written.
  std::size_t used_ = 0;
};

// Reads the fields in the order in which they were written. open() refuses a record with a wrong
// checksum, another kind or a newer format. Reading past the end, or a number that is not in its
// shortest form, gives zeros and makes sound() false: a caller checks once, at the end. A sound
// record has one form: writing the same fields gives the same bytes.
class RecordReader {
 public:
  static Result<RecordReader> open(std::string_view record, RecordKind kind, std::uint8_t newest);

  std::uint8_t format() const { return format_; }
  std::uint64_t number(std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
  Time time();
  Bytes bytes() { return Bytes(view()); }
  std::string_view view();  // As bytes(), in the record itself.

  // Every field was present and valid, and no bytes are left.
  bool sound() const { return sound_ && left_.empty(); }

 private:
  RecordReader(std::string_view fields, std::uint8_t format) : left_(fields), format_(format) {}

  std::string_view left_;
  std::uint8_t format_;
  bool sound_ = true;
};

// Puts the right checksum at the end of a record whose fields were changed in place.
void seal_again(Bytes& record);

// The hash by which stored records know the same input again. XXH3 in its canonical 128 bits:
// stored, so it never changes. It is fast and no protection against a forger.
Bytes hash128(std::string_view bytes);

}  // namespace once
