// A write as DynamoDB's operation under a condition.
//
// Most writes have one form. Two depend on the current item, which is known only after the first
// form's condition failed (docs/hazards.md#h22):
//   an add to an item that has expired would revive its old number: it becomes a put;
//   a raise to no more than the current number writes nothing, but as part of a transaction
//   it must not cancel the rest: it becomes a check that the item is unchanged.
#pragma once

#include <cstdint>
#include <string>

#include "once/error.h"
#include "once/write.h"
#include "stores/dynamodb/attributes.h"

namespace once::dynamodb {

struct Form {
  enum class Kind : std::uint8_t {
    plain,    // As the write says.
    afresh,   // An add where nothing lives: put, if that is so.
    settled,  // A raise that raises nothing: check that `version` still stands.
  };
  Kind kind = Kind::plain;
  Version version;          // settled
  std::int64_t number = 0;  // settled: the current number.
};

struct Operation {
  enum class Kind : std::uint8_t { put, update, erase, check };
  Kind kind = Kind::put;
  Json body;  // Without the table's name.
};

// `now` decides what has expired. `invalid` for a key that is too long.
Result<Operation> operation_of(const Write& write, const Form& form, Time now);

// What the operation is called by itself, and in a transaction.
const char* call_of(Operation::Kind kind);
const char* member_of(Operation::Kind kind);

// The most bytes that DynamoDB counts for an item besides its value.
inline constexpr std::size_t kItemOverhead = 4'096;

// What DynamoDB counts the writes' items as, or a little more.
std::size_t bytes_of(Transaction writes);

// What the guard of `write` says of `old`, whose condition under `form` failed: another form to
// try, an outcome, or `invalid`. `old` is the item that was found, expired or not.
struct Verdict {
  enum class Kind : std::uint8_t { lost, another_form, none };
  Kind kind = Kind::none;
  Form form;
};
Result<Verdict> judge(const Write& write, const Form& form, const std::optional<Item>& old,
                      Time now);

}  // namespace once::dynamodb
