#include "kernel/apply.h"

#include <string>

namespace once {
namespace {

Result<Effect> effect_of_arithmetic(const Write& write, const CurrentItem* current) {
  const std::int64_t operand = std::get<std::int64_t>(write.value);
  if (current == nullptr) return Effect{Effect::Kind::put, operand};
  if (!current->number) {
    return failure(ErrorCode::invalid, "holds bytes, not an integer: " + to_text(write.key));
  }
  const std::int64_t before = *current->number;
  if (write.kind == Write::Kind::raise) {
    if (operand > before) return Effect{Effect::Kind::put, operand};
    return Effect{Effect::Kind::none, before};
  }
  std::int64_t after = 0;
  if (__builtin_add_overflow(before, operand, &after)) {
    return failure(ErrorCode::invalid, "integer overflow: " + to_text(write.key));
  }
  return Effect{Effect::Kind::put, after};
}

}  // namespace

bool holds(const Guard& guard, const CurrentItem* current) {
  switch (guard.kind) {
    case Guard::Kind::anything: return true;
    case Guard::Kind::absent: return current == nullptr;
    case Guard::Kind::unchanged: return current != nullptr && current->version == guard.version;
    case Guard::Kind::permanent: return current != nullptr && current->permanent;
  }
  return false;
}

Result<Effect> effect_of(const Write& write, const CurrentItem* current) {
  switch (write.kind) {
    case Write::Kind::put: return Effect{Effect::Kind::put, std::nullopt};
    case Write::Kind::erase: return Effect{Effect::Kind::erase, std::nullopt};
    case Write::Kind::check: return Effect{};
    case Write::Kind::add:
    case Write::Kind::raise: return effect_of_arithmetic(write, current);
  }
  return Effect{};
}

}  // namespace once
