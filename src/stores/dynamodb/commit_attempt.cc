#include "stores/dynamodb/commit_attempt.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "kernel/apply.h"
#include "stores/dynamodb/transport.h"

namespace once::dynamodb {
namespace {

constexpr std::size_t kMaxTransactionBytes = 4U << 20;

// 32 hex digits.
std::string token_of(Entropy& entropy) {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx",
                static_cast<unsigned long long>(entropy.random()),
                static_cast<unsigned long long>(entropy.random()));
  return text.data();
}

// `Item` of an answer, if there is one.
Result<std::optional<Item>> old_item(const Json& body) {
  const auto found = body.find("Item");
  if (found == body.end() || found->is_null()) return std::nullopt;
  Result<Item> item = item_in(*found);
  if (!item) return std::unexpected(std::move(item.error()));
  return std::move(*item);
}

bool leaves_its_version(const Write& write) {
  return write.kind != Write::Kind::erase && write.kind != Write::Kind::check;
}

// Then it was written, and this is the answer to a copy that a gateway sent (docs/hazards.md#h33).
bool is_ours(const Write& write, const std::optional<Item>& old) {
  return leaves_its_version(write) && old && old->version == write.version;
}

// Then, too, and another has written since.
bool is_what_was_replaced(const Write& write, const Json& body) {
  const auto old = body.find("Item");
  return leaves_its_version(write) && old != body.end() && replaced_by(*old) == write.version;
}

std::optional<std::int64_t> integer_in(const Item& item) {
  const auto* integer = std::get_if<std::int64_t>(&item.value);
  return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

std::string reason_code(const Json& reason) {
  if (!reason.is_object()) return "";
  const auto code = reason.find("Code");
  return code != reason.end() && code->is_string() ? code->get<std::string>() : "";
}

std::optional<Error> worst_reason(const Json& reasons) {
  std::optional<Error> worst;
  for (const Json& reason : reasons) {
    const std::string code = reason_code(reason);
    if (code.empty() || code == "None" || code == "ConditionalCheckFailed") continue;
    Error error{ErrorCode::unavailable, "DynamoDB cancelled the transaction: "};
    error.message += code;
    if (code == "ValidationError") error.code = ErrorCode::invalid;
    if (code == "ItemCollectionSizeLimitExceeded") error.code = ErrorCode::too_large;
    if (!worst || error.code != ErrorCode::unavailable) worst = std::move(error);
  }
  return worst;
}

}  // namespace

CommitAttempt::CommitAttempt(const std::string& table, Transaction writes, Entropy& entropy)
    : table_(table), writes_(writes), entropy_(entropy), forms_(writes.size()) {
  if (writes_.size() > 1 && bytes_of(writes_) > kMaxTransactionBytes) {
    decide(failure(ErrorCode::too_large, "the writes of one commit take more than 4 MiB"));
  }
  for (const Write& write : writes_) {
    const Result<Json> key = key_attributes(write.key);
    if (!key) decide(std::unexpected(key.error()));
  }
}

aws::Request CommitAttempt::next(Time now) {
  if (!request_) build(now);
  pause_ = false;
  return *request_;
}

bool CommitAttempt::is_transaction() const {
  if (writes_.size() > 1) return true;
  const Write& write = writes_[0];
  return write.kind == Write::Kind::erase &&
         (write.guard.kind == Guard::Kind::unchanged || write.guard.kind == Guard::Kind::permanent);
}

void CommitAttempt::build_one(Time now) {
  Operation operation = *operation_of(writes_[0], forms_[0], now);
  const bool reads = operation.kind == Operation::Kind::check;
  Json body;
  if (reads) {
    body["Key"] = std::move(operation.body["Key"]);
    body["ConsistentRead"] = true;
  } else {
    body = std::move(operation.body);
  }
  if (operation.kind == Operation::Kind::update) body["ReturnValues"] = "UPDATED_NEW";
  body["TableName"] = table_;
  request_ = request_of(call_of(operation.kind), body);
  request_->repeatable = reads;
}

void CommitAttempt::build(Time now) {
  now_ = now;
  if (!is_transaction()) return build_one(now);
  Json body;
  Json& items = body["TransactItems"] = Json::array();
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    Operation operation = *operation_of(writes_[i], forms_[i], now);
    operation.body["TableName"] = table_;
    items.push_back({{member_of(operation.kind), std::move(operation.body)}});
  }
  body["ClientRequestToken"] = token_of(entropy_);
  request_ = request_of("TransactWriteItems", body);
}

void CommitAttempt::take(Result<aws::Response> response) {
  Reply reply = read_reply(response);
  switch (reply.kind) {
    case Reply::Kind::done: return take_done(reply.body);
    case Reply::Kind::condition_failed: return take_condition(reply.body);
    case Reply::Kind::cancelled: return take_cancelled(reply.body);
    case Reply::Kind::failed: return take_failure(reply.error);
  }
}

