#include "kernel/apply.h"

#include <string>

namespace once {
namespace {

Result<Effect> effect_of_arithmetic(const Write& write, const Standing* standing) {
  const std::int64_t operand = std::get<std::int64_t>(write.value);
  if (standing == nullptr) return Effect{Effect::Kind::put, operand};
  if (!standing->number) {
    return failure(ErrorCode::invalid, "holds bytes, not an integer: " + to_text(write.key));
  }
  const std::int64_t before = *standing->number;
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

bool holds(const Guard& guard, const Standing* standing) {
  switch (guard.kind) {
    case Guard::Kind::anything: return true;
    case Guard::Kind::absent: return standing == nullptr;
    case Guard::Kind::unchanged: return standing != nullptr && standing->version == guard.version;
  }
  return false;
}

Result<Effect> effect_of(const Write& write, const Standing* standing) {
  switch (write.kind) {
    case Write::Kind::put: return Effect{Effect::Kind::put, std::nullopt};
    case Write::Kind::erase: return Effect{Effect::Kind::erase, std::nullopt};
    case Write::Kind::check: return Effect{};
    case Write::Kind::add:
    case Write::Kind::raise: return effect_of_arithmetic(write, standing);
  }
  return Effect{};
}

}  // namespace once
