#include "demo/side.h"

#include <algorithm>
#include <utility>

#include "demo/books.h"

namespace once::demo {
namespace {

constexpr auto kVisibility = std::chrono::seconds(1);
constexpr auto kComeBack = std::chrono::milliseconds(50);
constexpr std::uint64_t kMaxFailures = 100;

}  // namespace

Side::Side(Way way, const Schedule& schedule, StoreProcess store)
    : way_(way),
      schedule_(&schedule),
      store_(std::move(store)),
      queue_(schedule.deliveries.size(), kVisibility),
      killed_at_(schedule.deliveries.size()),
      began_(Clock::now()),
      heard_(began_) {}

Result<Side> Side::start(Way way, const Schedule& schedule, std::uint32_t workers,
                         const std::filesystem::path& directory) {
  Result<StoreProcess> store = start_store(way, directory);
  if (!store) return std::unexpected(std::move(store.error()));
  Side side(way, schedule, std::move(*store));
  for (std::uint32_t i = 0; i < workers; ++i) {
    Result<Child> process = side.start_worker();
    if (!process) return std::unexpected(std::move(process.error()));
    side.workers_.push_back({std::move(*process), std::nullopt});
  }
  return side;
}

Result<Child> Side::start_worker() const {
  return Child::start([this](int socket) { work(way_, store_.url, socket); });
}

void Side::hand_out(Clock::time_point now) {
  for (Worker& worker : workers_) {
    if (worker.delivery) continue;
    worker.delivery = queue_.take(now);
    if (!worker.delivery) return;
    const Delivery& delivery = schedule_->deliveries[*worker.delivery];
    Task task{delivery.order, schedule_->orders[delivery.order], {}};
    if (!killed_at_[*worker.delivery]) task.killed = delivery.killed;
    killed_at_[*worker.delivery] = true;
    worker.doomed = task.killed.has_value();
    (void)worker.process.send(to_message(task));  // If it is gone, its socket says so.
  }
}

std::optional<Side::Clock::time_point> Side::due() const {
  const bool idle = std::ranges::any_of(
      workers_, [](const Worker& worker) { return !worker.delivery.has_value(); });
  return idle ? queue_.due() : std::nullopt;
}

void Side::watch(std::vector<pollfd>& watched) const {
  for (const Worker& worker : workers_) {
    watched.push_back({.fd = worker.process.socket(), .events = POLLIN, .revents = 0});
  }
  watched.push_back({.fd = store_.process.socket(), .events = POLLIN, .revents = 0});
}

Result<void> Side::hear(int socket, Clock::time_point now) {
  const auto worker =
      std::ranges::find(workers_, socket, [](const Worker& one) { return one.process.socket(); });
  if (worker == workers_.end()) {
    if (socket != store_.process.socket()) return {};
    return failure(ErrorCode::unavailable, "the process of the store ended");
  }
  const std::optional<std::string> message = worker->process.receive();
  if (!message) return replace(*worker);
  const std::optional<Report> report = report_of(*message);
  const std::optional<std::size_t> delivery = std::exchange(worker->delivery, std::nullopt);
  if (!report || !delivery) return failure(ErrorCode::corrupt, "a worker talks nonsense");
  return take(*report, *delivery, now);
}

// Its delivery is still in the queue, and comes back when its time is over.
Result<void> Side::replace(Worker& worker) {
  if (!worker.process.was_killed() || !worker.doomed) {
    return failure(ErrorCode::unavailable, "a worker ended that nobody killed");
  }
  ++tally_.killed;
  Result<Child> process = start_worker();
  if (!process) return std::unexpected(std::move(process.error()));
  worker = Worker{std::move(*process), std::nullopt};
  return {};
}

Result<void> Side::take(const Report& report, std::size_t delivery, Clock::time_point now) {
  heard_ = now;
  if (report.took_over) ++tally_.taken_over;
  switch (report.outcome) {
    case Report::Outcome::applied: ++tally_.applied; break;
    case Report::Outcome::duplicate: ++tally_.skipped; break;
    case Report::Outcome::busy:
    case Report::Outcome::fenced:
      ++tally_.busy;
      queue_.put_back(delivery, now + kComeBack);
      return {};
    case Report::Outcome::failed:
      queue_.put_back(delivery, now + kComeBack);
      if (++failures_ <= kMaxFailures) return {};
      return failure(ErrorCode::unavailable, report.why);
  }
  queue_.acknowledge(delivery);
  return {};
}

Tally Side::tally() const {
  Tally tally = tally_;
  tally.deliveries = schedule_->deliveries.size();
  tally.finished = queue_.acknowledged();
  tally.handed_out = queue_.handed_out();
  tally.timed_out = queue_.timed_out();
  tally.took = std::chrono::duration_cast<std::chrono::milliseconds>(heard_ - began_);
  return tally;
}

Result<Audit> Side::audit() const {
  const auto orders = static_cast<std::uint32_t>(schedule_->orders.size());
  const Result<Books> books = read_books(way_, store_.url, orders, queue_.handed_out());
  if (!books) return std::unexpected(books.error());
  return demo::audit(*schedule_, *books);
}

}  // namespace once::demo
