// One worker: takes a delivery, does the work and records it, in one of two ways. It runs in a
// process of its own, and is killed at the stage that the schedule says.
#pragma once

#include <optional>
#include <string>

#include "demo/schedule.h"
#include "once/error.h"

namespace once::demo {

enum class Way : std::uint8_t {
  naive,  // Looks whether the order was seen, works, then reads and writes one thing at a time.
  once,   // Claims the order, works, then line, total and completion in one commit.
};

struct Task {
  std::uint32_t number = 0;  // Of the order.
  Order order;
  std::optional<Stage> killed;
};

struct Report {
  enum class Outcome : std::uint8_t {
    applied,
    duplicate,  // Done already.
    busy,       // Another worker has it: to be delivered later.
    fenced,     // It took too long, and another may have taken it over: to be delivered later.
    failed,     // For the reason in `why`.
  };
  Outcome outcome = Outcome::failed;
  bool took_over = false;  // From a worker that was killed.
  std::string why;
};

// As messages between processes.
std::string to_message(const Task& task);
std::string to_message(const Report& report);
std::optional<Task> task_of(const std::string& message);
std::optional<Report> report_of(const std::string& message);

// In the worker's process: until the socket ends.
void work(Way way, const std::string& url, int socket);

}  // namespace once::demo
