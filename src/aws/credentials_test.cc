// Where keys come from, against local stand-ins for what gives them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <latch>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "aws/client.h"
#include "aws/configuration.h"
#include "aws/credential_chain.h"
#include "testing/code_of.h"
#include "testing/manual_clock.h"
#include "testing/relay/dynamodb_faults.h"
#include "testing/relay/relay.h"
#include "testing/temp_dir.h"

namespace once::aws {
namespace {

using testing::Answer;
using testing::code_of;
using testing::Fault;
using testing::ManualClock;
using testing::Relay;
using testing::RelayedRequest;
using testing::TempDir;

using Variables = std::map<std::string, std::string>;

Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

Environment environment_of(Variables variables) {
  variables.emplace("AWS_EC2_METADATA_DISABLED", "true");
  return [variables = std::move(variables)](const std::string& name) {
    const auto of = variables.find(name);
    return of == variables.end() ? std::string() : of->second;
  };
}

Result<Keys> keys_with(Variables variables) {
  return default_credentials({.environment = environment_of(std::move(variables))})->keys(soon());
}

std::string key_id(const Result<Keys>& keys) {
  return keys ? keys->access_key_id : keys.error().message;
}

class CredentialFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) const {
    const std::string path = (directory_.path() / name).string();
    std::ofstream(path) << content;
    return path;
  }

  const TempDir directory_;
};

TEST_F(CredentialFiles, TheEnvironmentGoesBeforeTheFiles) {
  const std::string credentials =
      write("c", "[default]\naws_access_key_id=FILE\naws_secret_access_key=s\n");
  const Result<Keys> keys = keys_with({{"AWS_ACCESS_KEY_ID", "ENV"},
                                       {"AWS_SECRET_ACCESS_KEY", "secret"},
                                       {"AWS_SESSION_TOKEN", "token"},
                                       {"AWS_SHARED_CREDENTIALS_FILE", credentials}});
  ASSERT_TRUE(keys);
  EXPECT_EQ(*keys, (Keys{"ENV", "secret", "token"}));
}

TEST_F(CredentialFiles, AProfileIsPutTogetherFromBothFiles) {
  const std::string credentials = write("c",
                                        "; mine\n[default]\naws_access_key_id = DEFAULT\n"
                                        "aws_secret_access_key = s0 # old\n\n[work]\r\n"
                                        "AWS_ACCESS_KEY_ID=WORK\r\naws_session_token = t\r\n");
  const std::string config = write("g",
                                   "[default]\nregion = eu-west-1\n[profile  work ]\n"
                                   "region = eu-north-1\naws_access_key_id = HIDDEN\n"
                                   "aws_secret_access_key = s1/+=#x\ns3 =\n  region = nested\n"
                                   "[sso-session work]\nregion = elsewhere\n");
  Variables variables = {{"AWS_SHARED_CREDENTIALS_FILE", credentials}, {"AWS_CONFIG_FILE", config}};
  EXPECT_EQ(keys_with(variables).value(), (Keys{"DEFAULT", "s0"}));
  EXPECT_EQ(configured_region(environment_of(variables)), "eu-west-1");
  variables["AWS_PROFILE"] = "work";
  EXPECT_EQ(keys_with(variables).value(), (Keys{"WORK", "s1/+=#x", "t"}));
  EXPECT_EQ(configured_region(environment_of(variables)), "eu-north-1");
  variables["AWS_DEFAULT_REGION"] = "us-east-1";
  EXPECT_EQ(configured_region(environment_of(variables)), "us-east-1");
  variables["AWS_REGION"] = "us-east-2";
  EXPECT_EQ(configured_region(environment_of(variables)), "us-east-2");
}

TEST_F(CredentialFiles, TheFilesAreLookedForAtHome) {
  std::filesystem::create_directory(directory_.path() / ".aws");
  write(".aws/credentials", "[default]\naws_access_key_id=HOME\naws_secret_access_key=s\n");
  EXPECT_EQ(key_id(keys_with({{"HOME", directory_.path().string()}})), "HOME");
}

