#include <sstream>

#include "demo/worker.h"

namespace once::demo {

std::string to_message(const Task& task) {
  std::ostringstream out;
  const int killed = task.killed ? static_cast<int>(*task.killed) : -1;
  out << task.number << ' ' << task.order.cents << ' ' << task.order.work.count() << ' ' << killed;
  return out.str();
}

std::optional<Task> task_of(const std::string& message) {
  std::istringstream in(message);
  Task task;
  std::int64_t work = 0;
  int killed = -1;
  in >> task.number >> task.order.cents >> work >> killed;
  if (!in || killed >= static_cast<int>(kStages)) return std::nullopt;
  task.order.work = std::chrono::microseconds(work);
  if (killed >= 0) task.killed = static_cast<Stage>(killed);
  return task;
}

std::string to_message(const Report& report) {
  std::ostringstream out;
  out << static_cast<int>(report.outcome) << ' ' << (report.took_over ? 1 : 0) << ' ' << report.why;
  return out.str();
}

std::optional<Report> report_of(const std::string& message) {
  std::istringstream in(message);
  int outcome = -1;
  int took_over = 0;
  in >> outcome >> took_over;
  if (!in || outcome < 0 || outcome > static_cast<int>(Report::Outcome::failed)) {
    return std::nullopt;
  }
  Report report{static_cast<Report::Outcome>(outcome), took_over == 1, ""};
  in.ignore(1);
  std::getline(in, report.why);
  return report;
}

}  // namespace once::demo
