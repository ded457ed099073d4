// An HTTPS server on loopback whose certificate only it vouches for.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "testing/certificate.h"
#include "testing/loopback.h"
#include "testing/temp_dir.h"

namespace once::testing {

class TlsPeer {
 public:
  enum class After : std::uint8_t { closes, goes_on };

  // `names` as a certificate has them: "IP:127.0.0.1".
  explicit TlsPeer(const char* names, After after = After::closes)
      : after_(after), context_(SSL_CTX_new(TLS_server_method())) {
    make_certificate(directory_.path(), names);
    const std::string key_file = (directory_.path() / "key.pem").string();
    if (SSL_CTX_use_certificate_file(context_, certificate_file().c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(context_, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
      std::abort();
    }
    thread_ = std::thread([this] { serve(); });
  }
  ~TlsPeer() {
    ::shutdown(listener_.socket, SHUT_RDWR);
    thread_.join();
    ::close(listener_.socket);
    SSL_CTX_free(context_);
  }
  TlsPeer(const TlsPeer&) = delete;
  TlsPeer& operator=(const TlsPeer&) = delete;

  std::string url() const { return "https://127.0.0.1:" + std::to_string(listener_.port); }
  std::string certificate_file() const { return (directory_.path() / "certificate.pem").string(); }
  int connections() const { return connections_; }
  int requests() const { return requests_; }

 private:
  // Requests with "{}" for a body; one a connection, unless it goes on.
  void serve() {
    // OpenSSL writes without MSG_NOSIGNAL.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (int socket = -1; (socket = ::accept(listener_.socket, nullptr, nullptr)) >= 0;
         ::close(socket)) {
      ++connections_;
      SSL* const stream = SSL_new(context_);
      SSL_set_fd(stream, socket);
      if (SSL_accept(stream) == 1) answer(stream);
      SSL_free(stream);
    }
  }

  void answer(SSL* stream) {
    const bool closes = after_ == After::closes;
    const std::string text = std::string("HTTP/1.1 200 OK\r\n") +
                             (closes ? "Connection: close\r\n" : "") +
                             "Content-Length: 2\r\n\r\n{}";
    while (read_request(stream)) {
      ++requests_;
      SSL_write(stream, text.data(), static_cast<int>(text.size()));
      if (closes) break;
    }
    SSL_shutdown(stream);
  }

  static bool read_request(SSL* stream) {
    std::string request;
    while (!request.ends_with("\r\n\r\n{}")) {
      std::array<char, 4'096> part;
      const int count = SSL_read(stream, part.data(), static_cast<int>(part.size()));
      if (count <= 0) return false;
      request.append(part.data(), static_cast<std::size_t>(count));
    }
    return true;
  }

  const After after_;
  const TempDir directory_;
  SSL_CTX* const context_;
  const Listener listener_ = listen_on_loopback();
  std::atomic<int> connections_ = 0;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

}  // namespace once::testing
