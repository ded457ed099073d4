#include "testing/faults/faulty_way.h"

#include <algorithm>
#include <stdexcept>

#include "testing/blackbox/served_store.h"
#include "testing/server_process.h"
#include "testing/servers/redis_cluster.h"

namespace once::testing {
namespace {

constexpr std::string_view kLoopback = "127.0.0.1:";

bool is_write(const RelayedRequest& request) {
  if (request.operation.empty()) return request.method != "GET" && request.method != "HEAD";
  return request.operation.ends_with("Item") ? request.operation != "GetItem"
                                             : request.operation == "TransactWriteItems";
}

// Of commands to Redis, or a statement to PostgreSQL.
bool is_write(std::string_view bytes) {
  const auto has = [&](std::string_view word) {
    return bytes.find(word) != std::string_view::npos;
  };
  return has("EVALSHA") || has("\r\nNX\r\n") || has(".commit_apart(") || has(".commit_in_turn(");
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
    case WriteFault::hang: return Stall{};
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
    case WriteFault::hang: return WireRelay::Fate::stall;
  }
  return WireRelay::Fate::pass;
}

// The servers of a cluster tell clients where the others are, so they are told to tell the relays'
// ports. That takes them a second: the relays stay for as long as the cluster, which is the whole
// program.
const std::vector<std::shared_ptr<WireRelay>>& relays_before(const RedisCluster& cluster) {
  static const std::vector<std::shared_ptr<WireRelay>> relays = [&] {
    std::vector<std::shared_ptr<WireRelay>> made;
    std::vector<std::uint16_t> ports;
    for (const auto& server : cluster.servers()) {
      made.push_back(std::make_shared<WireRelay>(server->port()));
      ports.push_back(made.back()->port());
    }
    cluster.announce(ports);
    return made;
  }();
  return relays;
}

// The time in an answer of PostgreSQL: in its first row, after an integer 0 and an integer -1.
// Returns whether it has one.
bool move_time_of_postgres(std::string& bytes, Duration ahead) {
  constexpr std::string_view kBefore("\0\0\0\4\0\0\0\0\0\0\0\4\xff\xff\xff\xff\0\0\0\10", 20);
  const std::size_t at = bytes.find(kBefore);
  if (at == std::string::npos || bytes.size() < at + kBefore.size() + 8) return false;
  std::int64_t time = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    time = time << 8 | static_cast<unsigned char>(bytes[at + kBefore.size() + i]);
  }
  time += ahead.count();
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[at + kBefore.size() + i] = static_cast<char>(time >> (8 * (7 - i)));
  }
  return true;
}

struct ServedDirectory {
  const ServedStore store;
  const ServerProcess server{store.address()};
};

}  // namespace

StoreAtAddress server_under_test() {
  if (ServedStore::harness().has_server()) return ServedStore::harness().serve();
  const auto served = std::make_shared<const ServedDirectory>();
  if (!served->server.running()) throw std::runtime_error("no server");
  return {served->server.url(), served};
}

FaultyWay::FaultyWay(StoreAtAddress place) : place_(std::move(place)) {
  const std::size_t at = place_.address.find(kLoopback);
  if (at == std::string::npos) throw std::runtime_error("no server in " + place_.address);
  const std::size_t begin = at + kLoopback.size();
  const std::size_t end =
      std::min(place_.address.find_first_not_of("0123456789", begin), place_.address.size());
  const auto server = static_cast<std::uint16_t>(std::stoi(place_.address.substr(begin, end)));
  std::uint16_t port = 0;
  repeats_ = !place_.address.starts_with("postgres");
  if (!repeats_ || place_.address.starts_with("redis")) {
    const RedisCluster* const cluster = RedisCluster::shared_with(server);
    if (cluster != nullptr) {
      use(relays_before(*cluster));
    } else {
      use({std::make_shared<WireRelay>(server)});
    }
    port = wire_relays_.front()->port();
  } else {
    relay_ = std::make_unique<Relay>(
        server, [this](const RelayedRequest& request) { return fault_for(request); });
    port = relay_->port();
  }
  address_ = place_.address;
  address_.replace(begin, end - begin, std::to_string(port));
}

// Those of a cluster go on.
FaultyWay::~FaultyWay() {
  for (const auto& relay : wire_relays_) {
    relay->decide(nullptr);
    relay->edit_replies(nullptr);
    relay->set_meanwhile(nullptr);
  }
}

void FaultyWay::use(std::vector<std::shared_ptr<WireRelay>> relays) {
  wire_relays_ = std::move(relays);
  for (std::size_t i = 0; i < wire_relays_.size(); ++i) {
    wire_relays_[i]->decide([this, i](std::string_view bytes) { return fate_for(i, bytes); });
    wire_relays_[i]->edit_replies([this](std::string& bytes) { skew_reply(bytes); });
  }
}

