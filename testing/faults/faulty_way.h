// A store of the harness that $ONCE_TEST_STORE names, opened by its address, with a relay before
// its real server. The relay does to writes what a test says.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "once/open.h"
#include "testing/relay/relay.h"
#include "testing/relay/wire_relay.h"
#include "testing/stores/stores.h"

namespace once::testing {

enum class WriteFault : std::uint8_t {
  none,
  repeat,       // A gateway lost the reply, sent it again, and passes on the second reply.
  lost_reply,   // It was done, and the connection ends.
  lost,         // It never arrives, and the connection ends.
  foreign_page  // A balancer answers 503 with a page of its own. Redis: as `lost`.
};

class FaultyWay {
 public:
  explicit FaultyWay(const StoreHarness& harness);

  // Another client of the same store, through the relay.
  std::unique_ptr<Store> open() const;

  // From now on, every `period`-th write meets this.
  void set(WriteFault fault, int period = 1);

  // From now on, the server's next answers show a time that is that much later.
  static constexpr int kAll = 1'000'000;
  int skewed() const { return kAll - skewed_answers_; }  // How many of kAll have shown it.
  void skew(Duration ahead, int answers = kAll);

  // From now on, requests that name this are held up for WireRelay::kDelay.
  void hold_up(std::string name);

  // How many writes have met a fault since then.
  int met() const { return met_; }

 private:
  bool is_due();
  bool is_held_up(std::string_view text);
  void skew_reply(std::string& bytes);
  Fault fault_for(const RelayedRequest& request);
  WireRelay::Fate fate_for(std::string_view bytes);

  StoreAtAddress place_;
  std::string address_;  // Of the relay.
  std::atomic<Duration> skew_{Duration(0)};
  std::atomic<int> skewed_answers_ = 0;
  std::mutex mutex_;
  std::string held_up_;  // Guarded by mutex_.
  std::atomic<WriteFault> fault_ = WriteFault::none;
  std::atomic<int> period_ = 1;
  std::atomic<int> writes_ = 0;
  std::atomic<int> met_ = 0;
  std::unique_ptr<Relay> relay_;  // One of them.
  std::unique_ptr<WireRelay> wire_relay_;
};

}  // namespace once::testing