TEST_F(CredentialFiles, WhatIsIncompleteOrCannotBeDoneIsSaid) {
  EXPECT_EQ(code_of(keys_with({})), ErrorCode::denied);
  EXPECT_EQ(code_of(keys_with({{"AWS_ACCESS_KEY_ID", "half"}})), ErrorCode::denied);
  EXPECT_EQ(code_of(keys_with({{"AWS_PROFILE", "nobody"}})), ErrorCode::denied);
  EXPECT_EQ(code_of(keys_with({{"AWS_WEB_IDENTITY_TOKEN_FILE", "x"}})), ErrorCode::unsupported);
  const std::string config = write("g",
                                   "[profile half]\naws_access_key_id=x\n"
                                   "[profile role]\nrole_arn=arn:aws:iam::1:role/x\n");
  EXPECT_EQ(code_of(keys_with({{"AWS_PROFILE", "half"}, {"AWS_CONFIG_FILE", config}})),
            ErrorCode::denied);
  EXPECT_EQ(code_of(keys_with({{"AWS_PROFILE", "role"}, {"AWS_CONFIG_FILE", config}})),
            ErrorCode::unsupported);
}

TEST_F(CredentialFiles, KeysThatTheServiceRefusesAreReadAnew) {
  ManualClock clock;
  const std::string file =
      write("c", "[default]\naws_access_key_id=OLD\naws_secret_access_key=s\n");
  const auto credentials = default_credentials(
      {.environment = environment_of({{"AWS_SHARED_CREDENTIALS_FILE", file}}), .clock = &clock});
  const Keys old = credentials->keys(soon()).value();
  write("c", "[default]\naws_access_key_id=NEW\naws_secret_access_key=s\n");
  EXPECT_EQ(key_id(credentials->keys(soon())), "OLD");
  clock.advance(Duration(1'000));
  credentials->refused(old);
  EXPECT_EQ(key_id(credentials->keys(soon())), "NEW");
}

std::string json_keys(const std::string& id, const std::string& expiration) {
  return R"({"Code":"Success","AccessKeyId":")" + id +
         R"(","SecretAccessKey":"secret","Token":"token","Expiration":")" + expiration + R"("})";
}

TEST_F(CredentialFiles, AContainersEndpointIsAskedWithItsToken) {
  std::string asked;
  Relay endpoint(0, [&](const RelayedRequest& request) -> Fault {
    asked = request.path + " " + std::string(testing::header_in(request.head, "Authorization"));
    return Answer{.status = "200 OK", .body = json_keys("BOX", "2036-08-30T12:36:00Z")};
  });
  const std::string token = write("token", "from a file\n");
  Variables variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url() + "/role?x=1"},
                         {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "from the environment"}};
  const Result<Keys> keys = keys_with(variables);
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(*keys, (Keys{"BOX", "secret", "token",
                         Time(std::chrono::sys_days(std::chrono::year(2036) / 8 / 30) +
                              std::chrono::minutes(12 * 60 + 36))}));
  EXPECT_EQ(asked, "/role?x=1 from the environment");
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = token;
  EXPECT_TRUE(keys_with(variables));
  EXPECT_EQ(asked, "/role?x=1 from a file");
}

TEST(Credentials, ASecretIsNotFetchedInTheClearFromAnotherMachine) {
  for (const char* url :
       {"http://example.com/", "http://127.0.0.1.example.com/", "ftp://127.0.0.1/",
        "http://127.0.0.1@example.com/", "http://[::2]/", "here"}) {
    EXPECT_EQ(code_of(keys_with({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}})), ErrorCode::invalid)
        << url;
  }
}

TEST(Credentials, AnEndpointThatFailsIsUnavailable) {
  for (const Answer& answer : std::vector<Answer>{
           {.status = "500 Oops", .body = ""},
           {.status = "200 OK", .body = "no JSON"},
           {.status = "200 OK", .body = "{}"},
           {.status = "200 OK", .body = json_keys("X", "soon")},
           {.status = "302 Found", .body = "", .headers = {"Location: http://example.com/"}}}) {
    Relay endpoint(0, [&](const RelayedRequest&) -> Fault { return answer; });
    EXPECT_EQ(code_of(keys_with({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url()}})),
              ErrorCode::unavailable)
        << answer.body;
  }
}

