#include "once/plan.h"

#include <type_traits>
#include <utility>

namespace once::detail {

const Error* error_of(const Step& step) {
  return std::visit(
      [](const auto& at) -> const Error* {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(at)>>) {
          return at->answer.has_value() ? nullptr : &at->answer.error();
        } else {
          return nullptr;
        }
      },
      step);
}

void fail_step(const Step& step, const Error& error) {
  std::visit(
      [&](const auto& at) {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(at)>>) {
          at->answer = std::unexpected(error);
        }
      },
      step);
}

void go_on(PlanState& state) {
  std::coroutine_handle<> next = state.leaf->self;
  const Error* failed = error_of(state.step);
  if (failed != nullptr && state.step_strict) {
    state.leaf->fail(*failed);
    next = state.leaf->next_up();
  }
  state.step = std::monostate{};
  while (next) {
    next.resume();
    next = std::exchange(state.next, nullptr);
  }
}

}  // namespace once::detail
