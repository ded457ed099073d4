#include "stores/postgres/commits.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "stores/postgres/stored_form.h"

namespace once::postgres {
namespace {

// What a row of an answer is (schema_sql.cc).
enum What : std::int64_t {
  kServerTime = 0,
  kNumber = 1,
  kLostToNothing = 2,
  kLostToItem = 3,
  kOverflow = 4,
  kNotANumber = 5,
};

std::int32_t code_of(Write::Kind kind) {
  switch (kind) {
    case Write::Kind::put: return 0;
    case Write::Kind::add: return 1;
    case Write::Kind::raise: return 2;
    case Write::Kind::erase: return 3;
    case Write::Kind::check: break;
  }
  return 4;
}

std::int32_t code_of(Guard::Kind kind) {
  switch (kind) {
    case Guard::Kind::anything: return 0;
    case Guard::Kind::absent: return 1;
    case Guard::Kind::unchanged: return 2;
    case Guard::Kind::permanent: break;
  }
  return 3;
}

bool has_value(const Write& write) {
  return write.kind != Write::Kind::erase && write.kind != Write::Kind::check;
}

// What is done, under which guard and with which value: the last seven parameters.
class WriteArrays {
 public:
  void add(const Write& write) {
    kinds_.add_count(code_of(write.kind));
    guards_.add_count(code_of(write.guard.kind));
    sinces_.add(stored(write.guard.version));
    const auto* const number = std::get_if<std::int64_t>(&write.value);
    if (has_value(write) && number != nullptr) {
      numbers_.add(*number);
    } else {
      numbers_.add_null();
    }
    if (has_value(write) && number == nullptr) {
      contents_.add(std::string_view(std::get<Bytes>(write.value)));
    } else {
      contents_.add_null();
    }
    versions_.add(stored(write.version));
    expiries_.add(stored(write.expiry));
  }

  void add_to(Statement& statement) && {
    statement.array(std::move(kinds_))
        .array(std::move(guards_))
        .array(std::move(sinces_))
        .array(std::move(numbers_))
        .array(std::move(contents_))
        .array(std::move(versions_))
        .array(std::move(expiries_));
  }

 private:
  ArrayParameter kinds_ = ArrayParameter::of_counts();
  ArrayParameter guards_ = ArrayParameter::of_counts();
  ArrayParameter sinces_ = ArrayParameter::of_numbers();
  ArrayParameter numbers_ = ArrayParameter::of_numbers();
  ArrayParameter contents_ = ArrayParameter::of_bytes();
  ArrayParameter versions_ = ArrayParameter::of_numbers();
  ArrayParameter expiries_ = ArrayParameter::of_numbers();
};

std::unexpected<Error> no_answer() {
  return failure(ErrorCode::corrupt, "postgres: an answer is not in the form of this version");
}

}  // namespace

CommitGroup::CommitGroup(std::span<const Transaction> transactions) : transactions_(transactions) {
  for (std::uint32_t t = 0; t < transactions.size(); ++t) {
    for (std::uint32_t w = 0; w < transactions[t].size(); ++w) places_.push_back({t, w, 0});
  }
  const auto key_of = [&](const Place& place) -> const Key& { return write_at(place).key; };
  std::vector<Place> by_key = places_;
  std::ranges::sort(by_key, [](const Key& a, const Key& b) { return a < b; }, key_of);
  for (Place& place : by_key) {
    const Key& key = key_of(place);
    if (keys_.empty() || *keys_.back() != key) keys_.push_back(&key);
    place.key = static_cast<std::uint32_t>(keys_.size() - 1);
  }
  apart_ = keys_.size() == places_.size();
  if (!apart_) {
    std::ranges::sort(by_key, {},
                      [](const Place& place) { return std::pair(place.transaction, place.write); });
  }
  places_ = std::move(by_key);
}

Statement CommitGroup::statement(const std::string& schema, Time now, Duration patience) const {
  constexpr int kApart = 16;
  constexpr int kInTurn = 14;
  Statement statement(apart_ ? call_of(schema, "commit_apart", kApart)
                             : call_of(schema, "commit_in_turn", kInTurn));
  statement.number(stored(now)).count(static_cast<std::int32_t>(patience.count()));
  const bool single = places_.size() == transactions_.size();
  const bool claims = std::ranges::all_of(places_, [&](const Place& place) {
    return write_at(place).guard.kind == Guard::Kind::absent;
  });
  ArrayParameter commits = ArrayParameter::of_counts();
  ArrayParameter numbers = ArrayParameter::of_counts();
  WriteArrays writes;
  for (const Place& place : places_) {
    commits.add_count(static_cast<std::int32_t>(place.transaction));
    numbers.add_count(static_cast<std::int32_t>(apart_ ? place.write : place.key + 1));
    writes.add(write_at(place));
  }
  KeyArrays keys;
  for (const Key* const key : keys_) keys.add(*key);
  if (apart_) {
    statement.flag(single).flag(claims).array(std::move(commits)).array(std::move(numbers));
    std::move(keys).add_to(statement);
  } else {
    std::move(keys).add_to(statement);
    statement.array(std::move(commits)).array(std::move(numbers));
  }
  std::move(writes).add_to(statement);
  return statement;
}

std::vector<Result<CommitOutcome>> CommitGroup::answers(const Rows& rows) const {
  std::vector<Result<CommitOutcome>> answers(transactions_.size(), CommitOutcome(Committed{}));
  if (!time_in(rows, 2)) {
    std::ranges::fill(answers, Result<CommitOutcome>(no_answer()));
    return answers;
  }
  for (std::size_t row = 1; row < rows.size(); ++row) {
    const std::optional<std::int64_t> what = rows.number(row, 0);
    const std::size_t at = static_cast<std::size_t>(rows.number(row, 1).value_or(-1));
    if (at >= places_.size()) continue;
    const Place& place = places_[at];
    Result<CommitOutcome>& answer = answers[place.transaction];
    if (what == kNumber) {
      auto& numbers = std::get<Committed>(*answer).numbers;
      numbers.resize(transactions_[place.transaction].size());
      numbers[place.write] = rows.number(row, 2);
    } else {
      answer = failure_at(rows, row, place);
    }
  }
  return answers;
}

Result<CommitOutcome> CommitGroup::failure_at(const Rows& rows, std::size_t row,
                                              const Place& place) const {
  const Key& key = write_at(place).key;
  switch (rows.number(row, 0).value_or(-1)) {
    case kLostToNothing: return Lost{.write = place.write, .current = std::nullopt};
    case kLostToItem: {
      std::optional<Item> item = item_in(rows, row, 2);
      if (!item) return no_answer();
      return Lost{.write = place.write, .current = std::move(item)};
    }
    case kOverflow: return failure(ErrorCode::invalid, "integer overflow: " + to_text(key));
    case kNotANumber:
      return failure(ErrorCode::invalid, "holds bytes, not an integer: " + to_text(key));
    default: return no_answer();
  }
}

std::size_t CommitGroup::rows_written(std::span<const Result<CommitOutcome>> answers) const {
  const auto is_written = [&](const Place& place) {
    const Result<CommitOutcome>& answer = answers[place.transaction];
    const Write& write = write_at(place);
    if (!answer || !committed(*answer) || write.kind == Write::Kind::check) return false;
    if (write.kind != Write::Kind::raise) return true;
    return std::get<Committed>(*answer).numbers[place.write] == std::get<std::int64_t>(write.value);
  };
  return static_cast<std::size_t>(std::ranges::count_if(places_, is_written));
}

}  // namespace once::postgres
