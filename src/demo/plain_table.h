// A table of names and texts with GET and PUT, and nothing else: what programs have that read first
// and write later. On the same embedded store as the other side, and as durable.
#pragma once

#include "once/batching_driver.h"
#include "server/handler.h"

namespace once::demo {

class PlainTable final : public server::Handler {
 public:
  explicit PlainTable(BatchingDriver& driver) : driver_(driver) {}  // Must outlive it.

  // GET: 200 and the text, or 404. PUT: 200, whatever stood there.
  server::Reply respond(api::Request request, Home& home, Done later) override;

 private:
  BatchingDriver& driver_;
};

}  // namespace once::demo
