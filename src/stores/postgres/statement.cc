#include "stores/postgres/statement.h"

#include <utility>

namespace once::postgres {
namespace {

// From pg_type; these numbers never change.
constexpr std::uint32_t kBool = 16;
constexpr std::uint32_t kBytea = 17;
constexpr std::uint32_t kInt8 = 20;
constexpr std::uint32_t kInt4 = 23;
constexpr std::uint32_t kByteaArray = 1001;
constexpr std::uint32_t kInt4Array = 1007;
constexpr std::uint32_t kInt8Array = 1016;

// Dimensions, whether there are nulls, the type of elements, their count, and the first index.
constexpr std::size_t kFlagAt = 4;
constexpr std::size_t kCountAt = 12;

void append_big_endian(std::string& text, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text += static_cast<char>(value >> shift);
  }
}

void append_four(std::string& text, std::uint32_t value) { append_big_endian(text, value, 4); }

std::string eight(std::int64_t value) {
  std::string text;
  append_big_endian(text, static_cast<std::uint64_t>(value), 8);
  return text;
}

std::string four(std::int32_t value) {
  std::string text;
  append_four(text, static_cast<std::uint32_t>(value));
  return text;
}

}  // namespace

ArrayParameter::ArrayParameter(std::uint32_t array_type, std::uint32_t element_type)
    : array_type_(array_type) {
  append_four(bytes_, 1);
  append_four(bytes_, 0);
  append_four(bytes_, element_type);
  append_four(bytes_, 0);
  append_four(bytes_, 1);
}

ArrayParameter ArrayParameter::of_numbers() { return {kInt8Array, kInt8}; }
ArrayParameter ArrayParameter::of_counts() { return {kInt4Array, kInt4}; }
ArrayParameter ArrayParameter::of_bytes() { return {kByteaArray, kBytea}; }

void ArrayParameter::add(std::int64_t number) {
  ++count_;
  append_four(bytes_, 8);
  append_big_endian(bytes_, static_cast<std::uint64_t>(number), 8);
}

void ArrayParameter::add_count(std::int32_t number) {
  ++count_;
  append_four(bytes_, 4);
  append_four(bytes_, static_cast<std::uint32_t>(number));
}

void ArrayParameter::add(std::string_view bytes) {
  ++count_;
  append_four(bytes_, static_cast<std::uint32_t>(bytes.size()));
  bytes_ += bytes;
}

void ArrayParameter::add_null() {
  ++count_;
  has_null_ = true;
  append_four(bytes_, ~std::uint32_t{0});
}

std::string ArrayParameter::take() && {
  std::string flag;
  append_four(flag, has_null_ ? 1 : 0);
  std::string count;
  append_four(count, count_);
  bytes_.replace(kFlagAt, flag.size(), flag);
  bytes_.replace(kCountAt, count.size(), count);
  return std::move(bytes_);
}

void Statement::add(std::uint32_t type, std::optional<std::string> value) {
  types_.push_back(type);
  values_.push_back(std::move(value));
}

Statement& Statement::number(std::int64_t value) {
  add(kInt8, eight(value));
  return *this;
}

Statement& Statement::count(std::int32_t value) {
  add(kInt4, four(value));
  return *this;
}

Statement& Statement::flag(bool value) {
  add(kBool, std::string(1, value ? '\1' : '\0'));
  return *this;
}

Statement& Statement::bytes(std::string_view value) {
  add(kBytea, std::string(value));
  return *this;
}

Statement& Statement::no_bytes() {
  add(kBytea, std::nullopt);
  return *this;
}

Statement& Statement::array(ArrayParameter values) {
  const std::uint32_t type = values.type();
  add(type, std::move(values).take());
  return *this;
}

std::size_t Statement::parameter_bytes() const {
  std::size_t sum = 0;
  for (const std::optional<std::string>& value : values_) sum += value ? value->size() : 0;
  return sum;
}

std::vector<const char*> Statement::values() const {
  std::vector<const char*> pointers;
  for (const std::optional<std::string>& value : values_) {
    pointers.push_back(value ? value->data() : nullptr);
  }
  return pointers;
}

std::vector<int> Statement::lengths() const {
  std::vector<int> lengths;
  for (const std::optional<std::string>& value : values_) {
    lengths.push_back(value ? static_cast<int>(value->size()) : 0);
  }
  return lengths;
}

}  // namespace once::postgres