// Version 2: a token first, by PUT, and nothing without it.
Fault metadata(const RelayedRequest& request, const std::string& keys) {
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  if (request.method == "PUT" && request.path == "/latest/api/token" &&
      !testing::header_in(request.head, "X-aws-ec2-metadata-token-ttl-seconds").empty()) {
    return Answer{.status = "200 OK", .body = "session"};
  }
  if (testing::header_in(request.head, "X-aws-ec2-metadata-token") != "session") {
    return Answer{.status = "401 Unauthorized", .body = ""};
  }
  if (request.path == roles) return Answer{.status = "200 OK", .body = "the-role\n"};
  if (request.path == roles + "the-role") return Answer{.status = "200 OK", .body = keys};
  return Answer{.status = "404 Not Found", .body = ""};
}

Variables on_instance(const Relay& relay) {
  return {{"AWS_EC2_METADATA_DISABLED", "false"},
          {"AWS_EC2_METADATA_SERVICE_ENDPOINT", relay.url() + "/"}};
}

TEST(Credentials, AnInstancesMetadataIsAskedWithASessionToken) {
  Relay instance(0, [](const RelayedRequest& request) {
    return metadata(request, json_keys("ROLE", "2036-08-30T12:36:00Z"));
  });
  EXPECT_EQ(key_id(keys_with(on_instance(instance))), "ROLE");
  EXPECT_EQ(instance.requests(), 3U);
}

TEST(Credentials, WithoutARoleOrAnInstanceThereAreNoKeys) {
  Variables nowhere;
  {
    Relay instance(0, [](const RelayedRequest& request) -> Fault {
      if (request.method == "PUT") return Answer{.status = "200 OK", .body = "session"};
      return Answer{.status = "404 Not Found", .body = ""};
    });
    nowhere = on_instance(instance);
    EXPECT_EQ(code_of(keys_with(nowhere)), ErrorCode::denied);
  }
  EXPECT_EQ(code_of(keys_with(nowhere)), ErrorCode::denied);
}

