// A statement with its parameters in PostgreSQL's binary form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace once::postgres {

// An array as a parameter, one element after the other.
class ArrayParameter {
 public:
  static ArrayParameter of_numbers();  // bigint[]
  static ArrayParameter of_counts();   // integer[]
  static ArrayParameter of_bytes();    // bytea[]

  void add(std::int64_t number);        // To numbers,
  void add_count(std::int32_t number);  // to counts,
  void add(std::string_view bytes);     // and to bytes.
  void add_null();

  std::uint32_t type() const { return array_type_; }
  std::string take() &&;

 private:
  ArrayParameter(std::uint32_t array_type, std::uint32_t element_type);

  std::uint32_t array_type_;
  std::uint32_t count_ = 0;
  bool has_null_ = false;
  std::string bytes_;
};

class Statement {
 public:
  explicit Statement(std::string text) : text_(std::move(text)) {}

  Statement& number(std::int64_t value);
  Statement& count(std::int32_t value);
  Statement& flag(bool value);
  Statement& bytes(std::string_view value);
  Statement& no_bytes();  // Null.
  Statement& array(ArrayParameter values);

  const std::string& text() const { return text_; }
  std::size_t size() const { return types_.size(); }
  std::size_t parameter_bytes() const;

  // As libpq wants them.
  const std::uint32_t* types() const { return types_.data(); }
  std::vector<const char*> values() const;
  std::vector<int> lengths() const;

 private:
  void add(std::uint32_t type, std::optional<std::string> value);

  std::string text_;
  std::vector<std::uint32_t> types_;
  std::vector<std::optional<std::string>> values_;
};

}  // namespace once::postgres
