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
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "testing/temp_dir.h"

namespace once::testing {

class TlsPeer {
 public:
  // `names` as a certificate has them: "IP:127.0.0.1".
  explicit TlsPeer(const char* names) : context_(SSL_CTX_new(TLS_server_method())) {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3'600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3'600);
    X509_set_pubkey(certificate, key);
    X509_NAME* const name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("once test"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION* const extension =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    if (X509_sign(certificate, key, EVP_sha256()) == 0 ||
        SSL_CTX_use_certificate(context_, certificate) != 1 ||
        SSL_CTX_use_PrivateKey(context_, key) != 1) {
      std::abort();
    }
    std::FILE* const file = std::fopen(certificate_file().c_str(), "w");
    if (file == nullptr || PEM_write_X509(file, certificate) != 1) std::abort();
    std::fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
    listen();
  }
  ~TlsPeer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    SSL_CTX_free(context_);
  }
  TlsPeer(const TlsPeer&) = delete;
  TlsPeer& operator=(const TlsPeer&) = delete;

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }
  std::string certificate_file() const { return (directory_.path() / "certificate.pem").string(); }
  int connections() const { return connections_; }
  int requests() const { return requests_; }

 private:
  void listen() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, name, length) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, name, &length) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }

  // One request a connection, with "{}" for a body.
  void serve() {
    // OpenSSL writes without MSG_NOSIGNAL.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (int socket = -1; (socket = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(socket)) {
      ++connections_;
      SSL* const stream = SSL_new(context_);
      SSL_set_fd(stream, socket);
      if (SSL_accept(stream) == 1 && read_request(stream)) {
        ++requests_;
        constexpr std::string_view kAnswer =
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
        SSL_write(stream, kAnswer.data(), static_cast<int>(kAnswer.size()));
        SSL_shutdown(stream);
      }
      SSL_free(stream);
    }
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

  const TempDir directory_;
  SSL_CTX* const context_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

}  // namespace once::testing
