#include "stores/decorators/resolve.h"

#include <algorithm>

namespace once {
namespace {

bool is_arithmetic(const Write& write) {
  return write.kind == Write::Kind::add || write.kind == Write::Kind::raise;
}

// Erase and check leave no version behind.
bool leaves_a_version(const Write& write) {
  return write.kind == Write::Kind::put || is_arithmetic(write);
}

bool is_ours(const Write& write, const std::optional<Item>& current) {
  return leaves_a_version(write) && current && current->version == write.version;
}

bool proves_loss(const Write& write, const std::optional<Item>& current) {
  return write.kind == Write::Kind::put && write.guard.kind == Guard::Kind::absent &&
         write.guard.lasting && current && current->version != write.version;
}

// Another's version at a raise may be an earlier larger one or a later one: it proves nothing.
Committed found(Transaction sent, std::span<const std::optional<Item>> current) {
  Committed answer;
  if (std::ranges::none_of(sent, is_arithmetic)) return answer;
  answer.numbers.resize(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (!is_arithmetic(sent[i]) || !is_ours(sent[i], current[i])) continue;
    if (const auto* number = std::get_if<std::int64_t>(&current[i]->value)) {
      answer.numbers[i] = *number;
    }
  }
  return answer;
}

// Versions are never used again, so after it landed the old version is gone for good; and a lasting
// key stays taken for longer than any sending.
bool fails_once_landed(const Write& write) {
  const bool unchanged = write.guard.kind == Guard::Kind::unchanged;
  if (write.kind == Write::Kind::erase) return unchanged;
  const bool lasting = write.guard.kind == Guard::Kind::absent && write.guard.lasting;
  return write.kind == Write::Kind::put && (unchanged || lasting);
}

}  // namespace

Resolution resolve(Transaction sent, std::span<const std::optional<Item>> current) {
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (is_ours(sent[i], current[i])) return found(sent, current);
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (proves_loss(sent[i], current[i])) return Lost{i, current[i]};
  }
  return StillUnknown{};
}

bool may_send_again(Transaction sent) {
  const auto is_add = [](const Write& write) { return write.kind == Write::Kind::add; };
  return std::ranges::none_of(sent, is_add) && std::ranges::any_of(sent, fails_once_landed);
}

}  // namespace once
