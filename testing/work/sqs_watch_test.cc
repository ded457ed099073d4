// What `once work` tells of itself: on a terminal, in its log and as metrics.
#include <fcntl.h>

#include <fstream>
#include <iterator>

#include "testing/certificate.h"
#include "testing/raw_http.h"
#include "testing/relay/relay.h"
#include "testing/work/terminal.h"
#include "testing/work/work_on_sqs.h"

namespace once::testing {
namespace {

class WatchedWorkOnSqs : public WorkOnSqs {
 protected:
  // A done one, its duplicate, and one that becomes a dead letter.
  void send_three() {
    sender_->send(name_, event("good"));
    sender_->send(name_, event("good"));
    sender_->send(name_, event("bad"));
  }
  static constexpr const char* kHandle = "case $ONCE_KEY in *bad) echo no luck >&2; exit 3;; esac";

  // What stands in the log of a worker that starts on a queue of this retention, and ends.
  std::string log_with(const std::string& retention_seconds, const std::string& ttl) {
    // ElasticMQ has no retention: the answer is as Amazon gives it.
    Relay relay(shared_elasticmq().port(), [&](const RelayedRequest& request) -> testing::Fault {
      if (request.body.find("Action=GetQueueAttributes") == std::string::npos) return Pass();
      std::string attributes =
          "<GetQueueAttributesResponse><GetQueueAttributesResult><Attribute><Name>"
          "MessageRetentionPeriod</Name><Value>";
      attributes.append(retention_seconds)
          .append("</Value></Attribute></GetQueueAttributesResult></GetQueueAttributesResponse>");
      return Answer{"200 OK", attributes, {"Content-Type: text/xml"}};
    });
    const std::string path = file("log" + ttl);
    const int log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    WorkerProcess worker(queue_at(relay.url()), server_->url(), {"--ttl", ttl, "--", "true"}, log);
    ::close(log);
    EXPECT_NE(worker.ready_line(), "");
    EXPECT_EQ(worker.terminate(), 0);
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(WatchedWorkOnSqs, OnATerminalTheLastLineSaysHowFarItIs) {
  send_three();
  Terminal terminal;
  WorkerProcess worker =
      work_by(kHandle, {"--concurrency", "1", "--max-attempts", "1"}, terminal.writer());
  EXPECT_TRUE(
      terminal.shows("\r\x1b[K1 handled, 0 under way, 1 duplicates, 0 failed, 1 dead letters"))
      << terminal.shown();
  EXPECT_EQ(worker.terminate(), 0);
  EXPECT_TRUE(terminal.shows("1 dead letters\r\n")) << "how it ended stays: " << terminal.shown();
  const std::size_t warning = terminal.shown().find(" error dead ");
  ASSERT_NE(warning, std::string::npos) << terminal.shown();
  const std::size_t clear = terminal.shown().rfind("\x1b[K", warning);
  EXPECT_EQ(terminal.shown().substr(clear + 3, 2), "20") << "a line of the log begins its own line";
}

TEST_F(WatchedWorkOnSqs, ATtlThatAReplayCouldOutliveIsWarnedOfAtTheStart) {
  const std::string four_days = "345600";
  const std::string warned = log_with(four_days, "3d");
  EXPECT_NE(warned.find("warning ttl_below_retention"), std::string::npos) << warned;
  EXPECT_NE(warned.find("ttl_seconds=259200 retention_seconds=345600"), std::string::npos)
      << warned;
  EXPECT_EQ(log_with(four_days, "4d"), "") << "and nothing is shown where there is no terminal";
}

TEST_F(WatchedWorkOnSqs, MetricsSpeakTlsWhereThereIsACertificate) {
  make_certificate(file("").c_str(), "IP:127.0.0.1");
  WorkerProcess worker = work_by("true", {"--metrics-listen", "127.0.0.1:0", "--tls-cert",
                                          file("certificate.pem"), "--tls-key", file("key.pem")});
  const std::string& line = worker.ready_line();
  const std::string before = "; metrics at https://127.0.0.1:";
  const std::size_t at = line.find(before);
  ASSERT_NE(at, std::string::npos) << line;
  RawHttp plain(static_cast<std::uint16_t>(std::stoi(line.substr(at + before.size()))));
  EXPECT_EQ(plain.call("GET", "/metrics")->body, "This port speaks https only.");
  EXPECT_EQ(worker.terminate(), 0);
}

TEST_F(WatchedWorkOnSqs, MetricsSayWhatBecameOfEachDeliveryAndWhy) {
  send_three();
  WorkerProcess worker = work_by(
      kHandle, {"--concurrency", "1", "--max-attempts", "1", "--metrics-listen", "127.0.0.1:0"});
  const std::string& line = worker.ready_line();
  const std::size_t at = line.find("; metrics at http://127.0.0.1:");
  ASSERT_NE(at, std::string::npos) << line;
  ASSERT_TRUE(line.ends_with("/metrics")) << line;
  const auto port = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  const auto get = [&](const std::string& path) {
    return RawHttp(port).call("GET", path).value_or(RawAnswer{});
  };
  std::string page;
  const auto has = [&](const std::string& sample) {
    return page.find("\n" + sample + "\n") != std::string::npos;
  };
  EXPECT_TRUE(eventually([&] {
    page = get("/metrics").body;
    return has(R"(once_work_deliveries_total{outcome="handled",reason="handled"} 1)") &&
           has(R"(once_work_deliveries_total{outcome="duplicate",reason="already_done"} 1)") &&
           has(R"(once_work_deliveries_total{outcome="dead",reason="attempts_used_up"} 1)") &&
           has("once_work_handling_seconds_count 1") && has("once_work_under_way 0") &&
           has("once_work_queue_depth 0") && has("once_work_lag_seconds 0");
  })) << page;
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/other").status, 404);
  EXPECT_EQ(worker.terminate(), 0);
}

TEST_F(WatchedWorkOnSqs, TheServerListsItWhileItLives) {
  send_three();
  WorkerProcess worker = work_by(kHandle, {"--concurrency", "1", "--max-attempts", "1"});
  std::string list;
  EXPECT_TRUE(eventually([&] {
    const auto answer = RawHttp(server_->port()).call("GET", "/v1/workers?prefix=work/");
    list = answer.value_or(RawAnswer{}).body;
    return list.find(R"("in_flight":0,"done":1,"duplicates":1,"failed":0,"dead":1,"waiting":0,)"
                     R"("lag_seconds":0})") != std::string::npos;
  })) << list;
  EXPECT_NE(list.find(R"("kind":"work","name":"SQS queue )" + name_ + ","), std::string::npos)
      << list;
  EXPECT_EQ(worker.terminate(), 0);
}

}  // namespace
}  // namespace once::testing