void CommitAttempt::take_done(const Json& body) {
  if (is_transaction()) return decide(committed_as(std::nullopt));
  if (writes_[0].kind == Write::Kind::check) return take_check(body);
  std::optional<std::int64_t> sum;
  const auto after = body.find("Attributes");
  if (after != body.end()) sum = number_in(*after);
  decide(committed_as(sum));
}

void CommitAttempt::take_check(const Json& body) {
  const Result<std::optional<Item>> old = old_item(body);
  if (!old) return decide(std::unexpected(old.error()));
  const bool live = *old && !expired(**old, now_);
  const CurrentItem current{live ? (*old)->version : Version{}, std::nullopt,
                            live && (*old)->expiry == kNever};
  if (holds(writes_[0].guard, live ? &current : nullptr)) return decide(Committed{});
  lose(0, *old);
}

void CommitAttempt::take_condition(const Json& body) {
  const Result<std::optional<Item>> old = old_item(body);
  if (!old) return decide(std::unexpected(old.error()));
  if (is_ours(writes_[0], *old)) return decide(committed_as(integer_in(**old)));
  if (is_what_was_replaced(writes_[0], body)) return decide(committed_as(std::nullopt));
  weigh(0, *old);
}

void CommitAttempt::take_cancelled(const Json& body) {
  const Json& reasons = body.at("CancellationReasons");
  // An earlier copy of the same request may still be under way, so this refusal does not tell who
  // won (docs/hazards.md#h7).
  if (maybe_landed_) {
    return decide(failure(ErrorCode::unknown, "DynamoDB: cancelled after a lost reply"));
  }
  request_.reset();
  const std::size_t told = reasons.is_array() ? std::min(reasons.size(), writes_.size()) : 0;
  bool any = false;
  for (std::size_t i = 0; i < told && !decided(); ++i) {
    if (reason_code(reasons[i]) != "ConditionalCheckFailed") continue;
    any = true;
    const Result<std::optional<Item>> old = old_item(reasons[i]);
    if (!old) return decide(std::unexpected(old.error()));
    weigh(i, *old);
  }
  if (decided() || any) return;
  const std::optional<Error> worst = worst_reason(reasons);
  decide(std::unexpected(
      worst ? *worst : Error{ErrorCode::unavailable, "DynamoDB cancelled the transaction"}));
}

// Finds out why the condition of a write failed, and what to send instead if it was not the guard.
void CommitAttempt::weigh(std::size_t write, const std::optional<Item>& old) {
  const Result<Verdict> verdict = judge(writes_[write], forms_[write], old, now_);
  request_.reset();
  if (!verdict) return decide(std::unexpected(verdict.error()));
  switch (verdict->kind) {
    case Verdict::Kind::lost: return lose(write, old);
    case Verdict::Kind::none:
      return decide(failure(ErrorCode::unavailable, "DynamoDB: a condition failed that holds"));
    case Verdict::Kind::another_form: forms_[write] = verdict->form;
  }
  open_ = Error{ErrorCode::unavailable, "what stands there changed too often"};
  // By itself a raise that raises nothing is done.
  if (writes_.size() == 1 && verdict->form.kind == Form::Kind::settled) {
    decide(committed_as(std::nullopt));
  }
}

void CommitAttempt::take_failure(const Error& error) {
  const bool unknown = error.code == ErrorCode::unknown;
  const bool reads = writes_.size() == 1 && writes_[0].kind == Write::Kind::check;
  if (reads && unknown) return decide(failure(ErrorCode::unavailable, error.message));
  if (is_transaction() && (unknown || maybe_landed_)) {
    maybe_landed_ = true;
    pause_ = true;
    open_ = Error{ErrorCode::unknown, error.message};
    return;
  }
  decide(std::unexpected(error));
}

void CommitAttempt::lose(std::size_t write, const std::optional<Item>& old) {
  Lost lost{.write = write, .current = {}};
  if (old && !expired(*old, now_)) lost.current = old;
  decide(CommitOutcome(std::move(lost)));
}

void CommitAttempt::decide(Result<CommitOutcome> answer) { answer_.emplace(std::move(answer)); }

Committed CommitAttempt::committed_as(std::optional<std::int64_t> sum) const {
  Committed done;
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    const Write& write = writes_[i];
    if (write.kind != Write::Kind::add && write.kind != Write::Kind::raise) continue;
    done.numbers.resize(writes_.size());
    const bool adds = write.kind == Write::Kind::add && write.guard.kind != Guard::Kind::absent &&
                      forms_[i].kind == Form::Kind::plain;
    if (forms_[i].kind == Form::Kind::settled) {
      done.numbers[i] = forms_[i].number;
    } else {
      done.numbers[i] = adds ? sum : std::optional(std::get<std::int64_t>(write.value));
    }
  }
  return done;
}

Result<CommitOutcome> CommitAttempt::answer() const {
  if (answer_) return *answer_;
  if (open_) return std::unexpected(*open_);
  return failure(ErrorCode::unavailable, "out of time before it was sent");
}

}  // namespace once::dynamodb
