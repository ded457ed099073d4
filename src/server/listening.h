// Where a server listens, and by which certificate it is known there.
#pragma once

#include <memory>
#include <string>

#include "net/tls.h"

namespace once::server {

struct Listening {
  std::string address;      // host:port
  net::TlsFiles tls;        // Of the server; `authorities` are those whose clients are let in.
  bool plain_http = false;  // Beyond loopback although there is no TLS.
};

bool is_loopback(const std::string& listen);

// Reads the files; null without TLS. `invalid`: one that cannot be used; an address beyond loopback
// with neither TLS nor `plain_http`.
Result<std::shared_ptr<const net::TlsServerContext>> read_certificate(const Listening& listening);

// Reads the files again, for a server that has `now`. `invalid` also if there was TLS and is none
// any more, or the other way round: its URL would be another.
Result<std::shared_ptr<const net::TlsServerContext>> read_certificate_again(
    const Listening& listening, const net::TlsServerContext* now);

}  // namespace once::server
