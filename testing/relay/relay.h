// Stands between a client and a real server on loopback, request by request, and does to each what
// a test says: lets it pass, loses it, loses its reply, sends it twice, holds it up, or answers in
// the server's stead with what the server itself never gives.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "once/time.h"
#include "testing/loopback.h"
#include "testing/relay/http_stream.h"

namespace once::testing {

struct RelayedRequest {
  std::string method;
  std::string path;       // With the query.
  std::string operation;  // "PutItem", what X-Amz-Target has after its dot; "" without one.
  std::string head;
  std::string body;
  std::size_t number;      // Of all requests, from 0 on.
  std::size_t connection;  // Of the client, from 0 on.
};

struct Pass {};
struct Cut {};        // The server never sees it, and the connection is closed.
struct DropReply {};  // The server has done it, and the connection is closed.
struct Repeat {       // As a gateway that lost the reply: sent again, whose reply comes back.
  std::function<void()> meanwhile = nullptr;  // Called between the two.
};
struct Stall {};        // The server has done it, and nothing comes back.
struct StallUnsent {};  // The server never sees it, and nothing comes back.
struct Delay {          // Passes, that much later.
  Duration length;
};
struct Redate {  // Passes; the Date of the reply is that much later.
  Duration ahead;
};
struct Truncate {  // The server has done it; that many bytes of the reply come, then the end.
  std::size_t length;
};
struct Answer {        // The server never sees it; this is the reply.
  std::string status;  // "400 Bad Request"
  std::string body;
  std::vector<std::string> headers = {"Content-Type: application/x-amz-json-1.0"};
};
struct AnswerInstead {  // The server has done it; this is the reply.
  Answer answer;
};
struct Edit {  // The server gets this body, and `reply` makes the reply's body of the server's.
  std::string body;
  std::function<std::string(std::string)> reply;
};
using Fault = std::variant<Pass, Cut, DropReply, Repeat, Stall, StallUnsent, Delay, Redate,
                           Truncate, Answer, AnswerInstead, Edit>;

class Relay {
 public:
  using Decide = std::function<Fault(const RelayedRequest&)>;

  // To the server on that loopback port; 0 for none, where nothing passes.
  explicit Relay(std::uint16_t server_port, Decide decide = nullptr);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  std::uint16_t port() const { return listener_.port; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }

  // From now on. One request at a time is decided about, so what `decide` changes needs no lock.
  // Without one, all pass.
  void decide(Decide decide);

  // How many requests have come, of that operation or of all.
  std::size_t requests(const std::string& operation = "") const;
  std::size_t connections() const;

 private:
  class Connection;

  void listen();
  void serve(int socket, std::size_t number);
  Fault decided(const HttpMessage& request, std::size_t connection);

  // Whether the relay goes on after that time.
  bool pause(Duration length);
  bool watch(int socket);  // Shut down when the relay ends; false if it has.
  void forget(int socket);

  const std::uint16_t server_port_;
  const Listener listener_ = listen_on_loopback();

  std::mutex deciding_;  // Taken before mutex_.
  Decide decide_;        // Guarded by deciding_.

  mutable std::mutex mutex_;  // What follows is guarded by it.
  std::condition_variable ended_;
  bool ending_ = false;
  std::size_t count_ = 0;
  std::size_t connections_ = 0;
  std::map<std::string, std::size_t> by_operation_;
  std::list<int> sockets_;

  std::list<std::thread> threads_;  // The listener's alone, and joined after it.
  std::thread thread_;
};

}  // namespace once::testing