std::string iso(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  char text[40];
  std::snprintf(text, sizeof(text), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

// A machine whose keys live a quarter of an hour, and a service that knows when each expires.
class ExpiringKeys : public ::testing::Test {
 protected:
  Fault give(const RelayedRequest& request) {
    const Time expires = clock_.now() + std::chrono::minutes(15);
    return metadata(request,
                    json_keys(std::to_string(expires.time_since_epoch().count()), iso(expires)));
  }

  Fault serve(const RelayedRequest& request) {
    const std::string_view by = testing::header_in(request.head, "Authorization");
    const std::size_t at = by.find("Credential=") + 11;
    const long long expires = std::stoll(std::string(by.substr(at, by.find('/') - at)));
    if (expires > clock_.now().time_since_epoch().count()) return Answer{"200 OK", "{}"};
    ++refusals_;
    return testing::refused("ExpiredTokenException");
  }

  std::unique_ptr<Client> open() {
    return Client::open(
               {.endpoint = service_.url(),
                .region = "eu-west-1",
                .service = "dynamodb",
                .credentials = default_credentials(
                    {.environment = environment_of(on_instance(instance_)), .clock = &clock_}),
                .clock = &clock_})
        .value();
  }

  ManualClock clock_;
  std::atomic<int> refusals_ = 0;
  Relay instance_{0, [this](const RelayedRequest& request) { return give(request); }};
  Relay service_{0, [this](const RelayedRequest& request) { return serve(request); }};
};

TEST_F(ExpiringKeys, AreFetchedAgainBeforeTheyExpire) {
  const auto client = open();
  for (int i = 0; i < 120; ++i) {
    clock_.advance(std::chrono::minutes(1));
    const Result<Response> answer = client->send({.body = "{}"}, soon());
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_EQ(answer->status, 200);
  }
  EXPECT_EQ(refusals_, 0);
  // Three requests each, at most every ten minutes.
  EXPECT_LE(instance_.requests(), 3U * 12);
  EXPECT_GE(instance_.requests(), 3U * 8);
}

TEST_F(ExpiringKeys, AreUsedToTheirEndWhileNoOthersCanBeHadAndThenSaidToBeMissing) {
  const auto client = open();
  ASSERT_EQ(client->send({.body = "{}"}, soon()).value().status, 200);
  instance_.decide([](const RelayedRequest&) -> Fault { return Answer{"503 Later", ""}; });
  clock_.advance(std::chrono::minutes(14));
  ASSERT_EQ(client->send({.body = "{}"}, soon()).value().status, 200);
  clock_.advance(std::chrono::minutes(2));
  EXPECT_EQ(code_of(client->send({.body = "{}"}, soon())), ErrorCode::unavailable);
  instance_.decide([this](const RelayedRequest& request) { return give(request); });
  clock_.advance(std::chrono::seconds(2));
  EXPECT_EQ(client->send({.body = "{}"}, soon()).value().status, 200);
  EXPECT_EQ(refusals_, 0);
}

TEST_F(ExpiringKeys, ThatTheServiceRefusesEarlyAreReplacedAtOnce) {
  const auto client = open();
  ASSERT_EQ(client->send({.body = "{}"}, soon()).value().status, 200);
  clock_.advance(std::chrono::minutes(5));
  std::string first;
  service_.decide([&](const RelayedRequest& request) -> Fault {
    const std::string by(testing::header_in(request.head, "X-Amz-Date"));
    if (!first.empty()) return serve(request);
    first = by;
    return testing::refused("ExpiredTokenException");
  });
  EXPECT_EQ(client->send({.body = "{}"}, soon()).value().status, 200);
  EXPECT_EQ(instance_.requests(), 6U);
}

TEST(RefreshingCredentials, OneThreadFetchesAndTheOthersGoOnWithWhatIsGood) {
  ManualClock clock;
  std::latch fetching(1);
  std::latch others_done(1);
  std::atomic<int> fetches = 0;
  const auto credentials = refreshing_credentials(
      [&](Deadline) -> Result<Keys> {
        const int n = ++fetches;
        if (n == 2) {
          fetching.count_down();
          others_done.wait();
        }
        return Keys{std::to_string(n), "s", "t", clock.now() + std::chrono::hours(1)};
      },
      clock);
  ASSERT_EQ(key_id(credentials->keys(soon())), "1");
  clock.advance(std::chrono::minutes(56));
  std::thread fetcher([&] { EXPECT_EQ(key_id(credentials->keys(soon())), "2"); });
  fetching.wait();
  EXPECT_EQ(key_id(credentials->keys(soon())), "1");
  others_done.count_down();
  fetcher.join();
  EXPECT_EQ(key_id(credentials->keys(soon())), "2");
  EXPECT_EQ(fetches, 2);
}

TEST(RefreshingCredentials, WhoNeedsThemWaitsForTheOneThatFetchesUntilItsDeadline) {
  ManualClock clock;
  std::latch fetching(1);
  std::latch go_on(1);
  const auto credentials = refreshing_credentials(
      [&](Deadline) -> Result<Keys> {
        fetching.count_down();
        go_on.wait();
        return Keys{"1", "s"};
      },
      clock);
  std::thread fetcher([&] { EXPECT_EQ(key_id(credentials->keys(soon())), "1"); });
  fetching.wait();
  EXPECT_EQ(code_of(credentials->keys(std::chrono::steady_clock::now())), ErrorCode::unavailable);
  std::thread waiting([&] { EXPECT_EQ(key_id(credentials->keys(soon())), "1"); });
  go_on.count_down();
  fetcher.join();
  waiting.join();
}

TEST(RefreshingCredentials, AFailureIsNotFetchedForEachRequest) {
  ManualClock clock;
  int fetches = 0;
  const auto credentials = refreshing_credentials(
      [&](Deadline) -> Result<Keys> {
        ++fetches;
        return failure(ErrorCode::unavailable, "not yet");
      },
      clock);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(code_of(credentials->keys(soon())), ErrorCode::unavailable);
  }
  EXPECT_EQ(fetches, 1);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(code_of(credentials->keys(soon())), ErrorCode::unavailable);
  EXPECT_EQ(fetches, 2);
}

}  // namespace
}  // namespace once::aws
