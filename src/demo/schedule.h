// What the demo delivers, all decided by one seed: the orders, which of them are delivered twice
// and when, how long the work on each takes, and at which deliveries a worker is killed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace once::demo {

// How far a worker gets with a delivery before it is killed.
enum class Stage : std::uint8_t {
  received,  // Nothing is done yet.
  worked,    // The work is done, but nothing is written.
  numbered,  // The naive one has taken an index, and has written no line there;
  listed,    // has written its line, and has not added to the total;
  added,     // has added, and has not marked the order as seen.
  written,   // All is written, and nothing acknowledged.
};
inline constexpr std::uint64_t kStages = static_cast<std::uint64_t>(Stage::written) + 1;

struct Order {
  std::int64_t cents = 0;
  std::chrono::microseconds work{0};
};

struct Delivery {
  std::uint32_t order = 0;
  std::optional<Stage> killed;  // The first time that it is handed out.
};

struct Sizes {
  std::uint32_t orders = 400;
  std::uint32_t kills = 20;  // At most as many as orders.
};

struct Schedule {
  std::vector<Order> orders;
  std::vector<Delivery> deliveries;  // About 30 % more than orders.

  std::int64_t total_cents() const;
};

Schedule make_schedule(std::uint64_t seed, const Sizes& sizes);

}  // namespace once::demo
