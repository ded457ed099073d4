// One TLS session of either side, between memory and memory: what came from the peer is handed in,
// and what goes to it is taken out. Who owns the socket moves the bytes; OpenSSL's own writing
// would raise SIGPIPE. Not safe to share between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;

namespace once::net {

class TlsSession {
 public:
  enum class Side : std::uint8_t { client, server };

  // Takes over `session`, which has no input and no output yet.
  TlsSession(ssl_st* session, Side side);

  // Bytes as the peer sent them.
  void take_in(std::string_view encrypted);
  // Appends to `out` what is to be sent to the peer.
  void take_out(std::string& out);

  // Does what can be done with what has come in.
  enum class Handshake : std::uint8_t { done, waits, failed };
  Handshake handshake();

  // How many bytes were read; 0 if more has to come in first, nothing at the end or if it is
  // broken.
  std::optional<std::size_t> read(std::span<char> room);
  // How many bytes were taken, to be sent; nothing if it is broken.
  std::optional<std::size_t> write(std::string_view bytes);

  // Says to the peer that nothing more will be sent.
  void end_sending();
  // The peer said so. If it is cut off without, bytes may be missing.
  bool was_ended() const;

  bool has_input() const;  // That was not looked at yet.
  bool is_idle();  // Neither bytes nor the end have come in, apart from what TLS says itself.

  // Why the peer's certificate was not accepted here; empty if it was, or was not asked for.
  std::string distrust() const;
  // Why the peer ended the session: it does not accept our certificate, for example. Empty if it
  // gave no such reason.
  const std::string& refusal() const { return refusal_; }
  // A client sent HTTP without TLS.
  bool met_plain_http() const { return met_plain_http_; }

 private:
  struct Free {
    void operator()(ssl_st* session) const;
  };

  // After a call with that result: whether it only waits for bytes.
  bool waits(int result);

  const std::unique_ptr<ssl_st, Free> session_;
  std::string refusal_;
  bool met_plain_http_ = false;
};

}  // namespace once::net
