#include "stores/dynamodb/operation.h"

#include <limits>
#include <string_view>
#include <utility>

#include "kernel/apply.h"

namespace once::dynamodb {
namespace {

// An attribute that is missing compares as false with anything.
constexpr std::string_view kLive = "(attribute_not_exists(exp) OR exp > :now)";
constexpr std::string_view kAbsent = "(attribute_not_exists(pk) OR exp <= :now)";
constexpr std::string_view kPermanent = "attribute_exists(pk) AND attribute_not_exists(exp)";

class Conditions {
 public:
  explicit Conditions(Time now) : now_(now) {}

  void use(const char* name, Json value) { values_[name] = std::move(value); }
  void require(std::string_view text) {
    if (!text_.empty()) text_ += " AND ";
    text_ += text;
  }
  // For conditions that tell what has expired.
  void require_in_time(std::string_view text) {
    use(":now", number(std::int64_t{now_.time_since_epoch().count()}));
    require(text);
  }
  void require(const Guard& guard) {
    if (guard.kind == Guard::Kind::absent) require_in_time(kAbsent);
    if (guard.kind == Guard::Kind::permanent) require(kPermanent);
    if (guard.kind != Guard::Kind::unchanged) return;
    use(":seen", number(guard.version.number));
    require("ver = :seen");
    require_in_time(kLive);
  }

  void into(Json& body) && {
    if (!values_.empty()) body["ExpressionAttributeValues"] = std::move(values_);
    if (text_.empty()) return;
    body["ConditionExpression"] = std::move(text_);
    body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD";
  }

 private:
  const Time now_;
  std::string text_;
  Json values_ = Json::object();
};

std::int64_t operand_of(const Write& write) { return std::get<std::int64_t>(write.value); }

// The last integer to which the operand can be added.
std::int64_t bound_of(std::int64_t operand) {
  using Range = std::numeric_limits<std::int64_t>;
  return operand > 0 ? Range::max() - operand : Range::min() - operand;
}

Operation put_of(Json key, const Write& write, Conditions conditions) {
  Operation put{Operation::Kind::put, Json::object()};
  add_item(key, Item{write.value, write.version, write.expiry});
  if (write.guard.kind == Guard::Kind::unchanged) {
    key["was"] = number(write.guard.version.number);
  }
  put.body["Item"] = std::move(key);
  std::move(conditions).into(put.body);
  return put;
}

Operation keyed(Operation::Kind kind, Json key, Conditions conditions) {
  Operation operation{kind, Json::object()};
  operation.body["Key"] = std::move(key);
  std::move(conditions).into(operation.body);
  return operation;
}

// That the current value is an integer which passes `comparison`, under the guard; or `otherwise`,
// if the guard holds for anything.
Conditions arithmetic(const Write& write, std::string_view comparison, std::string_view otherwise,
                      Time now) {
  Conditions conditions(now);
  conditions.use(":type", {{"S", "N"}});
  std::string text = "attribute_type(v, :type) AND ";
  text += comparison;
  if (write.guard.kind != Guard::Kind::anything) {
    conditions.require(write.guard);
    conditions.require(text);
    return conditions;
  }
  std::string either(otherwise);
  either.append(" OR (").append(kLive).append(" AND ").append(text).append(")");
  conditions.require_in_time(either);
  return conditions;
}

Operation raise_of(Json key, const Write& write, Time now) {
  Conditions conditions = arithmetic(write, "v < :operand", kAbsent, now);
  conditions.use(":operand", number(operand_of(write)));
  return put_of(std::move(key), write, std::move(conditions));
}

// Not where it was the last or the last but one, so that a copy which a gateway sent is refused
// (docs/hazards.md#h33).
Operation add_of(Json key, const Write& write, Time now) {
  std::string comparison = operand_of(write) > 0 ? "v <= :bound" : "v >= :bound";
  comparison += " AND ver <> :version AND NOT was = :version";
  Conditions conditions = arithmetic(write, comparison, "attribute_not_exists(pk)", now);
  conditions.use(":none", number(std::uint64_t{0}));
  conditions.use(":bound", number(bound_of(operand_of(write))));
  conditions.use(":operand", number(operand_of(write)));
  conditions.use(":version", number(write.version.number));
  std::string update = "ADD v :operand SET was = if_not_exists(ver, :none), ver = :version";
  if (write.expiry == kNever) {
    update += " REMOVE exp, #ttl";
  } else {
    conditions.use(":exp", number(std::int64_t{write.expiry.time_since_epoch().count()}));
    conditions.use(":ttl", number(ttl_of(write.expiry)));
    update += ", exp = :exp, #ttl = :ttl";
  }
  Operation operation = keyed(Operation::Kind::update, std::move(key), std::move(conditions));
  operation.body["UpdateExpression"] = std::move(update);
  operation.body["ExpressionAttributeNames"] = {{"#ttl", "ttl"}};  // A reserved word.
  return operation;
}

Conditions guarded(const Guard& guard, Time now) {
  Conditions conditions(now);
  conditions.require(guard);
  return conditions;
}

bool is_arithmetic(const Write& write) {
  return write.kind == Write::Kind::add || write.kind == Write::Kind::raise;
}

std::optional<CurrentItem> current_in(const std::optional<Item>& old, Time now) {
  if (!old || expired(*old, now)) return std::nullopt;
  CurrentItem current{old->version, std::nullopt, old->expiry == kNever};
  if (const auto* integer = std::get_if<std::int64_t>(&old->value)) current.number = *integer;
  return current;
}

}  // namespace

Result<Operation> operation_of(const Write& write, const Form& form, Time now) {
  Result<Json> key = key_attributes(write.key);
  if (!key) return std::unexpected(std::move(key.error()));
  if (form.kind == Form::Kind::settled) {
    return keyed(Operation::Kind::check, std::move(*key), guarded(unchanged(form.version), now));
  }
  if (form.kind == Form::Kind::afresh) {
    return put_of(std::move(*key), write, guarded(absent(), now));
  }
  const bool from_nothing = write.guard.kind == Guard::Kind::absent;
  switch (write.kind) {
    case Write::Kind::add:
      if (!from_nothing) return add_of(std::move(*key), write, now);
      break;
    case Write::Kind::raise:
      if (!from_nothing) return raise_of(std::move(*key), write, now);
      break;
    case Write::Kind::put: break;
    case Write::Kind::erase:
      return keyed(Operation::Kind::erase, std::move(*key), guarded(write.guard, now));
    case Write::Kind::check:
      return keyed(Operation::Kind::check, std::move(*key), guarded(write.guard, now));
  }
  return put_of(std::move(*key), write, guarded(write.guard, now));
}

const char* call_of(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::put: return "PutItem";
    case Operation::Kind::update: return "UpdateItem";
    case Operation::Kind::erase: return "DeleteItem";
    case Operation::Kind::check: return "GetItem";
  }
  return "";
}

