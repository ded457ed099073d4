#include "stores/redis/commits.h"

#include <algorithm>
#include <utility>

#include "stores/redis/scripts.h"
#include "stores/redis/stored_form.h"

namespace once::redis {
namespace {

// As in the script: what expires later than that is not removed by Redis itself.
constexpr Time kRemovable = Time(Duration(std::int64_t{1} << 52));

char letter_of(Write::Kind kind) {
  switch (kind) {
    case Write::Kind::put: return 'p';
    case Write::Kind::add: return 'a';
    case Write::Kind::raise: return 'r';
    case Write::Kind::erase: return 'e';
    case Write::Kind::check: return 'c';
  }
  return 'c';
}

char letter_of(Guard::Kind kind) {
  switch (kind) {
    case Guard::Kind::anything: return '*';
    case Guard::Kind::absent: return 'a';
    case Guard::Kind::unchanged: return 'u';
    case Guard::Kind::permanent: return 'n';
  }
  return 'u';
}

bool is_arithmetic(const Write& write) {
  return write.kind == Write::Kind::add || write.kind == Write::Kind::raise;
}

std::string record_of(const Write& write, std::string_view name, std::string_view digits) {
  if (write.kind == Write::Kind::erase || write.kind == Write::Kind::check) return {};
  return encode_record(name, digits, write.value, write.version, write.expiry);
}

std::string script_text(Transaction writes, Time now) {
  std::vector<std::string> names;
  names.reserve(writes.size());
  for (const Write& write : writes) names.push_back(name_of(write.key));
  CommandText text(4 + 3 * writes.size());
  text.part("EVALSHA").part(commit_script().digest).part(std::to_string(writes.size()));
  for (const std::string& name : names) text.part(name);
  text.part(std::to_string(now.time_since_epoch().count()));
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const Write& write = writes[i];
    const std::string digits = digits_of(write.key.sort);
    std::string head = {letter_of(write.kind), letter_of(write.guard.kind)};
    head.append(encode_number(write.guard.version.number)).append(digits);
    text.part(head).part(record_of(write, names[i], digits));
  }
  return text.take();
}

std::string plain_text(const Write& write) {
  const std::string name = string_name(write.key.partition);
  const std::string record = record_of(write, name, digits_of(0));
  if (write.expiry >= kRemovable) return text_of({"SET", name, record, "NX", "GET"});
  const std::string until = std::to_string(write.expiry.time_since_epoch().count());
  return text_of({"SET", name, record, "NX", "GET", "PXAT", until});
}

Result<CommitOutcome> committed_as(Transaction writes, ReplyView reply) {
  Committed answer;
  if (std::ranges::none_of(writes, is_arithmetic)) return answer;
  answer.numbers.resize(writes.size());
  for (std::size_t i = 0; i < writes.size() && i + 2 < reply.size(); ++i) {
    const std::string_view number = reply[i + 2].text();
    if (number.size() == 8) answer.numbers[i] = static_cast<std::int64_t>(decode_number(number));
  }
  return answer;
}

Result<CommitOutcome> lost_as(const Write& write, std::size_t number, ReplyView current) {
  Lost lost{.write = number};
  if (!current.is_nil()) {
    Result<Item> item =
        decode_record(name_of(write.key), digits_of(write.key.sort), current.text());
    if (!item) return std::unexpected(std::move(item.error()));
    lost.current = std::move(*item);
  }
  return lost;
}

Result<CommitOutcome> answer_in(Transaction writes, ReplyView reply) {
  const std::int64_t kind = reply[0].integer().value_or(-1);
  if (kind == 0) return committed_as(writes, reply);
  const std::int64_t number = reply.size() < 3 ? -1 : reply[2].integer().value_or(-1);
  if (kind < 0 || number < 0 || std::cmp_greater_equal(number, writes.size())) {
    return std::unexpected(error_of(reply));
  }
  const auto at = static_cast<std::size_t>(number);
  const Key& key = writes[at].key;
  if (kind == 1 && reply.size() == 4) return lost_as(writes[at], at, reply[3]);
  if (kind == 1) return std::unexpected(error_of(reply));
  if (kind == 2) {
    return failure(ErrorCode::invalid, "holds bytes, not an integer: " + to_text(key));
  }
  if (kind == 3) return failure(ErrorCode::invalid, "integer overflow: " + to_text(key));
  return failure(ErrorCode::corrupt, "a stored item fails its checks: " + to_text(key));
}

Verdict plain_verdict(const Write& write, ReplyView reply, Time now) {
  if (reply.is_nil()) return {.answer = Committed{}};
  if (reply.is_error()) return {.answer = std::unexpected(error_of(reply))};
  Result<CommitOutcome> lost = lost_as(write, 0, reply);
  // Ours is there: a proxy sent it twice (docs/hazards.md#h33).
  if (lost && std::get<Lost>(*lost).current->version == write.version) {
    return {.answer = Committed{}};
  }
  // For its last millisecond Redis still has what has expired.
  if (lost && expired(*std::get<Lost>(*lost).current, now)) return {};
  return {.answer = std::move(lost)};
}

}  // namespace

Form form_of(Transaction writes, Time now) {
  const Write& write = writes[0];
  const bool plain = writes.size() == 1 && write.kind == Write::Kind::put && write.key.sort == 0 &&
                     write.guard.kind == Guard::Kind::absent && write.expiry > now;
  return plain ? Form::plain : Form::script;
}

Command command_of(Transaction writes, Form form, Time now) {
  return {.bytes = form == Form::plain ? plain_text(writes[0]) : script_text(writes, now),
          .slot = slot_of(writes[0].key.partition.home),
          .operation = StoreOperation::commit};
}

Verdict verdict_of(Transaction writes, Form form, ReplyView reply, Time now) {
  if (form == Form::plain) return plain_verdict(writes[0], reply, now);
  if (reply.size() < 2) return {.answer = std::unexpected(error_of(reply))};
  Verdict verdict{.answer = answer_in(writes, reply)};
  if (const auto server = reply[1].integer()) verdict.server = Time(Duration(*server));
  return verdict;
}

}  // namespace once::redis
