// Servers that are killed under load, and clients that repeat what they were not answered.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "testing/raw_http.h"
#include "testing/server_process.h"

namespace once::testing {

// The server as its clients see it: gone now and then, and back at another port.
class Mortal {
 public:
  explicit Mortal(const std::string& store) : server_(store) {}

  std::uint16_t port() {
    const std::lock_guard lock(mutex_);
    return server_.port();
  }
  void kill_and_restart() {
    server_.kill();
    const std::lock_guard lock(mutex_);
    server_.start();
  }
  bool running() const { return server_.running(); }

 private:
  std::mutex mutex_;
  ServerProcess server_;
};

// One client that repeats what it was not answered, as clients do.
class Stubborn {
 public:
  explicit Stubborn(Mortal& server) : server_(server) {}

  // Until there is an answer that is no server's trouble.
  RawAnswer call(const std::string& method, const std::string& target, const std::string& body,
                 const std::string& headers = "") {
    for (;;) {
      if (!peer_ || !peer_->connected()) peer_.emplace(server_.port());
      auto answer = peer_->connected() ? peer_->call(method, target, body, headers) : std::nullopt;
      if (answer && answer->status < 500) return *answer;
      peer_.reset();
      std::this_thread::yield();
    }
  }

 private:
  Mortal& server_;
  std::optional<RawHttp> peer_;
};

inline std::string quoted(const std::string& text) { return "\"" + text + "\""; }

// One of everything, each under an id of its own. False if an answer was not as it should be.
inline bool do_job(Stubborn& client, const std::string& name) {
  const std::string id = quoted(name);
  const RawAnswer appended = client.call(
      "POST", "/v1/logs/log", R"({"batch":)" + id + R"(,"events":[{"data":)" + id + "}]}");
  const RawAnswer tallied =
      client.call("POST", "/v1/tallies/sum", R"({"kind":"sum","add":1,"id":)" + id + "}");
  const RawAnswer patched =
      client.call("PATCH", "/v1/docs/list", R"([{"op":"add","path":"/-","value":)" + id + "}]",
                  "Content-Type: application/json-patch+json\r\nIdempotency-Key: " + name + "\r\n");
  const RawAnswer seen = client.call(
      "POST", "/v1/seen", R"({"ids":[)" + quoted("s" + name) + R"(],"request":)" + id + "}");
  const RawAnswer claimed =
      client.call("POST", "/v1/claims/" + name, R"({"request":)" + id + R"(,"lease":"1h"})");
  if (claimed.status == 201) {
    const std::size_t from = claimed.body.find("\"ticket\":") + 10;
    const std::string ticket = claimed.body.substr(from, claimed.body.find('"', from) - from);
    const RawAnswer completed =
        client.call("POST", "/v1/claims/" + name + "/complete",
                    R"({"ticket":)" + quoted(ticket) + R"(,"result":)" + id + "}");
    if (completed.status != 200) return false;
  }
  return appended.status <= 201 && tallied.status == 200 && patched.status == 200 &&
         seen.status == 200 && seen.body.starts_with(R"({"first":[true],"at":[")") &&
         claimed.status <= 201;
}

// How often each job's name stands in a text, in quotes.
inline std::map<std::string, int> names_in(const std::string& text) {
  std::map<std::string, int> names;
  for (std::size_t at = text.find("\"j"); at != std::string::npos; at = text.find("\"j", at)) {
    const std::size_t end = text.find('"', at + 1);
    ++names[text.substr(at + 1, end - at - 1)];
    at = end;
  }
  return names;
}

}  // namespace once::testing
