// What one claim, one document, one sum and one log may answer, for LinearizabilityChecker.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testing/linearizability/checker.h"

namespace once::testing {

// A claim whose lease is longer than the history. Every take has an owner of its own.
struct ClaimModel {
  struct Operation {
    enum class Kind { take, renew, complete, release };
    enum class Answer { none, claimed, busy, done, ok, fenced, mismatch };
    Kind kind = Kind::take;
    std::string owner;       // Of the take, or of the ticket's.
    std::int64_t fence = 0;  // take: as answered. Otherwise the ticket's.
    std::string result;      // complete: what is recorded. take: what was done, or who is busy.
    Answer answer = Answer::none;
  };
  struct State {
    enum class Kind { free, busy, done };
    Kind kind = Kind::free;
    std::string owner;       // Of the last take.
    std::int64_t fence = 0;  // Of the last take; that of the one before it if it is not known.
    std::string result;

    friend auto operator<=>(const State&, const State&) = default;
  };

  State start;

  // A try that had an answer lost may have been repeated by its client: then a release that was
  // made, and was followed by another claim, is answered as fenced.
  bool answers_get_lost = false;

  std::vector<State> step(const State& state, const Operation& operation) const;

 private:
  std::vector<State> take(const State& state, const Operation& operation) const;
  std::vector<State> settle(const State& state, const Operation& operation) const;
};

// A document that is written under conditions. Every put has bytes of its own.
struct DocumentModel {
  struct Operation {
    enum class Kind { get, put, remove };
    enum class Answer { none, ok, precondition_failed };
    Kind kind = Kind::get;
    std::optional<std::string> expected;  // ETag of the condition; empty: absent.
    std::optional<std::string> bytes;     // put: written. get: read, empty if absent.
    std::optional<std::string> etag;      // Answered: of the new, the read or the current document.
    Answer answer = Answer::none;
  };
  struct State {
    std::optional<std::string> bytes;
    std::string etag;  // Empty while no answer has told it.

    friend auto operator<=>(const State&, const State&) = default;
  };

  State start;
  std::vector<State> step(const State& state, const Operation& operation) const;
};

// A sum. Adds that are combined are all answered with the sum of all, so an add's answer is
// recorded as a read that was under way at the same time.
struct SumModel {
  struct Operation {
    enum class Kind { add, read };
    Kind kind = Kind::read;
    std::int64_t number = 0;  // Added, or read.
  };
  using State = std::int64_t;

  State start = 0;
  std::vector<State> step(const State& state, const Operation& operation) const;
};

// One batch of one event that was appended, or may have been.
struct Append {
  std::string data;  // Another one for each append.
  std::int64_t index = 0;
};

// What is wrong with a log, given its appends and all that a reader found from index 1 on; empty if
// nothing is. Every answered append is at its index and nowhere else, one that was not answered is
// there once or not at all, there is no gap, and an append that began after another one was
// answered has the higher index.
std::optional<std::string> log_fault(const std::vector<Event<Append>>& appends,
                                     const std::vector<std::pair<std::int64_t, std::string>>& read);

}  // namespace once::testing