const char* member_of(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::put: return "Put";
    case Operation::Kind::update: return "Update";
    case Operation::Kind::erase: return "Delete";
    case Operation::Kind::check: return "ConditionCheck";
  }
  return "";
}

std::size_t bytes_of(Transaction writes) {
  std::size_t bytes = 0;
  for (const Write& write : writes) {
    bytes += kItemOverhead;
    if (const Bytes* value = std::get_if<Bytes>(&write.value)) bytes += value->size();
  }
  return bytes;
}

Result<Verdict> judge(const Write& write, const Form& form, const std::optional<Item>& old,
                      Time now) {
  const std::optional<CurrentItem> found = current_in(old, now);
  const CurrentItem* current = found ? &*found : nullptr;
  if (!holds(write.guard, current)) return Verdict{Verdict::Kind::lost, {}};
  if (!is_arithmetic(write)) return Verdict{};
  const Result<Effect> effect = effect_of(write, current);
  if (!effect) return std::unexpected(effect.error());
  if (current != nullptr && effect->kind == Effect::Kind::none) {
    return Verdict{Verdict::Kind::another_form,
                   {Form::Kind::settled, current->version, *effect->number}};
  }
  if (current == nullptr && write.kind == Write::Kind::add && form.kind != Form::Kind::afresh) {
    return Verdict{Verdict::Kind::another_form, {Form::Kind::afresh, {}, 0}};
  }
  // It would hold as the write says: what the other form was chosen for is gone again.
  if (form.kind != Form::Kind::plain) return Verdict{Verdict::Kind::another_form, {}};
  return Verdict{};
}

}  // namespace once::dynamodb
