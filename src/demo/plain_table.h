// A table of names and texts with only GET and PUT, for workers that read first and write later. It
// is on the same embedded store as the other side, and as durable.
#pragma once

#include "once/batching_driver.h"
#include "server/handler.h"

namespace once::demo {

class PlainTable final : public server::Handler {
 public:
  explicit PlainTable(BatchingDriver& driver) : driver_(driver) {}  // Must outlive it.

  // GET: 200 and the text, or 404. PUT: 200, whether or not the name existed.
  server::Reply respond(api::Request request, Executor& executor, ReplyCallback later) override;

 private:
  BatchingDriver& driver_;
};

}  // namespace once::demo
