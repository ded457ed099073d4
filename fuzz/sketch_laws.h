// What must be true of every sketch whatever states meet: records of two shapes, or of one.
#pragma once

#include <utility>

#include "fuzz/record_laws.h"

namespace once::fuzz {

// Two inputs in one: the length of the first in two bytes, then both.
inline std::pair<Bytes, Bytes> cut_in_two(const Bytes& input) {
  if (input.size() < 2) return {input, ""};
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(input[at]); };
  const std::size_t length = (byte(0) << 8U | byte(1)) % (input.size() - 1);
  return {input.substr(2, length), input.substr(2 + length)};
}

template <class Sketch>
Result<Sketch> decode_sketch(const Bytes& bytes) {
  return Sketch::decode(bytes);
}

template <class Sketch>
Bytes encode_sketch(const Sketch& sketch) {
  return sketch.encode();
}

template <class Sketch>
void check_sketch(const Sketch& sketch) {
  check_encoding(sketch, decode_sketch<Sketch>, encode_sketch<Sketch>);
}

// The two as one, if they can be; refused, and nothing changed, otherwise. The order does not
// matter, and what comes of it is a sketch that can be stored.
template <class Sketch>
Result<Sketch> check_merge(const Sketch& a, const Sketch& b) {
  Sketch ab = a;
  Sketch ba = b;
  const Result<void> merged = ab.merge(b);
  require(merged.has_value() == ba.merge(a).has_value());
  if (!merged) {
    require(merged.error().code == ErrorCode::invalid && ab == a && ba == b);
    return std::unexpected(merged.error());
  }
  require(ab == ba);
  check_sketch(ab);
  return ab;
}

// What was merged already changes nothing.
template <class Sketch>
void check_idempotence(const Sketch& part, Sketch whole) {
  const Sketch before = whole;
  require(whole.merge(part) && whole == before);
  require(whole.merge(before) && whole == before);
}

// The sketch in `fields`, after all that a decoder promises was checked.
template <class Sketch>
Result<Sketch> sketch_in(RecordKind kind, const Bytes& fields) {
  check_decoding_of(kind, fields, decode_sketch<Sketch>, encode_sketch<Sketch>);
  return Sketch::decode(checksummed(kind, fields));
}

}  // namespace once::fuzz
