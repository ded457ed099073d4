// The way from clients to a real server on loopback, the store's or `once serve`, with a relay on
// it. The relay does to writes what a test says.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "once/open.h"
#include "testing/relay/relay.h"
#include "testing/relay/wire_relay.h"
#include "testing/stores/stores.h"

namespace once::testing {

enum class WriteFault : std::uint8_t {
  none,
  repeat,        // A gateway lost the reply, sent it again, and passes on the second reply. Nothing
                 // does so before PostgreSQL: it passes.
  lost_reply,    // It was done, and the connection ends.
  lost,          // It never arrives, and the connection ends.
  foreign_page,  // A balancer answers 503 with a page of its own. Redis: as `lost`.
  hang           // Nothing comes back, and the connection stays. It was done, on Redis it was not.
};

// The store that $ONCE_TEST_STORE names, if it is a server. Otherwise `once serve` on one that is
// not.
StoreAtAddress server_under_test();

class FaultyWay {
 public:
  static constexpr int kAll = 1'000'000;

  // To a store that is a server, or to http://127.0.0.1:PORT.
  // There is a relay before each server of a cluster.
  explicit FaultyWay(StoreAtAddress place);
  ~FaultyWay();
  FaultyWay(const FaultyWay&) = delete;
  FaultyWay& operator=(const FaultyWay&) = delete;

  // What clients open, of the relay. A store gives up a request after the timeout, if one is given.
  std::string address(std::optional<std::chrono::seconds> timeout = {}) const;

  // Another client of the same store, through the relay.
  std::unique_ptr<Store> open(std::optional<std::chrono::seconds> timeout = {}) const;

  // A client of the store, or of the server that has one. A store gives up a request after the
  // timeout, if one is given.
  Once connect(std::string name_space = "default",
               std::optional<std::chrono::seconds> timeout = {}) const;

  // From now on, every `period`-th write meets this, but no more than `most` of them.
  void set(WriteFault fault, int period = 1, int most = kAll);

  // From now on, the next write is repeated, and `meanwhile` is called between its two copies. It
  // may use this way. Before PostgreSQL nothing is repeated, and nothing called.
  void repeat_next(std::function<void()> meanwhile);
  bool repeats() const { return repeats_; }

  // From now on, the server's next answers show a time that is that much later.
  int skewed() const { return kAll - skewed_answers_; }  // How many of kAll have shown it.
  void skew(Duration ahead, int answers = kAll);

  // From now on, requests that name this are held up for so long.
  void hold_up(std::string name, Duration length = std::chrono::seconds(1));

  // From now on, nothing that is sent to this one of the servers arrives, and nothing comes back.
  void hang_server(std::size_t number);
  std::size_t servers() const { return relay_ ? 1 : wire_relays_.size(); }

  // From now on, nothing of all that.
  void heal();

  // While it is calm everything passes.
  void be_calm(bool calm) { is_calm_ = calm; }

  // How many requests have met any of it since set() or heal().
  int met() const { return met_; }

 private:
  bool is_due();
  bool is_held_up(std::string_view text);
  void skew_reply(std::string& bytes);
  void set_meanwhile(std::function<void()> meanwhile);
  Fault due_fault();
  Fault fault_for(const RelayedRequest& request);
  WireRelay::Fate fate_for(std::size_t server, std::string_view bytes);
  void use(std::vector<std::shared_ptr<WireRelay>> relays);

  const StoreAtAddress place_;
  std::string address_;  // Of the relay.
  bool repeats_ = true;  // Something on the way may repeat a request. Constant after construction.
  std::atomic<bool> is_calm_ = false;
  std::atomic<Duration> skew_{Duration(0)};
  std::atomic<int> skewed_answers_ = 0;
  std::mutex mutex_;
  std::string held_up_;              // Guarded by mutex_.
  std::function<void()> meanwhile_;  // Guarded by mutex_.
  std::atomic<Duration> delay_{Duration(0)};
  std::atomic<WriteFault> fault_ = WriteFault::none;
  std::atomic<int> period_ = 1;
  std::atomic<int> most_ = kAll;
  std::atomic<int> writes_ = 0;
  std::atomic<int> met_ = 0;
  static constexpr std::size_t kNoServer = 1'000;
  std::atomic<std::size_t> hung_server_ = kNoServer;
  std::unique_ptr<Relay> relay_;  // Or for Redis, one before each server:
  std::vector<std::shared_ptr<WireRelay>> wire_relays_;
};

}  // namespace once::testing
