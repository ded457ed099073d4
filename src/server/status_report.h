// Leaves a record of this process in its namespace, so that GET /v1/workers tells of it. The record
// is a document that ends by itself soon after the process does. A record that cannot be written is
// left out: it holds up nothing, and nothing is said of it.
#pragma once

#include <functional>
#include <string>

#include "base/periodic.h"
#include "once/documents.h"
#include "wire/worker_status.h"

namespace once::server {

class StatusReport {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(10);
  static constexpr Duration kKept = std::chrono::seconds(35);  // Three of them, and a little.

  // `status` is called on a thread of this object, some seconds before it is first needed; it may
  // block. It need not say id, host, pid and times. All must outlive it.
  StatusReport(Documents& documents, std::function<wire::WorkerStatus()> status,
               Clock& clock = system_clock());

 private:
  void write();

  Documents& documents_;
  const std::function<wire::WorkerStatus()> status_;
  Clock& clock_;
  const std::string host_;
  const std::uint64_t number_;  // Another process may have had host and pid.
  const Time started_;
  std::string etag_;  // Of the record; empty if there is none yet.
  int turns_ = 0;
  Periodic periodic_;  // Last: its thread uses all of the above.
};

}  // namespace once::server
