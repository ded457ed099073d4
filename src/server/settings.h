// The limits of a server. Every size, count and wait has one.
#pragma once

#include <cstddef>

#include "once/time.h"
#include "once/write.h"

namespace once::server {

struct Settings {
  unsigned threads = 0;  // Of network input and output; 0: one for each core.
  std::size_t max_connections = 10'000;
  std::size_t max_header_bytes = 16U << 10;
  std::size_t max_body_bytes = 1U << 20;
  std::size_t max_document_bytes = 1U << 20;    // Body of a document.
  std::size_t max_bodies_bytes = 256U << 20;    // Sum of all large bodies.
  std::size_t max_pipelined = 128;              // Unanswered requests of one connection.
  std::size_t max_output_bytes = 1U << 20;      // Of one connection: requested and unsent.
  Duration idle = std::chrono::seconds(75);     // A connection without a request.
  Duration receive = std::chrono::seconds(30);  // From a request's first byte to its last.
  Duration send = std::chrono::seconds(30);     // For the peer to receive a ready answer.
  // From a complete request to its answer, without waiting for claims.
  Duration work = kAttemptLife;
};

}  // namespace once::server
