// The bounds of a server. Every size, count and wait has one.
#pragma once

#include <cstddef>

#include "once/time.h"
#include "once/write.h"

namespace once::server {

struct Settings {
  unsigned threads = 0;  // That read and write; 0: one for each core.
  std::size_t max_connections = 10'000;
  std::size_t max_header_bytes = 16U << 10;
  std::size_t max_body_bytes = 1U << 20;
  std::size_t max_document_bytes = 1U << 20;  // Of a body that is a document.
  std::size_t max_bodies_bytes = 256U << 20;  // Of all bodies that are large, together.
  std::size_t max_pipelined = 128;            // Requests of a connection that wait for an answer.
  std::size_t max_output_bytes = 1U << 20;    // Asked for and unsent, before it is read no further.
  Duration idle = std::chrono::seconds(75);   // A connection without a request.
  Duration receive = std::chrono::seconds(30);  // From a request's first byte to its last.
  Duration send = std::chrono::seconds(30);     // For the peer to take what is ready.
  Duration work = kAttemptLife;  // From a whole request to its answer, but for what it waits.
};

}  // namespace once::server
