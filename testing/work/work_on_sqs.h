// A queue of ElasticMQ and an embedded store behind a server, and workers between them.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/sqs_queues.h"
#include "testing/work/worker_process.h"

namespace once::testing {

class WorkOnSqs : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCE_NEEDS_SERVER(ElasticMq);
    static int count = 0;
    name_ = "jobs-" + std::to_string(++count);
    sender_.emplace(shared_elasticmq().url());
    sender_->make(name_);
    server_.emplace((dir_.path() / "store").string());
    once_.emplace(open(server_->url()).value());
  }

  std::string queue_at(const std::string& url) const {
    return "sqs://" + name_ + "?region=eu-west-1&wait=1&endpoint=" + url;
  }
  WorkerProcess work(const std::vector<std::string>& more, int errors = -1) const {
    return {queue_at(shared_elasticmq().url()), server_->url(), more, errors};
  }
  WorkerProcess work_by(const std::string& script, std::vector<std::string> options = {},
                        int errors = -1) const {
    options.insert(options.end(), {"--retry-delay", "1s", "--", "sh", "-c", script});
    return work(options, errors);
  }
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }

  TempDir dir_;
  std::string name_;
  std::optional<SqsSender> sender_;
  std::optional<ServerProcess> server_;
  std::optional<Once> once_;
};

}  // namespace once::testing