std::string FaultyWay::address(std::optional<std::chrono::seconds> timeout) const {
  if (!timeout) return address_;
  constexpr std::string_view kOption = "timeout=";
  std::string address = address_;
  if (address.find(kOption) == std::string::npos) {
    address += address.find('?') == std::string::npos ? '?' : '&';
    address += kOption;
  }
  const std::size_t at = address.find(kOption) + kOption.size();
  const std::size_t end = std::min(address.find('&', at), address.size());
  return address.replace(at, end - at, std::to_string(timeout->count()));
}

std::unique_ptr<Store> FaultyWay::open(std::optional<std::chrono::seconds> timeout) const {
  Result<std::unique_ptr<Store>> store = open_store(address(timeout));
  if (!store) throw std::runtime_error(store.error().message);
  return std::move(*store);
}

Once FaultyWay::connect(std::string name_space, std::optional<std::chrono::seconds> timeout) const {
  if (address_.starts_with("http://")) timeout.reset();  // Its calls have times of their own.
  Result<Once> once = once::open(address(timeout), std::move(name_space));
  if (!once) throw std::runtime_error(once.error().message);
  return std::move(*once);
}

void FaultyWay::set(WriteFault fault, int period, int most) {
  fault_ = WriteFault::none;
  set_meanwhile(nullptr);
  period_ = period;
  most_ = most;
  writes_ = 0;
  met_ = 0;
  fault_ = fault;
}

void FaultyWay::repeat_next(std::function<void()> meanwhile) {
  set(WriteFault::none);
  set_meanwhile(std::move(meanwhile));
  most_ = 1;
  fault_ = WriteFault::repeat;
}

void FaultyWay::set_meanwhile(std::function<void()> meanwhile) {
  for (const auto& relay : wire_relays_) relay->set_meanwhile(meanwhile);
  const std::lock_guard lock(mutex_);
  meanwhile_ = std::move(meanwhile);
}

void FaultyWay::hang_server(std::size_t number) { hung_server_ = number; }

void FaultyWay::heal() {
  hung_server_ = kNoServer;
  hold_up("");
  skew(Duration(0));
  set(WriteFault::none);
}

bool FaultyWay::is_due() {
  const bool due = fault_ != WriteFault::none && ++writes_ % period_ == 0 && met_ < most_;
  if (due) ++met_;
  return due;
}

void FaultyWay::hold_up(std::string name, Duration length) {
  const std::lock_guard lock(mutex_);
  held_up_ = std::move(name);
  delay_ = length;
  for (const auto& relay : wire_relays_) relay->set_delay(length);
}

bool FaultyWay::is_held_up(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const bool held_up = !held_up_.empty() && text.find(held_up_) != std::string_view::npos;
  if (held_up) ++met_;
  return held_up;
}

void FaultyWay::skew(Duration ahead, int answers) {
  skew_ = ahead;
  skewed_answers_ = answers;
}

// Redis shows its time in two forms: to TIME, seconds as a text of ten digits; in the answers of
// our scripts, milliseconds as an integer of thirteen.
void FaultyWay::skew_reply(std::string& bytes) {
  const std::lock_guard lock(mutex_);  // Two relays at once would show it once too often.
  const Duration ahead = skewed_answers_ > 0 && !is_calm_ ? skew_.load() : Duration(0);
  if (ahead == Duration(0)) return;
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
  move("$10\r\n", 10, ahead.count() / 1'000);
  move(":", 13, ahead.count());
  if (move_time_of_postgres(bytes, ahead)) moved = true;
  if (!moved) return;
  --skewed_answers_;
  ++met_;
}

Fault FaultyWay::fault_for(const RelayedRequest& request) {
  if (is_calm_) return Pass{};
  if (hung_server_ == 0) {
    ++met_;
    return StallUnsent{};
  }
  if (is_held_up(request.path) || is_held_up(request.body)) return Delay{delay_};
  if (is_write(request) && is_due()) return due_fault();
  if (skew_.load() == Duration(0) || skewed_answers_ <= 0) return Pass{};
  --skewed_answers_;
  ++met_;
  return Redate{skew_};
}

Fault FaultyWay::due_fault() {
  if (fault_ != WriteFault::repeat) return http_fault(fault_);
  const std::lock_guard lock(mutex_);
  return Repeat{meanwhile_};
}

WireRelay::Fate FaultyWay::fate_for(std::size_t server, std::string_view bytes) {
  if (is_calm_) return WireRelay::Fate::pass;
  if (server == hung_server_) {
    ++met_;
    return WireRelay::Fate::stall;
  }
  if (is_held_up(bytes)) return WireRelay::Fate::delay;
  if (!is_write(bytes) || !is_due()) return WireRelay::Fate::pass;
  const bool passes = fault_ == WriteFault::repeat && !repeats_;
  return passes ? WireRelay::Fate::pass : wire_fate(fault_);
}

}  // namespace once::testing
