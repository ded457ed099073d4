#include "net/tls_session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>

namespace once::net {
namespace {

constexpr std::size_t kMostAtOnce = 64U << 10;

// Reasons that are alerts of the peer have numbers of their own, from this one on.
bool is_alert(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) >= SSL_AD_REASON_OFFSET;
}

}  // namespace

void TlsSession::Free::operator()(ssl_st* session) const { SSL_free(session); }

TlsSession::TlsSession(ssl_st* session, Side side) : session_(session) {
  SSL_set_bio(session, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  side == Side::client ? SSL_set_connect_state(session) : SSL_set_accept_state(session);
}

void TlsSession::take_in(std::string_view encrypted) {
  BIO_write(SSL_get_rbio(session_.get()), encrypted.data(), static_cast<int>(encrypted.size()));
}

void TlsSession::take_out(std::string& out) {
  BIO* const encrypted = SSL_get_wbio(session_.get());
  const std::size_t size = BIO_ctrl_pending(encrypted);
  if (size == 0) return;
  const std::size_t before = out.size();
  out.resize(before + size);
  const int read = BIO_read(encrypted, &out[before], static_cast<int>(size));
  out.resize(before + static_cast<std::size_t>(std::max(read, 0)));
}

// The thread's queue of errors is cleared before each call, because SSL_get_error() would take
// older errors for this session's.
TlsSession::Handshake TlsSession::handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(session_.get());
  if (done == 1) return Handshake::done;
  return waits(done) ? Handshake::waits : Handshake::failed;
}

std::optional<std::size_t> TlsSession::read(std::span<char> room) {
  std::size_t came = 0;
  while (came < room.size()) {
    ERR_clear_error();
    const int some = SSL_read(session_.get(), &room[came], static_cast<int>(room.size() - came));
    if (some <= 0) {
      if (!waits(some) && came == 0) return std::nullopt;
      break;
    }
    came += static_cast<std::size_t>(some);
  }
  return came;
}

std::optional<std::size_t> TlsSession::write(std::string_view bytes) {
  const auto length = static_cast<int>(std::min(bytes.size(), kMostAtOnce));
  ERR_clear_error();
  const int taken = SSL_write(session_.get(), bytes.data(), length);
  if (taken > 0) return static_cast<std::size_t>(taken);
  return waits(taken) ? std::optional<std::size_t>(0) : std::nullopt;
}

void TlsSession::end_sending() {
  ERR_clear_error();
  if (SSL_is_init_finished(session_.get()) == 1) (void)SSL_shutdown(session_.get());
  ERR_clear_error();
}

bool TlsSession::was_ended() const {
  return (SSL_get_shutdown(session_.get()) & SSL_RECEIVED_SHUTDOWN) != 0 && refusal_.empty();
}

bool TlsSession::has_input() const { return BIO_ctrl_pending(SSL_get_rbio(session_.get())) > 0; }

bool TlsSession::is_idle() {
  char byte = 0;
  ERR_clear_error();
  const int came = SSL_peek(session_.get(), &byte, 1);
  return came <= 0 && waits(came);
}

std::string TlsSession::distrust() const {
  const long verdict = SSL_get_verify_result(session_.get());
  return verdict == X509_V_OK ? "" : X509_verify_cert_error_string(verdict);
}

bool TlsSession::waits(int result) {
  const int error = SSL_get_error(session_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return true;
  const unsigned long why = ERR_peek_error();
  met_plain_http_ |= ERR_GET_LIB(why) == ERR_LIB_SSL && ERR_GET_REASON(why) == SSL_R_HTTP_REQUEST;
  if (is_alert(why)) {
    const char* const words = ERR_reason_error_string(why);
    refusal_ = words != nullptr ? words : "an alert";
  }
  return false;
}

}  // namespace once::net
