// A server in this process, and peers in front of it that lose its answers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "once/memory_store.h"
#include "once/open.h"
#include "remote/remote.h"
#include "testing/in_process_server.h"
#include "testing/raw_http.h"
#include "testing/scripted_peer.h"

namespace once {

class RemoteTest : public ::testing::Test {
 protected:
  explicit RemoteTest(Clock& clock = system_clock()) : memory_(open_memory({}, clock)) {}

  // Passes the next request to the server, and the answer back.
  void relay(testing::Conversation& with) {
    const auto answer = forward(with);
    if (answer) with.send(answer->head + "\r\n" + answer->body);
  }
  std::optional<testing::RawAnswer> forward(testing::Conversation& with) {
    testing::RawHttp behind(server_.port());
    behind.send(with.read_request());
    return behind.receive();
  }

  // The server carries out the request, but its first answer is lost.
  testing::ScriptedPeer::Script losing() {
    return [this](testing::Conversation& with) { EXPECT_TRUE(forward(with)); };
  }
  testing::ScriptedPeer::Script relaying(int requests = 1) {
    return [this, requests](testing::Conversation& with) {
      for (int i = 0; i < requests; ++i) relay(with);
    };
  }

  static Once opened(const std::string& url) {
    Result<Once> once = open(url);
    EXPECT_TRUE(once.has_value());
    return std::move(*once);
  }

  std::unique_ptr<MemoryStore> memory_;
  testing::InProcessServer server_{*memory_};
  Once once_ = opened(server_.url());
};

}  // namespace once
