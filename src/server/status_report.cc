#include "server/status_report.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "once/entropy.h"
#include "wire/text.h"

namespace once::server {
namespace {

constexpr Duration kTurn = std::chrono::seconds(1);
constexpr int kTurnsBetween = StatusReport::kEvery / kTurn;
constexpr Duration kWithin = std::chrono::seconds(2);  // A process that ends waits no longer.

std::string host_name() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

StatusReport::StatusReport(Documents& documents, std::function<wire::WorkerStatus()> status,
                           Clock& clock)
    : documents_(documents),
      status_(std::move(status)),
      clock_(clock),
      host_(host_name()),
      number_(system_entropy().random()),
      started_(clock.now()),
      // The first one soon, but not of a process that ends at once.
      periodic_(clock, kTurn, [this] {
        if (turns_++ % kTurnsBetween == 0) write();
        return false;
      }) {}

void StatusReport::write() {
  wire::WorkerStatus status = status_();
  status.host = host_;
  status.pid = ::getpid();
  status.started_at = started_;
  status.at = clock_.now();
  std::string name(wire::kWorkerPrefix);
  name.append(status.kind).append("/").append(host_).append("/");
  name.append(std::to_string(status.pid)).append("-").append(wire::hex_text(number_));
  documents::Condition condition = documents::IfAbsent{};
  if (!etag_.empty()) condition = documents::IfMatch{etag_};
  // Without an id: a day's worth of them would stay in the store, and a lost answer does no harm.
  const auto written = documents_.put(
      name, {.bytes = wire::encode(status), .type = "application/json", .ttl = kKept},
      std::move(condition), {.id = "", .ttl = Duration::zero()}, kWithin);
  if (!written) return;
  if (const auto* updated = std::get_if<documents::Updated>(&*written)) {
    etag_ = updated->document ? updated->document->etag : "";
  } else if (const auto* lost = std::get_if<documents::PreconditionFailed>(&*written)) {
    etag_ = lost->etag.value_or(
        "");  // It ended, or an answer was lost. The next one is as it should be.
  }
}

}  // namespace once::server
