#include "testing/faults/faulty_way.h"

#include <algorithm>
#include <stdexcept>

namespace once::testing {
namespace {

constexpr std::string_view kLoopback = "127.0.0.1:";

bool is_write(const RelayedRequest& request) {
  if (request.operation.empty()) return request.method == "PUT" || request.method == "DELETE";
  return request.operation.ends_with("Item") ? request.operation != "GetItem"
                                             : request.operation == "TransactWriteItems";
}

bool is_write(std::string_view redis_commands) {
  return redis_commands.find("EVALSHA") != std::string_view::npos ||
         redis_commands.find("\r\nNX\r\n") != std::string_view::npos;
}

Fault http_fault(WriteFault fault) {
  switch (fault) {
    case WriteFault::none: return Pass{};
    case WriteFault::repeat: return Repeat{};
    case WriteFault::lost_reply: return DropReply{};
    case WriteFault::lost: return Cut{};
    case WriteFault::foreign_page:
      return Answer{.status = "503 Service Unavailable",
                    .body = "<html><body>No server is available.</body></html>",
                    .headers = {"Content-Type: text/html"}};
  }
  return Pass{};
}

WireRelay::Fate wire_fate(WriteFault fault) {
  switch (fault) {
    case WriteFault::none: return WireRelay::Fate::pass;
    case WriteFault::repeat: return WireRelay::Fate::repeat;
    case WriteFault::lost_reply: return WireRelay::Fate::drop_reply;
    case WriteFault::lost:
    case WriteFault::foreign_page: return WireRelay::Fate::cut;
  }
  return WireRelay::Fate::pass;
}

}  // namespace

FaultyWay::FaultyWay(const StoreHarness& harness) : place_(harness.serve()) {
  const std::size_t at = place_.address.find(kLoopback);
  if (at == std::string::npos) throw std::runtime_error("no server in " + place_.address);
  const std::size_t begin = at + kLoopback.size();
  const std::size_t end =
      std::min(place_.address.find_first_not_of("0123456789", begin), place_.address.size());
  const auto server = static_cast<std::uint16_t>(std::stoi(place_.address.substr(begin, end)));
  std::uint16_t port = 0;
  if (place_.address.starts_with("redis")) {
    wire_relay_ = std::make_unique<WireRelay>(server);
    wire_relay_->decide([this](std::string_view bytes) { return fate_for(bytes); });
    port = wire_relay_->port();
  } else {
    relay_ = std::make_unique<Relay>(
        server, [this](const RelayedRequest& request) { return fault_for(request); });
    port = relay_->port();
  }
  address_ = place_.address;
  address_.replace(begin, end - begin, std::to_string(port));
}

std::unique_ptr<Store> FaultyWay::open() const {
  Result<std::unique_ptr<Store>> store = open_store(address_);
  if (!store) throw std::runtime_error(store.error().message);
  return std::move(*store);
}

void FaultyWay::set(WriteFault fault, int period) {
  fault_ = WriteFault::none;
  period_ = period;
  writes_ = 0;
  met_ = 0;
  fault_ = fault;
}

bool FaultyWay::is_due() {
  const bool due = fault_ != WriteFault::none && ++writes_ % period_ == 0;
  if (due) ++met_;
  return due;
}

void FaultyWay::hold_up(std::string name) {
  const std::lock_guard lock(mutex_);
  held_up_ = std::move(name);
}

bool FaultyWay::is_held_up(std::string_view text) {
  const std::lock_guard lock(mutex_);
  return !held_up_.empty() && text.find(held_up_) != std::string_view::npos;
}

void FaultyWay::skew(Duration ahead, int answers) {
  skew_ = ahead;
  skewed_answers_ = answers;
  if (wire_relay_) wire_relay_->edit_replies([this](std::string& bytes) { skew_reply(bytes); });
}

// Redis shows its time in two forms: to TIME, seconds as a text of ten digits; in the answers of
// our scripts, milliseconds as an integer of thirteen.
void FaultyWay::skew_reply(std::string& bytes) {
  bool moved = false;
  const auto move = [&](std::string_view before, std::size_t digits, std::int64_t by) {
    for (std::size_t at = 0; (at = bytes.find(before, at)) != std::string::npos;) {
      at += before.size();
      const std::size_t end = bytes.find_first_not_of("0123456789", at);
      if (end == std::string::npos || end - at != digits) continue;
      const std::int64_t shown = std::stoll(bytes.substr(at, digits));
      bytes.replace(at, digits, std::to_string(shown + by));
      moved = true;
    }
  };
  const Duration ahead = skewed_answers_ > 0 ? skew_.load() : Duration(0);
  move("$10\r\n", 10, ahead.count() / 1'000);
  move(":", 13, ahead.count());
  if (moved) --skewed_answers_;
}

Fault FaultyWay::fault_for(const RelayedRequest& request) {
  if (is_held_up(request.path) || is_held_up(request.body)) return Delay{WireRelay::kDelay};
  if (is_write(request) && is_due()) return http_fault(fault_);
  return skew_.load() != Duration(0) && skewed_answers_-- > 0 ? Fault(Redate{skew_})
                                                              : Fault(Pass{});
}

WireRelay::Fate FaultyWay::fate_for(std::string_view bytes) {
  if (is_held_up(bytes)) return WireRelay::Fate::delay;
  return is_write(bytes) && is_due() ? wire_fate(fault_) : WireRelay::Fate::pass;
}

}  // namespace once::testing
