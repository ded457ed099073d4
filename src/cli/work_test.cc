// `once work`, as far as it is this program's: what it prints.
#include "cli/cli_fixture.h"
#include "once/queues.h"
#include "open/store_kinds.h"
#include "testing/raw_http.h"
#include "testing/servers/elasticmq.h"
#include "testing/servers/needs.h"
#include "testing/servers/redis_server.h"

namespace once::cli {
namespace {

using WorkVerb = Cli;

TEST_F(WorkVerb, PrintsTheAddressOfItsStoreWithoutThePassword) {
  if (open_queue("nowhere").error().message.find("sqs:") == std::string::npos ||
      store_kind("redis") == nullptr) {
    GTEST_SKIP() << "this build has no SQS, or no Redis";
  }
  ONCE_NEEDS_SERVER(testing::ElasticMq);
  ONCE_NEEDS_SERVER(testing::RedisServer);
  const testing::ElasticMq broker;
  const auto made = testing::RawHttp(broker.port())
                        .call("POST", "/", "Action=CreateQueue&QueueName=jobs",
                              "Content-Type: application/x-www-form-urlencoded\r\n");
  ASSERT_TRUE(made && made->status == 200);
  const testing::RedisServer redis;  // Its default user has any password.
  const std::string store = "redis://default:s3cret@" + redis.address().substr(8);
  const Outcome worked =
      shell("export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret AWS_ENDPOINT_URL_SQS=" +
            broker.url() + "\ntimeout 60 once work 'sqs://jobs?region=eu-west-1' --store " + store +
            " -- true > out &\n"
            "until grep -q working out; do kill -0 $! || break; done; kill $!; wait $!; cat out");
  EXPECT_TRUE(holds(worked.out, "redis://default:***@127.0.0.1:")) << worked.out << worked.err;
  EXPECT_FALSE(holds(worked.out + worked.err, "s3cret")) << worked.out << worked.err;
}

}  // namespace
}  // namespace once::cli
