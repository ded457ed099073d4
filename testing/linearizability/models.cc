#include "testing/linearizability/models.h"

#include <algorithm>

namespace once::testing {

std::vector<ClaimModel::State> ClaimModel::step(const State& state,
                                                const Operation& operation) const {
  return operation.kind == Operation::Kind::take ? take(state, operation)
                                                 : settle(state, operation);
}

std::vector<ClaimModel::State> ClaimModel::take(const State& state,
                                                const Operation& operation) const {
  using Answer = Operation::Answer;
  const bool is_free = state.kind == State::Kind::free;
  switch (operation.answer) {
    case Answer::none:  // Its effect, if it had one.
      if (!is_free) return {};
      return {{State::Kind::busy, operation.owner, state.fence, ""}};
    case Answer::claimed:
      if (!is_free || operation.fence <= state.fence) return {};
      return {{State::Kind::busy, operation.owner, operation.fence, ""}};
    case Answer::busy:
      if (state.kind != State::Kind::busy || state.owner != operation.result) return {};
      return {state};
    case Answer::done:
      if (state.kind != State::Kind::done || state.result != operation.result) return {};
      return {state};
    case Answer::ok:
    case Answer::fenced:
    case Answer::mismatch: break;
  }
  return {};
}

std::vector<ClaimModel::State> ClaimModel::settle(const State& state,
                                                  const Operation& operation) const {
  using Kind = Operation::Kind;
  using Answer = Operation::Answer;
  const bool is_ours = state.owner == operation.owner;
  const bool is_held = is_ours && state.kind == State::Kind::busy;
  State after = state;
  if (operation.kind == Kind::complete) {
    after.kind = State::Kind::done;
    after.result = operation.result;
  } else if (operation.kind == Kind::release) {
    after.kind = State::Kind::free;
  }
  if (operation.answer == Answer::fenced) {
    const bool was_repeated = answers_get_lost && operation.kind == Kind::release && is_held;
    if (was_repeated) return {after};
    return is_held ? std::vector<State>() : std::vector<State>{state};
  }
  if (operation.answer == Answer::mismatch) {  // This ticket has completed it in another way.
    const bool is_other = is_ours && state.kind == State::Kind::done && state != after;
    return is_other ? std::vector<State>{state} : std::vector<State>();
  }
  if (is_held) return {after};
  const bool is_repeat = is_ours && operation.kind != Kind::renew && state == after;
  return is_repeat ? std::vector<State>{state} : std::vector<State>();
}

std::vector<DocumentModel::State> DocumentModel::step(const State& state,
                                                      const Operation& operation) const {
  using Kind = Operation::Kind;
  using Answer = Operation::Answer;
  // What an answer tells about the current document, bound to it if nothing had told it before.
  const auto current_is = [&](const std::optional<std::string>& etag) -> std::vector<State> {
    if (etag.has_value() != state.bytes.has_value()) return {};
    if (etag && !state.etag.empty() && state.etag != *etag) return {};
    return {{state.bytes, etag.value_or("")}};
  };
  if (operation.kind == Kind::get) {
    if (state.bytes != operation.bytes) return {};
    return current_is(operation.etag);
  }
  if (operation.answer == Answer::precondition_failed) {
    if (operation.etag == operation.expected) return {};
    return current_is(operation.etag);
  }
  if (current_is(operation.expected).empty()) return {};
  if (operation.kind == Kind::remove) return {{std::nullopt, ""}};
  return {{operation.bytes, operation.etag.value_or("")}};
}

std::vector<SumModel::State> SumModel::step(const State& state, const Operation& operation) const {
  if (operation.kind == Operation::Kind::add) return {state + operation.number};
  return operation.number == state ? std::vector<State>{state} : std::vector<State>();
}

namespace {

// Between two answered appends that did not overlap.
std::optional<std::string> fault_of_order(std::vector<Event<Append>> appends) {
  std::erase_if(appends, [](const auto& append) { return append.answered == kUnanswered; });
  std::ranges::sort(appends, {}, [](const auto& append) { return append.operation.index; });
  std::uint64_t latest_call = 0;
  for (const Event<Append>& append : appends) {
    if (append.answered < latest_call) {
      return append.operation.data + " has a higher index than one that began after its answer";
    }
    latest_call = std::max(latest_call, append.called);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> log_fault(
    const std::vector<Event<Append>>& appends,
    const std::vector<std::pair<std::int64_t, std::string>>& read) {
  std::map<std::string, std::int64_t> found;
  std::int64_t next = 1;
  for (const auto& [index, data] : read) {
    if (index != next) return "a gap before " + std::to_string(index);
    if (!found.emplace(data, index).second) return data + " is there twice";
    ++next;
  }
  for (const Event<Append>& append : appends) {
    const auto there = found.find(append.operation.data);
    const std::int64_t index = there == found.end() ? 0 : there->second;
    if (append.answered != kUnanswered && index != append.operation.index) {
      return append.operation.data + " is at " + std::to_string(index) + " and was said to be at " +
             std::to_string(append.operation.index);
    }
    if (there != found.end()) found.erase(there);
  }
  if (!found.empty()) return found.begin()->first + " was never appended";
  return fault_of_order(appends);
}

}  // namespace once::testing
