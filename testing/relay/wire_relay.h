// Stands between a client and a real server on loopback, for protocols that relay.h does not speak:
// it decides about bytes as they come. What a client sends at once, and is short, comes at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "once/time.h"
#include "testing/loopback.h"

namespace once::testing {

class WireRelay {
 public:
  enum class Fate : std::uint8_t {
    pass,
    cut,         // The server never sees it, and the connection is closed.
    drop_reply,  // The server has done it, and the connection is closed.
    repeat,      // The server gets it twice; the reply to the second comes back. What
                 // set_meanwhile() says is called between the two.
    delay,       // Passes, that much later as set_delay() says: a second.
    stall,       // The server never sees it, and nothing comes back.
  };
  using Decide = std::function<Fate(std::string_view bytes)>;

  // To the server on that loopback port.
  explicit WireRelay(std::uint16_t server_port);
  ~WireRelay();
  WireRelay(const WireRelay&) = delete;
  WireRelay& operator=(const WireRelay&) = delete;

  std::uint16_t port() const { return listener_.port; }

  // From now on, for connections that are opened; those that there are stay where they are.
  void lead_to(std::uint16_t server_port) { server_port_ = server_port; }

  void set_delay(Duration length) { delay_ = length; }
  void set_meanwhile(std::function<void()> meanwhile);

  // From now on, for what clients send. Without one, all passes.
  void decide(Decide decide);

  // From now on, for what comes back.
  using EditReply = std::function<void(std::string& bytes)>;
  void edit_replies(EditReply edit);

 private:
  void listen();
  void serve(int client);
  Fate decided(std::string_view bytes);
  std::string edited(std::string_view bytes);
  void delay() const;
  void call_meanwhile();

  std::atomic<std::uint16_t> server_port_;
  const Listener listener_ = listen_on_loopback();
  std::atomic<bool> ending_ = false;
  std::atomic<Duration> delay_{std::chrono::seconds(1)};

  std::mutex mutex_;
  Decide decide_;                    // Guarded by mutex_.
  EditReply edit_;                   // Guarded by mutex_.
  std::function<void()> meanwhile_;  // Guarded by mutex_.

  std::list<std::thread> threads_;  // The listener's alone, and joined after it.
  std::thread thread_;
};

}  // namespace once::testing
